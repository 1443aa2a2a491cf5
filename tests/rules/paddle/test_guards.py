"""What a program does only where Paddle is built for CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.model import Safety, Severity
from npuify.options import Options

from ...harness import findings, output

HEAD = "import paddle\nimport subprocess\n"
NPU = 'paddle.is_compiled_with_custom_device("npu")'


@pytest.mark.parametrize(
    "text",
    [
        "if paddle.is_compiled_with_cuda():\n    use_gpu = True\nelse:\n    use_gpu = False\n",
        "place = paddle.set_device('npu') if paddle.is_compiled_with_cuda() else None\n",
        "def f():\n    return paddle.is_compiled_with_cuda()\n",
        "if not paddle.is_compiled_with_cuda():\n    raise SystemExit('a card is needed')\n",
        "if paddle.is_compiled_with_cuda() and ready:\n    place = 'x'\n",
        "assert paddle.is_compiled_with_cuda()\n",
    ],
)
def test_a_branch_that_chooses_a_device_is_the_npus_too(text: str) -> None:
    assert output(HEAD + text) == HEAD + text.replace("paddle.is_compiled_with_cuda()", NPU)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "if paddle.is_compiled_with_cuda():\n    v = paddle.get_cudnn_version() // 1000\n",
            "paddle.get_cudnn_version",
        ),
        (
            """\
def f(x):
    has = paddle.is_compiled_with_cuda()
    x["cuda"] = has
    if has:
        x["cudnn"] = paddle.device.get_cudnn_version() // 1000
        x["gpu"] = "gpu"
""",
            "paddle.device.get_cudnn_version",
        ),
        (
            "if paddle.is_compiled_with_cuda() and said:\n    print(paddle.device.cuda.max_memory_reserved() // 1024)\n",
            "paddle.device.cuda.max_memory_reserved",
        ),
        (
            "m = paddle.device.cuda.max_memory_allocated() if paddle.is_compiled_with_cuda() else 0\n",
            "paddle.device.cuda.max_memory_allocated",
        ),
        (
            "if not paddle.is_compiled_with_cuda():\n    pass\nelse:\n    subprocess.run(['nvidia-smi'])\n",
            "nvidia-smi",
        ),
    ],
)
def test_a_branch_that_needs_cuda_is_left_to_a_person(text: str, name: str) -> None:
    assert output(HEAD + text, unsafe=True) == HEAD + text
    (found,) = [one for one in findings(HEAD + text) if one.subject.endswith("is_compiled_with_cuda")]
    assert found.safety is Safety.MANUAL
    assert name in found.advice


def test_a_branch_with_other_code_is_to_review() -> None:
    text = "if paddle.is_compiled_with_cuda():\n    y = ops.deform(x)\nelse:\n    y = slow(x)\n"
    assert output(HEAD + text) == HEAD + text
    assert output(HEAD + text, unsafe=True) == HEAD + text.replace("paddle.is_compiled_with_cuda()", NPU)


def test_names_that_only_a_paddle_with_cuda_has() -> None:
    text = "from paddle.framework import core\nx = core.to_uva_tensor(y)\nv = paddle.get_cudnn_version()\n"
    assert {one.subject for one in findings(HEAD + text)} == {
        "paddle.base.core.to_uva_tensor",
        "paddle.get_cudnn_version",
    }


def test_advice_for_pytorch_is_not_given_to_paddle() -> None:
    text = "import math\nif not math.isfinite(loss):\n    raise SystemExit\n"
    assert not findings(HEAD + text)
    assert [one.code for one in findings("import torch\n" + text)] == ["NPU419"]


CHECK = (
    "def check(use_gpu, use_npu):\n    if use_gpu and not paddle.is_compiled_with_cuda():\n        use_gpu = False\n"
)


def test_use_gpu_beside_use_npu_stays(tmp_path: Path) -> None:
    (tmp_path / "infer.py").write_text("import paddle\nif args.use_gpu:\n    a()\nelif args.use_npu:\n    b()\n")
    assert output(HEAD + CHECK, unsafe=True, root=tmp_path) == HEAD + CHECK
    (found,) = findings(HEAD + CHECK, root=tmp_path)
    assert (found.severity, found.safety) == (Severity.INFO, Safety.MANUAL)


def test_use_gpu_of_a_project_without_use_npu_is_the_npus(tmp_path: Path) -> None:
    (tmp_path / "infer.py").write_text("import paddle\nif args.use_gpu:\n    a()\n")
    text = HEAD + CHECK.replace(", use_npu", "")
    assert NPU in output(text, unsafe=True, root=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "if not paddle.device.is_compiled_with_cuda() and uva:\n    raise ValueError('uva')\n",
        "if paddle.is_compiled_with_cuda() and self.use_uva is None and UVA:\n    place = 'gpu'\n",
        """\
def f(x):
    if not paddle.is_compiled_with_cuda():
        raise ValueError
    x = paddle.base.core.to_uva_tensor(x)
""",
    ],
)
def test_memory_that_host_and_card_share_is_cudas(text: str) -> None:
    assert output(HEAD + text, unsafe=True) == HEAD + text


def test_what_stands_further_behind_a_refusal_is_told_where_it_stands() -> None:
    text = (
        "def f(x):\n    if not paddle.is_compiled_with_cuda():\n        raise ValueError\n    g(x)\n"
        "    return paddle.get_cudnn_version()\n"
    )
    assert output(HEAD + text) == HEAD + text.replace("paddle.is_compiled_with_cuda()", NPU)


ASKED = """import argparse

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="gpu", choices=["cpu", "gpu"])
args = parser.parse_args()
paddle.set_device(args.device)
if args.device == "gpu":
    print(1)
"""
GUARD = """import paddle


def guard(number, device="cpu"):
    if device == "cpu":
        paddle.set_device(device)
    elif device == "gpu":
        paddle.set_device("gpu:{}".format(number))


guard(0, device="gpu")
"""
STORED = """import paddle


class Storage:
    def __init__(self, device):
        self.kind = device

    def move(self):
        return 1 if self.kind == "gpu" else 2


def start(device):
    paddle.set_device(device)
    Storage(device)


start("gpu")
"""


@pytest.mark.parametrize("text", [ASKED, GUARD, STORED])
def test_a_device_and_what_it_is_compared_with_change_together(text: str) -> None:
    assert output(text, unsafe=True) == text.replace('"gpu', '"npu')


def test_a_comparison_in_another_file(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "main.py").write_text(
        "import paddle\nfrom work import run\nfrom options import args\n\npaddle.set_device(args.device)\nrun(args)\n"
    )
    (source / "options.py").write_text(
        'import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument("--device", default="gpu")\nargs = parser.parse_args()\n'
    )
    (source / "work.py").write_text(
        'import paddle\n\n\ndef run(args):\n    if args.device == "gpu":\n        print(paddle.ones([1]))\n'
    )
    npuify.migrate(source, tmp_path / "out", Options(cache=False, jobs=1, unsafe=True))
    assert 'args.device == "npu"' in (tmp_path / "out/work.py").read_text()
