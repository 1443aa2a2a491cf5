"""Requirement files: the golden files, what stays as it is, and what is only reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify import knowledge
from npuify.engine.scan import scan
from npuify.knowledge.third_party.dependencies import companions, dependencies
from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.rewrite.plan import plan
from npuify.rules.packages.dependency_file import excludes_from

from ...harness import findings, migrated, output

DATA = Path(__file__).parents[2] / "data" / "dependencies"
GOLDEN = sorted(path for path in DATA.rglob("*") if ".in" in path.suffixes)


def _target(path: Path) -> str:
    return path.name.replace(".in", "", 1)


def _expected(path: Path) -> str:
    return path.with_name(path.name.replace(".in", ".out", 1)).read_text("utf-8")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.relative_to(DATA).as_posix())
class TestGolden:
    def test_result(self, path: Path) -> None:
        assert output(path.read_text("utf-8"), unsafe=True, name=_target(path)) == _expected(path)

    def test_second_run_changes_nothing(self, path: Path) -> None:
        assert migrated(_expected(path), unsafe=True, name=_target(path)).raw is None

    @pytest.mark.parametrize("newline", ["\r\n", "\r"])
    def test_line_ends_stay(self, path: Path, newline: str) -> None:
        if newline == "\r" and path.suffix not in (".txt", ".cfg", ".py"):
            pytest.skip("no line end of this format")
        result = migrated(path.read_text("utf-8").replace("\n", newline).encode(), unsafe=True, name=_target(path))
        assert not result.errors
        assert result.raw is not None
        assert result.raw.decode() == _expected(path).replace("\n", newline)

    def test_byte_order_mark_and_missing_last_line_end_stay(self, path: Path) -> None:
        raw = b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n")
        result = migrated(raw, unsafe=True, name=_target(path))
        assert result.raw is not None
        assert result.raw.startswith(b"\xef\xbb\xbf")
        assert result.raw.removeprefix(b"\xef\xbb\xbf").decode().rstrip("\n") == _expected(path).rstrip("\n")


def test_golden_files_are_there() -> None:
    assert len(GOLDEN) >= 7


UNCHANGED = {
    "no torch": ("requirements.txt", "tqdm\nrequests>=2\n"),
    "torch_npu there": ("requirements.txt", "torch==2.1.0\ntorch_npu==2.1.0.post10\ntorchvision==0.16.0\n"),
    "for the CPU": ("requirements-cpu.txt", "torch==2.1.0+cpu\nxformers\n"),
    "for AMD": ("requirements_rocm.txt", "--extra-index-url https://w.example/whl/cu118\ntorch==2.1.0\n"),
    "for documentation": ("docs/requirements.txt", "torch\nsphinx\n"),
    "other platform": (
        "requirements.txt",
        'torch==2.1; sys_platform == "darwin"\nxformers; platform_system == "Windows"\n',
    ),
    "never": ("requirements.txt", "torch; sys_platform == 'never'\n"),
    "commented out": ("requirements.txt", "# torch==2.1.0\n  # xformers\n"),
    "comment with an index": ("requirements.txt", "# pip install --index-url https://w.example/whl/cu118\n"),
    "names that begin alike": ("requirements.txt", "torch-fidelity\ntorchmetrics==1.0\npytorch-msssim\ntritonclient\n"),
    "TOML outside dependencies": ("pyproject.toml", '[tool.x]\nnames = ["torch", "xformers"]\n'),
    "build requirements": ("pyproject.toml", '[build-system]\nrequires = ["torch"]\n'),
    "not an environment": ("env.yaml", "train:\n  - pytorch\n"),
    "strings of setup.py": ("setup.py", 'NAMES = ["torch", "xformers"]\n'),
    "lists of other things": (
        "setup.py",
        (
            'PACKAGES = ["xformers"]\nDEPS = ["numpy"]\nif "torch" in ["torch", "apex"]:\n    PACKAGES.append("apex")\n'
            "setup(install_requires=DEPS, packages=PACKAGES)\n"
        ),
    ),
    "function that is not asked": (
        "setup.py",
        'def extensions():\n    return ["torch", "xformers"]\nsetup(install_requires=["numpy"], ext_modules=extensions())\n',
    ),
    "escaped literal": ("setup.py", 'setup(install_requires=["xformers\\x3e=1"])\n'),
    "hashes": ("requirements.txt", "torch==2.1.0 \\\n    --hash=sha256:00\n"),
    "numpy 2 with a torch of today": ("requirements.txt", "numpy>=2\n"),
    "torchvision of any version": ("requirements.txt", "torchvision>=0.16\n"),
    "last item of a conda list": ("environment.yml", "dependencies:\n  - cudatoolkit\n"),
}


@pytest.mark.parametrize("kind", UNCHANGED)
def test_unchanged(kind: str) -> None:
    name, text = UNCHANGED[kind]
    assert output(text, unsafe=True, name=name) == text


def test_without_unsafe_only_what_is_certain() -> None:
    text = "torch>=2\nxformers\ntriton\ndeepspeed==0.9\nnvidia-cudnn-cu12\n"
    assert output(text, name="requirements.txt") == (
        "torch==2.14.0\ntorch-npu==2.14.0\nxformers\ntriton\ndeepspeed==0.9\n"
    )


def test_pair_is_that_of_the_release_aimed_at() -> None:
    got = output("torch\ntorchvision==0.15\ntorchaudio==2.0\n", name="requirements.txt", release="2.1.0.post17")
    assert got == "torch==2.1.0\ntorch-npu==2.1.0.post17\ntorchvision==0.16.0\ntorchaudio==2.1.0\n"


def test_numpy_2_is_kept_from_torch_that_was_built_for_1() -> None:
    def with_numpy(text: str, release: str) -> str:
        return output(text, name="requirements.txt", release=release, unsafe=True)

    assert with_numpy("numpy>=1.20\n", "2.1.0.post17") == "numpy>=1.20,<2\n"
    assert with_numpy("numpy==1.26.4\n", "2.1.0.post17") == "numpy==1.26.4\n"
    assert with_numpy("numpy>=1.20\n", "2.14.0") == "numpy>=1.20\n"


def test_step_over_a_pin_is_told() -> None:
    (found,) = findings("torch==1.11.0\n", name="requirements.txt")
    assert "the project requires torch==1.11.0" in found.message


def test_markers_go_with_what_is_added() -> None:
    got = output('torch>=2; python_version >= "3.10"\n', name="requirements.txt")
    assert got == 'torch==2.14.0; python_version >= "3.10"\ntorch-npu==2.14.0; python_version >= "3.10"\n'


def test_wheel_of_torch_by_its_address() -> None:
    text = "https://w.example/whl/cu118/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl\n"
    assert output(text, name="requirements.txt") == "torch==2.14.0\ntorch-npu==2.14.0\n"
    text = "torch @ https://w.example/whl/cu118/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl\n"
    assert output(text, name="requirements.txt") == "torch==2.14.0\ntorch-npu==2.14.0\n"


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.1.0"\n', "NPU609"),
        ("Pipfile.lock", '{"default": {\n"torch": {\n}}}\n', "NPU609"),
        ("requirements.txt", "# This file is autogenerated by pip-compile\ntorch==2.1.0\n    # via x\n", "NPU609"),
        ("requirements.txt", "mmcv-full==1.7\n", "NPU606"),
        ("requirements.txt", "-e git+https://example.org/NVIDIA/apex@master#egg=apex\n", "NPU606"),
        ("requirements.txt", "spconv-cu118\n", "NPU608"),
    ],
)
def test_only_reported(name: str, text: str, code: str) -> None:
    (found,) = findings(text, name=name)
    assert (found.code, found.safety) == (code, Safety.MANUAL)
    assert found.advice
    assert output(text, name=name, unsafe=True) == text


def test_kept_packages_are_a_note() -> None:
    (found,) = findings("transformers>=4.40\n", name="requirements.txt")
    assert (found.code, found.severity, found.edits) == ("NPU600", Severity.INFO, ())


def test_ignore_comment() -> None:
    text = "torch>=2  # npuify: ignore[NPU601]\nxformers  # npuify: ignore\n"
    assert output(text, unsafe=True, name="requirements.txt") == text


@pytest.mark.parametrize(
    ("specifier", "minimum", "excluded"),
    [
        ("==0.9", "0.12.6", True),
        ("==0.12.6", "0.12.6", False),
        (">=0.9", "0.12.6", False),
        (">=0.9,<0.12", "0.12.6", True),
        ("<=0.12.6", "0.12.6", False),
        ("~=4.30.2", "4.32", True),
        ("~=4.30", "4.32", False),
        ("==4.*", "4.32", False),
        ("==4.31.*", "4.32", True),
        ("!=4.31", "4.32", False),
        ("", "1", False),
    ],
)
def test_excludes_from(specifier: str, minimum: str, excluded: bool) -> None:
    assert excludes_from(specifier, minimum) is excluded


@pytest.mark.parametrize(
    ("written", "raised"),
    [
        ("ray<2.5", "ray>=2.9.0"),
        ("ray[tune]>=1.13,<2.5.0", "ray[tune]>=2.9.0"),
        ("ray==2.5.0,<3", "ray>=2.9.0,<3"),
        ("ray~=2.5.0,!=2.6.1,!=2.9.1,<=3", "ray>=2.9.0,!=2.9.1,<=3"),
        ("ray<2.5,<2.9,<4", "ray>=2.9.0,<4"),
        ("ray>=1.13,<2.10", None),
        ("ray<3", None),
    ],
)
def test_bounds_that_admit_the_minimum_are_kept(written: str, raised: str | None) -> None:
    """Where the last bound lies below the first release that runs, none is left to keep."""
    assert output(f"{written}\n", unsafe=True, name="requirements.txt") == f"{raised or written}\n"


def _project(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def test_whole_project(tmp_path: Path) -> None:
    """Files by name, by folder and by being included; Python beside them; what is broken is an error of its own."""
    root = _project(
        tmp_path,
        {
            "requirements.txt": "-r deps/base.in\n",
            "deps/base.in": "-c ../pins.lst\ntorch\n",
            "pins.lst": "torch==2.1.0\n",
            "requirements/train.txt": "torch>=2\n",
            "notes/train.txt": "torch>=2\n",
            "pyproject.toml": "[project\n",
            "setup.py": 'import torch\ntorch.cuda.init()\nsetup(install_requires=["torch"])\n',
            "train.py": "import torch\ntorch.cuda.synchronize()\n",
            "requirements-odd.txt": b"torch\xff\n",
        },
    )
    result, contents = plan(root, Options(torch_npu="2.14.0", jobs=1, cache=False))
    assert sorted(contents) == [
        "deps/base.in",
        "pins.lst",
        "requirements/train.txt",
        "setup.py",
        "train.py",
    ]
    assert b"torch.npu.init()" in contents["setup.py"]
    assert b'["torch==2.14.0", "torch-npu==2.14.0"]' in contents["setup.py"]
    assert [error.file for error in result.scan.errors] == ["pyproject.toml", "requirements-odd.txt"]
    assert not any("npuify failed" in error.message for error in result.scan.errors)
    for name, raw in contents.items():
        (root / name).write_bytes(raw)
    _, again = plan(root, Options(torch_npu="2.14.0", jobs=1, cache=False))
    assert again == {}


def test_excluded_files_are_not_included(tmp_path: Path) -> None:
    root = _project(tmp_path, {"requirements.txt": "-r old/base.in\n", "old/base.in": "torch\n"})
    found = scan([root], Options(torch_npu="2.14.0", jobs=1, cache=False, exclude=("old/",))).findings
    assert found == ()


def test_selection_holds_for_requirements(tmp_path: Path) -> None:
    root = _project(tmp_path, {"requirements.txt": "torch\nxformers\n"})
    found = scan([root], Options(torch_npu="2.14.0", jobs=1, cache=False, select=("NPU607",))).findings
    assert [finding.code for finding in found] == ["NPU607"]


def test_every_release_has_its_companions() -> None:
    for release in knowledge.releases():
        if release.has_table:
            assert companions(release.torch) is not None, release.torch


def test_rows_of_the_table() -> None:
    for row in dependencies():
        assert row.message.endswith("."), row.name
        assert row.name == row.name.lower().replace("_", "-")
        if row.action in ("source", "manual"):
            assert row.advice, row.name


@pytest.mark.parametrize("broken", ["  - {\n", "  - 'tqdm\n", " - x: [\n", "  - a: b: c\n"])
def test_an_environment_that_is_no_yaml_is_reported_and_left(broken: str) -> None:
    result = migrated(f"name: x\ndependencies:\n  - pip:\n    - torch==2.0\n{broken}", name="environment.yml")
    assert result.raw is None
    assert ["YAML" in error.message for error in result.errors] == [True]
    assert result.errors[0].line >= 5


@pytest.mark.parametrize(
    "head",
    ["[tool.pdm.dev-dependencies]\ntest", "[tool.rye]\ndev-dependencies", "[tool.hatch.envs.default]\ndependencies"],
)
def test_lists_of_other_tools(head: str) -> None:
    text = f'{head} = ["deepspeed==0.9.5", "pytest"]\n'
    assert output(text, unsafe=True, name="pyproject.toml") == text.replace("==0.9.5", ">=0.12.6")


def test_a_python_without_torch_npu() -> None:
    pipfile = '[packages]\nnumpy = "*"\n[requires]\npython_version = "3.7"\n'
    assert output(pipfile, unsafe=True, name="Pipfile") == pipfile.replace("3.7", "3.10")
    assert "NPU610" not in {one.code for one in findings(pipfile.replace("3.7", "3.11"), name="Pipfile")}
    poetry = '[tool.poetry.dependencies]\npython = "~3.8"\ntorch = "*"\n'
    (found,) = [one for one in findings(poetry, name="pyproject.toml") if one.code == "NPU610"]
    assert (found.safety, found.edits) == (Safety.MANUAL, ())
    assert "NPU610" not in {one.code for one in findings(poetry.replace("~3.8", "^3.8"), name="pyproject.toml")}


def test_messages_are_sentences() -> None:
    messages = {one.subject: one.message for one in findings("xformers\ntorch-geometric\n", name="requirements.txt")}
    assert messages["xformers"] == "xFormers has no NPU version"
    assert messages["torch-geometric"] == "torch-geometric: Its pure PyTorch layers work on NPUs; kept"


@pytest.mark.parametrize(
    ("text", "told", "after"),
    [
        (
            'BASE = ["tqdm", "xformers"]\nALL = BASE + ["numpy"]\nsetup(install_requires=ALL)\n',
            "xformers",
            'BASE = ["tqdm"]\n',
        ),
        ('def more():\n    return ["torch"]\nsetup(install_requires=more())\n', "torch", '"torch-npu==2.14.0"]'),
        ('def more():\n    n = ["torch"]\n    return n + []\nsetup(install_requires=more())\n', "torch", '"torch-npu=='),
        ('more = []\nmore.append("onnxruntime-gpu")\nsetup(install_requires=more)\n', "onnxruntime-gpu", "onnxruntime-cann"),
        ('more = []\nmore.append("torch")\nsetup(install_requires=more)\n', "torch", None),
        ('more = []\nmore.append("xformers")\nsetup(install_requires=more)\n', "xformers", None),
        ('options = {"install_requires": ["xformers", "a"]}\nsetup(**options)\n', "xformers", '{"install_requires": ["a"]}'),
        ('setup(install_requires="torch xformers a".split())\n', "xformers", '"torch==2.14.0 torch-npu==2.14.0 a".split()'),
        ('needs = """\ntorch\nxformers\n""".split()\nsetup(install_requires=needs)\n', "xformers", '"""\ntorch==2.14.0\ntorch-npu==2.14.0\n"""'),
        ('setup(extras_require={"all": """xformers\n    a""".strip().split("\\n")})\n', "xformers", '"""\n    a"""'),
        ('setup(install_requires="torch\\nxformers".split())\n', "", None),
        ('setup(install_requires="torch; xformers".split(";"))\n', "", None),
        (
            ('_deps = ["torch>=2.0", "numpy"]\ndeps = {x.split(">")[0]: x for x in _deps}\n'
            'setup(install_requires=[deps["torch"]])\n'),
            "torch",
            None,
        ),
        (
            ('_deps = ["onnxruntime-gpu"]\ndeps = {x: x for x in _deps}\n'
            'setup(install_requires=[deps["onnxruntime-gpu"]])\n'),
            "onnxruntime-gpu",
            None,
        ),
    ],
)  # fmt: skip
def test_lists_of_a_setup_script_are_followed(text: str, told: str, after: str | None) -> None:
    codes = [item for item in findings(text, name="setup.py") if item.code.startswith("NPU60")]
    assert any(told in item.subject for item in codes) if told else not codes
    got = output(text, unsafe=True, name="setup.py")
    assert got == text if after is None else after in got


def test_torch_beside_paddle_stays_on_the_cpu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import paddle\n")
    (tmp_path / "other.py").write_text("from paddle import nn\n")
    (tmp_path / "compare.py").write_text("import torch\nimport paddle\n")
    text = "paddlepaddle==3.0.0\ntorch>=1.5\ntorchvision\n"
    assert output(text, unsafe=True, name="requirements.txt", root=tmp_path) == text
    found = findings(text, name="requirements.txt", root=tmp_path)
    assert [(one.subject, one.severity) for one in found if one.subject == "torch"] == [("torch", Severity.INFO)]
    built = "paddlepaddle==3.0.0\n--extra-index-url https://download.pytorch.org/whl/cu117\ntorch==1.13.1+cu117\n"
    assert output(built, name="requirements.txt", root=tmp_path) == built.replace("+cu117", "").replace("cu117", "cpu")
    line = "pip install torch==2.1.0 tqdm\n"
    assert output(line, unsafe=True, name="install.sh", root=tmp_path) == line
    # Where most programs are PyTorch's, torch has the card.
    (tmp_path / "a.py").write_text("import torch\n")
    (tmp_path / "b.py").write_text("import torch\n")
    (tmp_path / "c.py").write_text("import torch\n")
    assert "torch-npu==" in output(text, name="requirements.txt", root=tmp_path)
