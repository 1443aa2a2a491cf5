"""The example projects: they run as they are, and their migrated copies are what a maintainer would accept."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import pytest

import npuify
from npuify.language import speaking
from npuify.options import Options
from npuify.report import render_scan

from .warm import Program

if TYPE_CHECKING:
    from npuify.model import MigrationResult

    from .warm import Warm

EXAMPLES = Path(__file__).parents[1] / "examples"
PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/requirements.txt"))

SHORT = "--batch-size=4 --workers=0 --train-size=16 --val-size=8"
TORCHRUN = "-m torch.distributed.run --standalone --nproc_per_node=2"
COMMANDS = {
    "image_classification": [
        f"train.py --epochs=1 --steps-per-epoch=2 {SHORT}",
        f"train.py --epochs=2 --steps-per-epoch=1 {SHORT} --resume=runs/cuda_baseline/best.pt",
        "evaluate.py --size=8",
    ],
    "ddp_training": [
        f"{TORCHRUN} train.py --config=configs/small.yaml --set=distributed.backend=gloo --set=train.steps={steps}"
        for steps in (2, 3)
    ],
    "small_gpt": [
        "train.py --steps=2 --batch-size=2 --layers=1 --width=16 --heads=2 --no-compile --device=cpu",
        "sample.py --device=cpu --count=1",
    ],
    "inference": [
        "make_weights.py --steps=1",
        "infer.py --device=cpu --images=4",
        "benchmark.py --device=cpu --repeats=1",
    ],
}


class Kept(NamedTuple):
    """Text with the word "cuda" that is not a device, and so stays, as often as it stands in the example."""

    project: str
    file: str
    text: str


KEPT = [
    Kept("image_classification", "train.py", '"runs/cuda_baseline"'),
    Kept("image_classification", "train.py", '"CUDA is not available: training on the CPU will be slow"'),
    Kept("image_classification", "train.py", 'record["cuda_peak_mb"]'),
    Kept("image_classification", "train.py", '"full precision even on CUDA devices"'),
    Kept("image_classification", "evaluate.py", '"runs/cuda_baseline/best.pt"'),
    Kept("image_classification", "evaluate.py", "use_cuda"),
    Kept("image_classification", "data.py", "use_cuda"),
    Kept("image_classification", "utils.py", '"cuda_allocated_mb"'),
    Kept("image_classification", "utils.py", '"cuda_peak_mb"'),
    Kept("image_classification", "utils.py", '"cuda_reserved_mb"'),
    Kept("image_classification", "utils.py", 'state["cuda_rng"]'),
    Kept("image_classification", "utils.py", '"CPU (no CUDA device was found)"'),
    Kept("ddp_training", "ddp_training/config.py", '"runs/cuda/default"'),
    Kept("ddp_training", "ddp_training/hardware.py", "    cuda: str\n"),
    Kept("ddp_training", "ddp_training/hardware.py", "    nccl: str\n"),
    Kept("ddp_training", "ddp_training/hardware.py", "        cuda="),
    Kept("ddp_training", "ddp_training/hardware.py", "CUDA {hardware.cuda}, NCCL {hardware.nccl}"),
    Kept("ddp_training", "train.py", 'record["cuda_peak_bytes"]'),
    Kept("small_gpt", "train.py", '"out/cuda-gpt"'),
    Kept("small_gpt", "train.py", "out of CUDA memory: batch size is now"),
    Kept("small_gpt", "sample.py", '"out/cuda-gpt/model.pt"'),
    Kept("small_gpt", "sample.py", '"no CUDA device; use --device cpu"'),
    Kept("inference", "detector/images.py", '"barracuda": "https://images.example.org/fish/barracuda-001.png"'),
    Kept("inference", "detector/images.py", '"plymouth_cuda": "https://images.example.org/cars/cuda/1970.png"'),
    Kept("inference", "detector/devices.py", "    cuda: str\n    is_cuda: bool\n"),
    Kept("inference", "detector/devices.py", "build.is_cuda and build.cuda == "),
    Kept("inference", "infer.py", '"weights/cuda/blobs.pt"'),
    Kept("inference", "infer.py", '"cuda": str(devices[0])'),
    Kept("inference", "make_weights.py", '"weights/cuda/blobs.pt"'),
    Kept("inference", "benchmark.py", '"weights/cuda/blobs.pt"'),
]

LEFT = {
    # no counterpart on the NPU, or a decision for a person: each has a finding
    "ddp_training/ddp_training/hardware.py": {"torch.version.cuda", "torch.cuda.nccl.version"},
    "inference/detector/devices.py": {"torch.version.cuda"},
    "inference/infer.py": {"torch.version.cuda"},
    "small_gpt/train.py": {"torch.version.cuda"},
}
"""Names that may be left in a migrated copy, each reported as a finding."""


@pytest.fixture(scope="module")
def migrated_safely(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every example, migrated with the safe edits only: name -> folder."""
    folder = tmp_path_factory.mktemp("safely")
    for name in PROJECTS:
        npuify.migrate(EXAMPLES / name, folder / name, Options(jobs=1, cache=False))
    return {name: folder / name for name in PROJECTS}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, MigrationResult]]:
    """Every example, migrated with the edits that need a look included: name -> (folder, result)."""
    folder = tmp_path_factory.mktemp("migrated")
    made = {}
    for name in PROJECTS:
        result = npuify.migrate(EXAMPLES / name, folder / name, Options(unsafe=True, jobs=1, cache=False))
        made[name] = (folder / name, result)
    return made


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "npuify-report" not in path.parts)


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for a chain of attributes, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def cuda_names(source: str) -> set[str]:
    """What of ``torch.cuda``, ``torch.version.cuda`` and ``torch.backends.cuda`` the code still names."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            if name.startswith(("torch.cuda", "torch.version.cuda")):
                found.add(name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch.cuda"):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("torch.cuda"))
    return {name for name in found if not any(other.startswith(name + ".") for other in found)}


def is_print(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def device_strings(source: str) -> list[str]:
    """String constants that can only be a CUDA device: "cuda" and "cuda:…", but not keys and printed words."""
    tree = ast.parse(source)
    words = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    words |= {id(argument) for node in ast.walk(tree) if is_print(node) for argument in node.args}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (node.value == "cuda" or node.value.startswith("cuda:"))
        and id(node) not in words
    ]


def test_there_are_four_whole_projects() -> None:
    assert len(PROJECTS) >= 4
    for name in PROJECTS:
        assert (EXAMPLES / name / "README.md").is_file()
        assert set(COMMANDS) == set(PROJECTS)


@pytest.mark.parametrize("name", PROJECTS)
def test_parses_and_uses_cuda(name: str) -> None:
    names = set()
    for path in python_files(EXAMPLES / name):
        names |= cuda_names(path.read_text(encoding="utf-8"))
    assert len(names) > 3, "the example would show nothing"


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.project}/{kept.file}:{kept.text[:20].strip()}")
def test_the_traps_are_in_the_examples(kept: Kept) -> None:
    assert kept.text in (EXAMPLES / kept.project / kept.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROJECTS)
def test_migrated_parses_and_is_whole(name: str, migrated: dict[str, tuple[Path, MigrationResult]]) -> None:
    folder, result = migrated[name]
    assert not result.scan.errors
    before = {
        path.relative_to(EXAMPLES / name) for path in (EXAMPLES / name).rglob("*") if "__pycache__" not in path.parts
    }
    after = {path.relative_to(folder) for path in folder.rglob("*")}
    assert before <= after
    for path in python_files(folder):
        ast.parse(path.read_bytes(), str(path))


@pytest.mark.parametrize("name", PROJECTS)
def test_no_cuda_name_is_left(name: str, migrated: dict[str, tuple[Path, MigrationResult]]) -> None:
    folder, result = migrated[name]
    reported = {finding.file for finding in result.left}
    for path in python_files(folder):
        relative = path.relative_to(folder).as_posix()
        left = cuda_names(path.read_text(encoding="utf-8"))
        allowed = LEFT.get(f"{name}/{relative}", set())
        assert left <= allowed, relative
        assert not left or relative in reported, f"{relative}: {left} is left without a finding"


@pytest.mark.parametrize("name", PROJECTS)
def test_no_device_string_is_left(name: str, migrated: dict[str, tuple[Path, MigrationResult]]) -> None:
    folder, _ = migrated[name]
    left = {
        p.relative_to(folder).as_posix(): device_strings(p.read_text(encoding="utf-8")) for p in python_files(folder)
    }
    assert {file: strings for file, strings in left.items() if strings} == {}


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.project}/{kept.file}:{kept.text[:20].strip()}")
def test_what_is_not_a_device_stays(kept: Kept, migrated_safely: dict[str, Path]) -> None:
    before = (EXAMPLES / kept.project / kept.file).read_text(encoding="utf-8")
    after = (migrated_safely[kept.project] / kept.file).read_text(encoding="utf-8")
    assert after.count(kept.text) == before.count(kept.text)


@pytest.mark.parametrize("name", PROJECTS)
def test_torch_npu_is_imported_once_where_needed(name: str, migrated: dict[str, tuple[Path, MigrationResult]]) -> None:
    folder, result = migrated[name]
    for path in python_files(folder):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        modules = plain + [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert plain.count("torch_npu") <= 1, path
        imported = any(module.split(".")[0] == "torch_npu" for module in modules)
        if path.relative_to(folder).as_posix() not in result.changed_files:
            assert not imported
        if any(isinstance(node, ast.Attribute) and dotted(node) == "torch.npu" for node in ast.walk(tree)):
            assert imported, f"{path} uses torch.npu without torch_npu"


@pytest.mark.parametrize("name", PROJECTS)
def test_a_second_migration_changes_nothing(
    name: str, migrated: dict[str, tuple[Path, MigrationResult]], tmp_path: Path
) -> None:
    folder, _ = migrated[name]
    copy = tmp_path / "once"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("npuify-report"))
    again = npuify.migrate(copy, None, Options(unsafe=True, jobs=1, cache=False), mode="check")
    assert again.changes == ()
    assert again.changed_files == ()


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_diff_in_the_readme_is_real(page: str) -> None:
    text = (EXAMPLES.parent / page).read_text(encoding="utf-8")
    shown = text.split("```diff\n")[1].split("```")[0]
    real = npuify.migrate(EXAMPLES / "image_classification", None, Options(jobs=1, cache=False), mode="diff").diff
    changed = [line for line in shown.splitlines() if line.startswith(("+", "-"))]
    assert len(changed) > 10
    missing = [line for line in changed if line not in real.splitlines()]
    assert missing == []


@pytest.mark.parametrize(
    ("page", "language", "begins"), [("README.md", "en", "Verdict: "), ("README.zh-CN.md", "zh", "结论：")]
)
def test_the_verdict_in_the_readme_is_real(page: str, language: str, begins: str) -> None:
    text = (EXAMPLES.parent / page).read_text(encoding="utf-8")
    shown = next(part for part in text.split("```text\n")[1:] if part.startswith(begins)).split("```")[0]
    with speaking(language):
        real = render_scan(npuify.scan([EXAMPLES / "image_classification"], Options(jobs=1, cache=False)))
    assert real.endswith(shown)


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every example in the portable style: name -> folder."""
    folder = tmp_path_factory.mktemp("portable")
    options = Options(style="portable", jobs=1, cache=False)
    for name in PROJECTS:
        assert not npuify.migrate(EXAMPLES / name, folder / name, options).scan.errors
    return {name: folder / name for name in PROJECTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_the_portable_copy_does_on_the_cpu_what_the_original_does(
    name: str, portable: dict[str, Path], tmp_path: Path, on_cpu: Warm
) -> None:
    """Both run to their end; what they print differs in times only, and the files that they write have the same names."""
    said, written = [], []
    for source in (EXAMPLES / name, portable[name]):
        project = tmp_path / source.parent.name / name
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("npuify-report", "__pycache__"))
        before = set(project.rglob("*"))
        lines = []
        for command in COMMANDS[name]:
            ranks, words = (2, command.removeprefix(TORCHRUN).split()) if TORCHRUN in command else (1, command.split())
            program = Program(words, project)
            for done in on_cpu.ranks(ranks, program) if ranks > 1 else on_cpu.run(program):
                assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
                lines += done.stdout.splitlines()
        said.append([_WITHOUT_TIMES.sub("#", line) for line in lines])
        new = {path.relative_to(project).as_posix() for path in set(project.rglob("*")) - before}
        written.append({path for path in new if "__pycache__" not in path})
    assert said[0] == said[1]
    assert written[0] == written[1]


_WITHOUT_TIMES = re.compile(r"\d+(?:\.\d+)? (?:s|ms|images/s)\b")


@pytest.mark.parametrize("name", PROJECTS)
@pytest.mark.parametrize("style", ["portable", "auto"])
def test_a_second_migration_in_a_style_changes_nothing(name: str, style: str, tmp_path: Path) -> None:
    options = Options(style=style, unsafe=True, jobs=1, cache=False)
    npuify.migrate(EXAMPLES / name, tmp_path / "once", options)
    again = npuify.migrate(tmp_path / "once", None, options, mode="check")
    assert not again.scan.errors
    assert again.changed_files == ()


@pytest.mark.parametrize("name", PROJECTS)
def test_the_automatic_style_changes_least(name: str) -> None:
    sizes = {}
    for style in ("npu", "portable", "auto"):
        options = Options(style=style, jobs=1, cache=False)
        patch = npuify.migrate(EXAMPLES / name, None, options, mode="diff").diff
        sizes[style] = sum(line.startswith("-") for line in patch.splitlines())
    assert sizes["auto"] < sizes["npu"]
    assert sizes["auto"] < sizes["portable"]
