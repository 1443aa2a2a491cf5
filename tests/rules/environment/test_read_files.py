"""Files of no kind that is edited, from which a program reads its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)


@pytest.mark.parametrize(
    ("code", "name", "content", "line"),
    [
        ('open("train.opts").read()', "train.opts", "steps=3\ndevice=cuda:0\n", 2),
        ('Path(__file__).with_name("device.txt").read_text()', "device.txt", "cuda\n", 1),
        ('open("sub/run.args")', "sub/run.args", 'lr 0.1\ndevice "cuda"\n', 2),
        # Files of arguments: an option and its value, in one line or in two.
        ('shlex.split(open("run.args").read())', "run.args", "--steps 3 --device cuda:1 --lr 0.1\n", 1),
        ('open("run.args").read().split()', "run.args", "--steps\n3\n--device\ncuda\n", 4),
        ('open("run.args").read().split()', "run.args", "--dist-backend=nccl\n", 1),
        ('open("run.args").read().split()', "run.args", "--name cuda-run --out runs/cuda\n", 0),
        ('open("train.opts").read()', "train.opts", "steps=3\nwe like cuda\n", 0),
        ('open("train.opts").read()', "train.opts", "title=trained on cuda\n", 0),
        ('open("train.opts").read()', "other.opts", "device=cuda:0\n", 0),
        # Such files are edited.
        ('open("train.properties").read()', "train.properties", "device=cuda:0\n", 0),
    ],
)
def test_what_is_told(code: str, name: str, content: str, line: int, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    (tmp_path / "main.py").write_text(f"import torch\nfrom pathlib import Path\ntext = {code}\n")
    found = [one for one in scan([tmp_path], OPTIONS).findings if one.code == "NPU735"]
    assert [one.start.line for one in found] == ([3] if line else [])
    assert all(f"in line {line}," in one.message for one in found)
