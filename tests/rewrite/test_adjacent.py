"""What is taken out of a row, right behind a member of which only something is told."""

from __future__ import annotations

import pytest

from ..harness import output


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "run.sh",
            "vllm serve m --quantization awq --attention-backend FLASHINFER --port 1\n",
            "vllm serve m --quantization awq --port 1\n",
        ),
        (
            "program.py",
            'from vllm import LLM\nx = LLM("a-AWQ", device="cuda", quantization="awq")\n',
            'from vllm import LLM\nx = LLM("a-AWQ", quantization="awq")\n',
        ),
        (
            "program.py",
            'from vllm import LLM\nx = LLM("a", kv_cache_dtype="fp8", device="cuda", quantization="awq")\n',
            'from vllm import LLM\nx = LLM("a", kv_cache_dtype="fp8", quantization="awq")\n',
        ),
    ],
)
def test_it_is_taken_out(name: str, before: str, after: str) -> None:
    assert output(before, name=name) == after
    assert output(after, name=name) == after
