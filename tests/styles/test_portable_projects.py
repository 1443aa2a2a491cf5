"""Portable projects of all layouts: the helper is written once, and every file that needs it can import it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options
from npuify.rewrite.plan import Draft

if TYPE_CHECKING:
    from pathlib import Path

TORCH = """\
import sys
import types


class _Names(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: f"{self.__name__}.{name}"


cuda = _Names("torch.cuda")
cuda.amp = _Names("torch.cuda.amp")
sys.modules["torch.cuda"] = cuda
sys.modules["torch.cuda.amp"] = cuda.amp
device = lambda *args: "device " + ":".join(map(str, args))
"""
USE = "import torch\n\n\ndef where():\n    return torch.cuda.synchronize(), torch.device('cuda')\n"
MAIN = "\nif __name__ == '__main__':\n    print(*where())\n"
SAID = "torch.cuda.synchronize device cuda\n"


def _project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _migrated(tmp_path: Path, files: dict[str, str]) -> tuple[Path, list[str]]:
    """The migrated copy, and the helpers in it."""
    source = _project(tmp_path / "in", {"requirements.txt": "torch>=2.1\n", **files})
    options = Options(style="portable", jobs=1, cache=False)
    result = npuify.migrate(source, tmp_path / "out", options)
    assert not result.scan.errors
    out = tmp_path / "out"
    again = npuify.migrate(out, None, options, mode="check")
    assert again.changed_files == ()
    assert not again.scan.errors
    return out, sorted(path.relative_to(out).as_posix() for path in out.rglob("compute_device*.py"))


def _run(tmp_path: Path, folder: Path, *command: str) -> str:
    stand_in = _project(tmp_path / "stand_in", {"torch/__init__.py": TORCH})
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(stand_in), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LAYOUTS: list[tuple[str, dict[str, str], list[str], list[list[str]]]] = [
    ("one script", {"train.py": USE + MAIN}, ["compute_device.py"], [["train.py"]]),
    (
        "scripts that import each other",
        {"tools.py": USE, "train.py": "from tools import where\nimport torch\ntorch.cuda.empty_cache()\n" + MAIN},
        ["compute_device.py"],
        [["train.py"]],
    ),
    (
        "a package and a script beside it",
        {
            "pkg/__init__.py": "",
            "pkg/inner/__init__.py": "",
            "pkg/inner/core.py": USE,
            "pkg/top.py": "from .inner.core import where\nimport torch\ntorch.cuda.empty_cache()\n",
            "train.py": "import torch\nfrom pkg.top import where\ntorch.cuda.empty_cache()\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"]],
    ),
    (
        "a package that is run as a module",
        {"pkg/__init__.py": "", "pkg/__main__.py": "from .core import where\n" + MAIN, "pkg/core.py": USE},
        ["pkg/compute_device.py"],
        [["-m", "pkg"]],
    ),
    (
        "a package below src",
        {
            "src/pkg/__init__.py": "from pkg.core import where\n",
            "src/pkg/core.py": "import pkg\n" + USE,
            "src/run.py": "from pkg import where\n" + MAIN,
        },
        ["src/pkg/compute_device.py"],
        [["src/run.py"]],
    ),
    (
        "scripts in a folder of their own",
        {"tools/measure.py": USE + MAIN, "README.md": "    python tools/measure.py\n"},
        ["tools/compute_device.py"],
        [["tools/measure.py"]],
    ),
    (
        "a folder without __init__ that the root imports from",
        {"models/net.py": USE, "train.py": "from models.net import where\n" + MAIN},
        ["compute_device.py"],
        [["train.py"]],
    ),
    (
        "a script inside a package that imports its neighbours",
        {"pkg/__init__.py": "", "pkg/tools.py": USE, "pkg/train.py": "from tools import where\n" + MAIN},
        ["pkg/compute_device.py"],
        [["pkg/train.py"]],
    ),
    (
        "names out of torch.cuda",
        {
            "pkg/__init__.py": "",
            "pkg/core.py": "import torch\nfrom torch.cuda import synchronize\nfrom torch.cuda.amp import autocast\n\n\n"
            "def where():\n    autocast()\n    return synchronize(), torch.device('cuda')\n",
            "train.py": "from pkg.core import where\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"]],
    ),
    (
        "an import inside a function",
        {
            "train.py": "def where():\n    import torch\n    return torch.cuda.synchronize(), torch.device('cuda')\n"
            + MAIN
        },
        ["compute_device.py"],
        [["train.py"]],
    ),
    (
        "a package with a folder named as a module of Python's",
        {
            "pkg/__init__.py": "",
            "pkg/logging/__init__.py": "from .helpers import where\n",
            "pkg/logging/helpers.py": "import logging\n" + USE,
            "train.py": "from pkg.logging import where\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"]],
    ),
    (
        "a script named as a module of Python's",
        {"test.py": USE, "train.py": "from test import where\nimport torch\ntorch.cuda.empty_cache()\n" + MAIN},
        ["compute_device.py"],
        [["train.py"]],
    ),
    (
        "a script that puts its own folder on the path, and is imported from two others",
        {
            "pkg/__init__.py": "",
            "pkg/ops/names.py": "answer = 1\n",
            "pkg/ops/run.py": "import os\nimport sys\n\nsys.path.append(os.path.dirname(__file__))\nimport names\n"
            + USE,
            "pkg/start.py": "from ops.run import where\n" + MAIN,
            "train.py": "from pkg.ops.run import where\n" + MAIN,
        },
        ["pkg/ops/compute_device.py"],
        [["pkg/start.py"], ["train.py"]],
    ),
    (
        "a module whose neighbour has the name of another at the root",
        {
            "models/net.py": "from tools import answer\n" + USE,
            "models/tools.py": "answer = 1\n",
            "tools.py": "answer = 2\n",
            "train.py": "from models.net import where\n" + MAIN,
        },
        ["compute_device.py"],
        [["train.py"]],
    ),
    (
        "a package in a folder without __init__, with such a folder in it",
        {
            "space/core/__init__.py": "",
            "space/core/ops/patch.py": USE,
            "space/core/model.py": "import torch\nfrom space.core.ops.patch import where\ntorch.cuda.empty_cache()\n",
            "examples/run.py": "import os\nimport sys\n\nsys.path.append(os.getcwd())\nimport torch\n"
            "from space.core.model import where\ntorch.cuda.empty_cache()\n" + MAIN,
        },
        ["space/core/compute_device.py"],
        [["examples/run.py"]],
    ),
    (
        "a folder in a package that is named as a package elsewhere",
        {
            "pkg/__init__.py": "",
            "pkg/json5/__init__.py": "",
            "pkg/json5/tools/__init__.py": "",
            "pkg/json5/tools/read.py": "try:\n    import json5.tools\nexcept ImportError:\n    pass\n" + USE,
            "train.py": "from pkg.json5.tools.read import where\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"]],
    ),
    (
        "a folder without __init__ in a package",
        {
            "pkg/__init__.py": "",
            "pkg/train/start.py": "from pkg.train.patch import where\n" + MAIN,
            "pkg/train/patch.py": USE,
            "pkg/train/other_patch.py": USE,
        },
        ["pkg/compute_device.py"],
        [["-m", "pkg.train.start"]],
    ),
    (
        "a module of a package that can be started too",
        {
            "pkg/__init__.py": "",
            "pkg/ops/__init__.py": "",
            "pkg/ops/step.py": USE + MAIN,
            "pkg/core.py": "from pkg.ops.step import where\n",
            "train.py": "from pkg.core import where\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"], ["-m", "pkg.ops.step"]],
    ),
    (
        "a folder that a script puts on the path, though it looks like a package",
        {
            "core/__init__.py": "",
            "core/corr.py": USE,
            "core/raft.py": "import torch\nfrom corr import where\ntorch.cuda.empty_cache()\n",
            "train.py": "import sys\nsys.path.append('core')\nfrom raft import where\n" + MAIN,
        },
        ["core/compute_device.py"],
        [["train.py"]],
    ),
    (
        "a package beside which a script puts a folder on the path",
        {
            "pkg/__init__.py": "",
            "pkg/core.py": USE,
            "pkg/tools.py": "from pkg.core import where\nimport torch\ntorch.cuda.empty_cache()\n",
            "train.py": "import sys\nsys.path.append('./pkg')\nfrom pkg.tools import where\n" + MAIN,
        },
        ["pkg/compute_device.py"],
        [["train.py"]],
    ),
    (
        "a name of ours is taken",
        {"compute_device.py": "x = 1\n", "train.py": "from compute_device import x\n" + USE + MAIN},
        ["compute_device.py"],
        [["train.py"]],
    ),
]


@pytest.mark.parametrize(("files", "helpers", "commands"), [item[1:] for item in LAYOUTS], ids=[i[0] for i in LAYOUTS])
def test_every_file_finds_the_helper(
    tmp_path: Path, files: dict[str, str], helpers: list[str], commands: list[list[str]]
) -> None:
    before = _project(tmp_path / "before", files)
    out, found = _migrated(tmp_path, files)
    assert found == helpers
    for command in commands:
        assert _run(tmp_path, before, *command) == SAID
        assert _run(tmp_path, out, *command) == SAID


def test_a_script_finds_the_helper_where_only_the_package_is_installed(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/core.py": "answer = 1\n",
        "scripts/run.py": "from pkg.core import answer\n" + USE + MAIN,
    }
    out, helpers = _migrated(tmp_path, files)
    assert helpers == ["pkg/compute_device.py"]
    (out / "pkg").rename(_project(tmp_path / "stand_in", {"torch/__init__.py": TORCH}) / "pkg")
    assert _run(tmp_path, out, "scripts/run.py") == SAID


def test_a_name_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    out, _ = _migrated(tmp_path, {"compute_device.py": "x = 1\n", "train.py": USE})
    assert (out / "compute_device.py").read_text() == "x = 1\n"
    assert "import torch_compute_device" in (out / "train.py").read_text()
    assert (out / "torch_compute_device.py").is_file()


def test_in_place_the_helper_is_added_too(tmp_path: Path) -> None:
    source = _project(tmp_path / "p", {"requirements.txt": "torch>=2.1\n", "train.py": USE})
    result = npuify.migrate(source, None, Options(style="portable", jobs=1, cache=False), mode="in-place")
    assert result.changed_files == ("compute_device.py", "train.py")
    assert (source / "compute_device.py").is_file()


def test_the_patch_adds_the_helper(tmp_path: Path) -> None:
    source = _project(tmp_path / "p", {"requirements.txt": "torch>=2.1\n", "train.py": USE})
    diff = npuify.migrate(source, None, Options(style="portable", jobs=1, cache=False), mode="diff").diff
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    subprocess.run(["git", "apply", "-"], cwd=source, input=diff, text=True, check=True)
    assert "import compute_device" in (source / "train.py").read_text()
    assert (source / "compute_device.py").is_file()


def test_no_helper_where_nothing_changes(tmp_path: Path) -> None:
    _, helpers = _migrated(tmp_path, {"train.py": "import torch\nprint('cuda is not used')\n"})
    assert helpers == []


def test_requirements_stay_for_cuda(tmp_path: Path) -> None:
    out, _ = _migrated(tmp_path, {"train.py": USE, "requirements.txt": "torch>=2.1\nnvidia-cudnn-cu12==9.5.1.17\n"})
    assert (out / "requirements.txt").read_text() == "torch>=2.1\nnvidia-cudnn-cu12==9.5.1.17\n"


def test_a_capability_that_is_the_oldest_stays_told(tmp_path: Path) -> None:
    """Which branch a program takes is worth knowing in this style as in the others."""
    text = "import torch\n\nmajor, minor = torch.cuda.get_device_capability(0)\nprint(major > 6)\n"
    (tmp_path / "main.py").write_text(text)
    draft = Draft(tmp_path, Options(style="portable", jobs=1, cache=False))
    assert b"get_device_capability(0) or (0, 0)" in draft.contents()["main.py"]
    assert [one.code for one in draft.left()] == ["NPU130"]


@pytest.mark.parametrize(
    "main",
    [
        "import lib\nimport torch.cuda as tc\n\nprint(tc.get_device_capability()[0] >= 7)\n",
        "import torch\nimport lib\n\nprint(torch.cuda.get_device_capability(0) >= (8, 0), torch.device('cuda'))\n",
    ],
)
def test_also_where_a_package_holds_the_helper(main: str, tmp_path: Path) -> None:
    package = {"lib/__init__.py": "from .device import where\n", "lib/device.py": USE, "main.py": main}
    draft = Draft(_project(tmp_path, package), Options(style="portable", jobs=1, cache=False))
    assert b"lib" in draft.contents()["main.py"]
    assert [(one.file, one.code) for one in draft.left()] == [("main.py", "NPU130")]
