"""PaddlePaddle: requirements, launchers, variables, and the table against the package itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import npuify
from npuify.knowledge.frameworks.paddle import paddle_names
from npuify.options import Options
from npuify.rewrite.plan import plan

from ...harness import findings, output


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("paddlepaddle-gpu==2.6.2.post120\n", "paddlepaddle==2.6.2\n"),
        ("paddlepaddle-gpu==3.0.0\n", "paddlepaddle==3.0.0\n"),
        ("paddlepaddle-gpu\n", "paddlepaddle==3.0.0\n"),
        ("paddlepaddle-gpu>=2.5\n", "paddlepaddle>=2.5\n"),
        ("paddlepaddle==3.0.0\n",) * 2,
    ],
)
def test_requirements(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="requirements.txt") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("python train.py --device gpu:0,1\n", "python train.py --device npu:0,1\n"),
        ("python train.py -o Global.device=gpu\n", "python train.py -o Global.device=npu\n"),
        ("python train.py --use_gpu=True\n",) * 2,
        ("python other.py --device gpu\n",) * 2,
        (
            "FLAGS_selected_gpus=0 python -m paddle.distributed.launch train.py\n",
            "FLAGS_selected_npus=0 python -m paddle.distributed.launch train.py\n",
        ),
    ],
)
def test_launchers(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import paddle\n\npaddle.set_device('cpu')\n")
    (tmp_path / "other.py").write_text("import sys\n")
    assert output(before, unsafe=True, name="run.sh", root=tmp_path) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if dist.get_backend() == 'NCCL':\n    pass\n", "if dist.get_backend() == 'XCCL':\n    pass\n"),
        ("os.environ['PADDLE_DISTRI_BACKEND'] = 'nccl'\n", "os.environ['PADDLE_DISTRI_BACKEND'] = 'xccl'\n"),
        ("x = int(os.environ.get('FLAGS_selected_gpus', 0))\n", "x = int(os.environ.get('FLAGS_selected_npus', 0))\n"),
        ("y = x.cuda(1)\n", 'y = x.to("npu:1")\n'),
        ("y = x.to(device='gpu')\n", "y = x.to(device='npu')\n"),
        ("y = 'gpu' in str(x.place)\n", "y = 'npu' in str(x.place)\n"),
        ("y = str(x.place) == 'Place(gpu:0)'\n", "y = str(x.place) == 'Place(npu:0)'\n"),
        ("if paddle.version.cuda():\n    pass\n",) * 2,
        ("y = x.cuda(blocking=False)\n",) * 2,
        ("paddle.sparse.nn.Conv3D(1, 1, 1)\n",) * 2,
        ("paddle.incubate.nn.functional.fused_linear(x, y)\n",) * 2,
        ("paddle.distributed.spawn(main, nprocs=2, gpus='0,1')\n",) * 2,
        ("paddle.device.nvtx.range_push('x')\n",) * 2,
    ],
)
def test_programs(before: str, after: str) -> None:
    head = "import os\nimport paddle\nimport paddle.distributed as dist\n"
    assert output(head + before, unsafe=True) == head + after
    assert findings(head + before)


def test_what_needs_nothing_is_not_told() -> None:
    text = "import paddle\n\npaddle.distributed.spawn(main, nprocs=2)\nf = paddle.jit.to_static(main)\n"
    assert not findings(text)


def test_torch_and_paddle_on_the_card_are_told_once() -> None:
    text = "import paddle\nimport torch\nimport torch.nn as nn\n\npaddle.set_device('gpu')\nx = torch.ones(1).cuda()\n"
    assert [found.start.line for found in findings(text) if found.code == "NPU957"] == [2]
    assert "NPU957" not in {found.code for found in findings(text.replace(".cuda()", ""))}


def test_tensors_of_paddle_are_none_of_torch() -> None:
    text = "import paddle\n\nx = paddle.ones([2]).cuda()\nprint(x.is_cuda)\n"
    assert output(text, unsafe=True) == text.replace(".cuda()", '.to("npu")')
    assert {found.code for found in findings(text)} == {"NPU948"}


def test_every_name_of_the_table_exists() -> None:
    """Those that a Paddle from 3.0 on has; what came later is left out here."""
    paddle = pytest.importorskip("paddle")
    for row in paddle_names().values():
        if row.npu and not row.since and row.how != "whole":
            found = paddle
            for part in row.npu.split(".")[1:]:
                found = getattr(found, part)


PROGRAM = """\
import paddle

paddle.set_device("gpu" if paddle.is_compiled_with_cuda() else "cpu")
paddle.seed(1)
net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for step in range(3):
    loss = net(paddle.ones([2, 4])).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    if paddle.device.cuda.device_count() > 1:
        paddle.device.cuda.synchronize()
    print(float(loss))
"""


@pytest.mark.slow
def test_a_migrated_program_computes_the_same_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    (tmp_path / "train.py").write_text(PROGRAM)
    migrated = output(PROGRAM, root=tmp_path, name="train.py")
    assert "cuda" not in migrated
    runs = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True) for text in (PROGRAM, migrated)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    assert runs[0].stdout == runs[1].stdout


def test_a_project_on_paddle_is_not_given_torch_npu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import paddle\n\nx = paddle.ones([2]).cuda()\npaddle.set_device('gpu')\n")
    edits = [edit.after for found in npuify.scan([tmp_path], Options(cache=False)).findings for edit in found.edits]
    assert edits
    assert not [text for text in edits if "torch" in text]


def test_what_paddles_launcher_starts_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import argparse\nimport paddle\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cpu")\npaddle.set_device(parser.parse_args().device)\n'
    )
    (tmp_path / "run.sh").write_text(
        "python -m paddle.distributed.launch --gpus 0,1 --log_dir l train.py --device gpu\n"
    )
    _, changed = plan(tmp_path, Options(unsafe=True, cache=False))
    assert changed["run.sh"] == b"python -m paddle.distributed.launch --npus 0,1 --log_dir l train.py --device npu\n"


def test_only_paddleocr_is_given_use_npu() -> None:
    text = "import paddlehub as hub\n\nhub.Module(name='lac').analyze(texts=['x'], use_gpu=True)\n"
    assert output(text, unsafe=True) == text
    assert output("paddleocr --image_dir a.png --use_gpu true\n", unsafe=True, name="run.sh") == (
        "paddleocr --image_dir a.png --use_gpu false --use_npu true\n"
    )


def test_a_word_of_pytorch_that_becomes_paddles_is_left_alone_the_second_time() -> None:
    text = 'import paddle\n\n\ndef place(device):\n    return str(device).replace("cuda", "gpu")\n'
    once = output(text)
    assert once == text.replace('"gpu"', '"npu"')
    assert output(once) == once


def test_names_of_fluid_are_told_and_none_is_edited() -> None:
    """``fluid`` is gone from every Paddle that runs on NPUs: the program is to be written anew, and half edited runs nowhere."""
    found = findings(
        "import paddle.fluid as F\n\n"
        "places = F.cuda_places() if F.core.is_compiled_with_cuda() else F.cpu_places()\n"
        "place = F.CUDAPlace(0)\n"
    )
    said = {(one.start.line, one.subject) for one in found if one.code == "NPU945"}
    assert said == {
        (1, "paddle.fluid"),
        (3, "paddle.static.cuda_places"),
        (3, "paddle.base.core.is_compiled_with_cuda"),
        (4, "paddle.CUDAPlace"),
    }
    assert not any(one.edits for one in found)
