"""The result of the last scan holds until anything that it rests on changes, and not a moment longer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pytest

import npuify
from npuify.engine.kept.last_result import ToKeep, last_result
from npuify.engine.scan import scan
from npuify.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.model import ScanResult

OPTIONS: Final = Options(jobs=1)
ROOT: Final = Path(__file__).parents[2]
FILES: Final = {
    "train.py": "import torch\nfrom tool.net import net\n\nnet().cuda()\nopen('device.cfg2')\n",
    "tool/net.py": "import torch\n\n\ndef net():\n    return torch.nn.Linear(2, 2)\n",
    "tool/__init__.py": "",
    "run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py\n",
    "requirements.txt": "torch==2.7.1\n",
    "data/notes.bin": "x",
    ".gitignore": "scratch.py\n",
    "scratch.py": "import torch\ntorch.cuda.is_bf16_supported()\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a repository that was made an hour ago, scanned once."""
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    _older(root)
    scan([root], OPTIONS)
    return root


def _older(root: Path) -> None:
    then = time.time() - 3600
    for place in sorted(root.rglob("*"), reverse=True):
        os.utime(place, (then, then))
    os.utime(root, (then, then))


def test_it_is_what_the_scan_gave(project: Path) -> None:
    known = last_result([project], OPTIONS)
    assert known is not None
    assert known == scan([project], msgspec.structs.replace(OPTIONS, cache=False))


def test_no_rule_is_imported_for_it(project: Path) -> None:
    program = (
        "import sys, pathlib, npuify\nfrom npuify.options import Options\n"
        f"npuify.scan([pathlib.Path({str(project)!r})], Options(jobs=1))\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('npuify.rules', 'npuify.analysis'))))\n"
    )
    for _ in range(2):  # the first has another working folder, or language, than the scan of the fixture
        ran = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def _another_text(root: Path) -> None:
    (root / "tool/net.py").write_text(FILES["tool/net.py"].replace("2, 2", "2, 3"))


def _another_mode(root: Path) -> None:
    (root / "run.sh").chmod(0o755)


def _another_file(root: Path) -> None:
    (root / "tool/more.py").write_text("import torch\ntorch.cuda.synchronize()\n")


def _no_longer_there(root: Path) -> None:
    (root / "tool/net.py").unlink()


def _another_name(root: Path) -> None:
    (root / "tool").rename(root / "tools")


def _a_file_of_no_kind_that_the_program_reads(root: Path) -> None:
    (root / "device.cfg2").write_text("device: cuda\n")


def _what_is_ignored(root: Path) -> None:
    (root / ".gitignore").write_text("\n")


def _what_is_tracked(root: Path) -> None:
    subprocess.run(["git", "add", "-f", "scratch.py"], cwd=root, check=True)


def _what_is_ignored_here_alone(root: Path) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("tool/\n")


def _no_longer_a_file(root: Path) -> None:
    shutil.rmtree(root / "data")
    (root / "data").write_text("x")


CHANGES: Final = (
    _another_text,
    _another_mode,
    _another_file,
    _no_longer_there,
    _another_name,
    _a_file_of_no_kind_that_the_program_reads,
    _what_is_ignored,
    _what_is_tracked,
    _what_is_ignored_here_alone,
    _no_longer_a_file,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__.strip("_"))
def test_it_holds_no_longer_where_the_project_changes(change: Callable[[Path], None], project: Path) -> None:
    change(project)
    assert last_result([project], OPTIONS) is None
    assert npuify.scan([project], OPTIONS) == scan([project], msgspec.structs.replace(OPTIONS, cache=False))


def test_folders_that_no_scan_looks_into_may_come(project: Path) -> None:
    (project / "tool/__pycache__").mkdir()
    (project / "tool/__pycache__/net.pyc").write_bytes(b"x")
    assert last_result([project], OPTIONS) is not None


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(OPTIONS, style="portable"),
        msgspec.structs.replace(OPTIONS, torch_npu="2.6.0"),
        msgspec.structs.replace(OPTIONS, exclude=("tool/",)),
        msgspec.structs.replace(OPTIONS, cache=False),
        msgspec.structs.replace(OPTIONS, select=("NPU1",)),
    ],
    ids=["style", "release", "exclude", "no cache", "selection"],
)
def test_it_is_that_of_the_same_question(other: Options, project: Path) -> None:
    assert last_result([project], other) is None


def test_other_processes_are_no_other_question(project: Path) -> None:
    assert last_result([project], msgspec.structs.replace(OPTIONS, jobs=2)) is not None


def test_the_language_and_the_working_folder_count(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert npuify.scan([project], msgspec.structs.replace(OPTIONS, language="zh")).language == "zh"
    monkeypatch.chdir(project)
    assert npuify.scan([Path()], OPTIONS).root == "."


def test_what_was_changed_a_moment_ago_may_change_again(project: Path) -> None:
    (project / "train.py").write_text(FILES["train.py"])
    scan([project], OPTIONS)
    assert last_result([project], OPTIONS) is None


def test_a_broken_file_of_the_cache_is_none(project: Path) -> None:
    for kept in (project.parent / "cache").rglob("*.result.msgpack"):
        kept.write_bytes(kept.read_bytes()[:-100])
    assert last_result([project], OPTIONS) is None


@pytest.mark.parametrize("name", sorted(one.name for one in (ROOT / "examples").iterdir() if one.is_dir()))
def test_every_file_that_a_scan_opens_is_among_what_it_rests_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, root)
    opened: set[str] = set()
    rests_on: set[str] = set()
    keep = ToKeep.keep

    def noted(self: ToKeep, result: ScanResult, locations: list[str]) -> None:
        rests_on.update(os.path.abspath(one) for one in locations)  # noqa: PTH100
        keep(self, result, locations)

    def opens(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "os.scandir") and recording and str(arguments[0]).startswith(str(root)):
            opened.add(os.path.abspath(str(arguments[0])))  # noqa: PTH100

    monkeypatch.setattr(ToKeep, "keep", noted)
    recording = [True]
    sys.addaudithook(opens)
    try:
        scan([root], OPTIONS)
    finally:
        recording.clear()
    beside_the_root = {str(one) for one in root.iterdir()}
    assert opened
    assert opened - rests_on - beside_the_root - {str(root)} == set()
