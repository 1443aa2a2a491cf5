"""Programs that never speak of torch are looked at as well."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.options import Options


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("from vllm import LLM\nllm = LLM('m', quantization='awq')\n", "NPU930"),
        ("import paddle\npaddle.set_device('gpu')\n", "NPU946"),
        ("from paddle.inference import Config\nConfig('a', 'b').enable_use_gpu(100, 0)\n", "NPU947"),
        ("import jax\nimport optax\n\ngradient = jax.value_and_grad(abs)\n", "NPU960"),
        ("import jax.numpy as jnp\n\nx = jnp.ones(2)\n", "NPU961"),
        ("import xgboost\ntrees = xgboost.XGBClassifier(device='cuda')\n", "NPU970"),
    ],
)
def test_a_program_without_torch(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    assert [
        found.code for found in npuify.scan([tmp_path], Options(cache=False)).findings if found.code != "NPU620"
    ] == [code]
