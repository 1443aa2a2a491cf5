"""What vLLM and Transformers are asked for through an option's default or a name: kernels that only CUDA has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = "import argparse\nparser = argparse.ArgumentParser()\n{}\nargs = parser.parse_args()\n"


def codes(folder: Path, text: str) -> list[str]:
    (folder / "serve.py").write_text(text)
    result = scan([folder], Options(torch_npu="2.14.0", jobs=1, cache=False))
    return [one.code for one in result.findings if one.code in ("NPU930", "NPU324")]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ('parser.add_argument("--quantization", default="gptq_marlin")', "args.quantization", True),
        ('parser.add_argument("--quantization", default=None)', "args.quantization", False),
        ('parser.add_argument("--quantization", default="ascend")', "args.quantization", False),
        ('parser.add_argument("--other")\nCHOSEN = "bitsandbytes"', "CHOSEN", True),
        ('parser.add_argument("--other")\nCHOSEN = None', "CHOSEN", False),
    ],
)
def test_quantization_of_vllm(option: str, value: str, told: bool, tmp_path: Path) -> None:
    text = f"{OPTIONS.format(option)}from vllm import LLM\nllm = LLM('x', quantization={value})\n"
    assert codes(tmp_path, text) == (["NPU930"] if told else [])


@pytest.mark.parametrize(("default", "told"), [("paged_adamw_8bit", True), ("adamw_torch", False)])
def test_optimizer_of_transformers(default: str, told: bool, tmp_path: Path) -> None:
    option = f'parser.add_argument("--optim", default="{default}", help="such as paged_adamw_8bit")'
    text = f"{OPTIONS.format(option)}from transformers import TrainingArguments\nt = TrainingArguments('o', optim=args.optim)\n"
    assert codes(tmp_path, text) == (["NPU324"] if told else [])
