"""A scan that knows an earlier state of a project finds what one from scratch finds, and looks again at little."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pytest
from tools.check_incremental import Changes, age, differences

from npuify.engine.scan import scan
from npuify.options import Options

if TYPE_CHECKING:
    from npuify.model import ScanResult

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
OPTIONS: Final = Options(jobs=1)
SCRATCH: Final = msgspec.structs.replace(OPTIONS, cache=False)
FILES: Final = {
    "train.py": "import argparse\nimport torch\nfrom tool.net import Batch, net\nfrom tool import fused\n\n\n"
    "def main(args):\n    if args.half:\n        fused.step()\n    batch = Batch()\n    batch.cuda()\n    net().cuda()\n\n\n"
    'parser = argparse.ArgumentParser()\nparser.add_argument("--half", action="store_true")\n'
    'parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")\nmain(parser.parse_args())\n',
    "tool/net.py": "import torch\n\n\nclass Batch:\n    def cuda(self):\n        return self\n\n\n"
    "def net():\n    return torch.nn.Linear(2, 2)\n",
    "tool/fused.py": "import torch\nimport apex\n\n\ndef step():\n    torch.cuda.nvtx.range_push('x')\n    apex.amp.init()\n",
    "tool/group.py": "import torch.distributed as dist\n\n\ndef start(name):\n    dist.init_process_group(name)\n",
    "tool/__init__.py": "",
    "other.py": "from tool.group import start\n\nif __name__ == '__main__':\n    start('nccl')\n",
    "run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py --device cuda\n",
    "conf.yaml": "device: cuda\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is scanned once."""
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    age(root, 1_000_000)
    scan([root], OPTIONS)
    return root


def _again(root: Path, options: Options = OPTIONS) -> tuple[ScanResult, int]:
    """The result of a scan, and how many files were looked at for it."""
    looked: list[int] = []
    result = scan([root], options, progress=lambda done, _: looked.append(done))
    return result, len(looked)


def _change(root: Path, name: str, text: str, *, seconds: int = 3600) -> None:
    (root / name).write_text(text)
    then = time.time() - seconds
    os.utime(root / name, (then, then))


def _same(root: Path) -> int:
    """How many files a scan looks at, which finds the same as one from scratch."""
    result, count = _again(root)
    assert list(differences(result, scan([root], SCRATCH))) == []
    return count


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(seed: int, project: Path) -> None:
    shutil.copytree(EXAMPLES, project / "examples")
    age(project, 1_000_000)
    scan([project], OPTIONS)
    changes = Changes(project, seed)
    for number in range(12):
        path, how = changes.make()
        then = time.time() - 900_000 + number
        os.utime(path, (then, then))
        found = list(differences(_again(project)[0], scan([project], SCRATCH)))
        assert not found, (number, path, how)


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_of_a_project_in_which_files_depend_on_each_other(seed: int, project: Path) -> None:
    changes = Changes(project, seed)
    for number in range(25):
        path, how = changes.make()
        then = time.time() - 900_000 + number
        os.utime(path, (then, then))
        found = list(differences(_again(project)[0], scan([project], SCRATCH)))
        assert not found, (number, path, how)


def test_several_processes_find_the_same(project: Path) -> None:
    (project / "parts").mkdir()
    for number in range(320):
        _change(project, f"parts/part_{number}.py", f"import torch\n\n\ndef step_{number}(x):\n    return x.cuda()\n")
    both = msgspec.structs.replace(OPTIONS, jobs=2)
    scan([project], both)
    chosen = random.Random(1)
    for _ in range(3):
        name = f"parts/part_{chosen.randrange(320)}.py"
        _change(project, name, (project / name).read_text() + "from tool.net import net\n\nnet().cuda()\n", seconds=60)
        result, count = _again(project, both)
        assert count < 10
        assert list(differences(result, scan([project], SCRATCH))) == []


def test_a_comment_concerns_its_own_file_alone(project: Path) -> None:
    _change(project, "tool/group.py", FILES["tool/group.py"] + "# no more\n")
    assert _same(project) <= 2
    # What has a method `cuda` concerns whoever calls one so called.
    _change(project, "tool/net.py", FILES["tool/net.py"] + "# no more\n")
    assert _same(project) <= 3


def test_a_file_that_only_got_another_time_is_not_looked_at(project: Path) -> None:
    os.utime(project / "tool/net.py")
    assert _same(project) == 0
    assert _same(project) == 0


def test_a_file_that_was_changed_just_now_is_known_by_what_it_holds(project: Path) -> None:
    (project / "tool/net.py").write_text(FILES["tool/net.py"] + "\n")
    assert _same(project) > 0
    assert _same(project) == 0


def test_an_option_that_another_file_declares_concerns_the_launcher(project: Path) -> None:
    before = scan([project], OPTIONS)
    _change(
        project, "train.py", FILES["train.py"].replace('parser.add_argument("--device"', 'parser.add_argument("--d"')
    )
    _same(project)
    _change(
        project,
        "other.py",
        'import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument("--device", choices=["cuda"])\n',
    )
    _same(project)
    _change(project, "train.py", FILES["train.py"])
    _change(project, "other.py", FILES["other.py"])
    assert list(differences(_again(project)[0], before)) == []


def test_a_search_that_says_something_else_concerns_all_that_asked(project: Path) -> None:
    _change(project, "other.py", FILES["other.py"] + "from tool import fused\n\nfused.step()\n")
    assert _same(project) > 1


def test_a_file_that_others_cannot_read_any_more(project: Path) -> None:
    _change(project, "tool/net.py", "def (\n")
    _same(project)
    (project / "tool/net.py").write_bytes(b"\xff\xfe\x00")
    _same(project)
    (project / "tool/net.py").unlink()
    _same(project)
