"""What is written for vLLM is given to its own argument parser; NPUIFY_VLLM names a Python that has vLLM 0.23.0.

python -m venv /somewhere && /somewhere/bin/pip install torch (for the CPU) && pip install --no-deps vllm==0.23.0
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from npuify.knowledge.frameworks.vllm import engine_arguments

from ...harness import output

VLLM = os.environ.get("NPUIFY_VLLM", "")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not VLLM, reason="NPUIFY_VLLM names no Python with vLLM"),
]
LINES = [
    "m --device cuda --port 8000 --gpu-memory-utilization 0.9",
    "m --device=cuda --tensor-parallel-size 2",
    "m --attention-backend FLASHINFER --max-model-len 8192 --enforce-eager",
    "m --block-size 16 --num-gpu-blocks-override 10 --trust-remote-code",
    "m --block-size=32 --cudagraph-capture-sizes 1 2 4",
    "m --enable-dbo --dbo-decode-token-threshold 8 --served-model-name a b",
    "m --disable-cascade-attn --calculate-kv-scales --dtype bfloat16",
    "m --all2all-backend deepep_high_throughput --enable-expert-parallel",
    "m --moe-backend triton --max-num-seqs 64",
    "m --mm-encoder-attn-backend FLASH_ATTN --limit-mm-per-prompt '{\"image\": 2}'",
    "m --ray-workers-use-nsight --distributed-executor-backend ray",
    "m --enable-layerwise-nvtx-tracing --max-num-partial-prefills 1",
    'm --compilation-config \'{"cudagraph_mode": "FULL_DECODE_ONLY"}\' --additional-config \'{"a": 1}\'',
]
REFUSED = [
    "m --compilation-config '{\"level\": 3}'",
    "m --compilation-config '{\"use_inductor\": true}'",
    "m --swap-space 4",
    "m --num-scheduler-steps 8",
    "m --enable-chunked-prefill=false",
    "m --enable-chunked-prefill true",
]
"""Lines of which the table says that vLLM 0.23 has the argument no more."""
CALLS = [
    'LLM("m", device="cuda", gpu_memory_utilization=0.9, tensor_parallel_size=2)',
    'LLM(model="m", block_size=16, attention_backend="FLASHINFER", enforce_eager=True)',
    'AsyncEngineArgs(model="m", device="cuda", enable_dbo=True, max_model_len=8, disable_cascade_attn=True)',
    'EngineArgs(model="m", all2all_backend="pplx", num_gpu_blocks_override=4, kv_cache_dtype="auto")',
]


def migrated(line: str) -> str:
    return output(f"vllm serve {line}\n", unsafe=True, name="run.sh").removeprefix("vllm serve ").rstrip("\n")


@cache
def asked() -> dict[str, Any]:
    script = Path(__file__).with_name("inside_vllm.py")
    lines = [*(migrated(line) for line in LINES), *LINES, *REFUSED]
    done = subprocess.run(
        [VLLM, str(script)],
        input=json.dumps({"lines": lines}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"version"') :])
    assert answer["version"] == "0.23.0"
    return answer


def test_migrated_command_lines_are_taken_by_vllms_own_parser() -> None:
    answers = asked()["lines"]
    refused = {line: said for line, said in zip(map(migrated, LINES), answers, strict=False) if said}
    assert refused == {}
    assert sum(migrated(line) != line for line in LINES) == len(LINES) - 1
    before = dict(zip([*LINES, *REFUSED], answers[len(LINES) :], strict=True))
    assert "--device" in before[LINES[0]]
    assert all(before[line] for line in REFUSED)


def test_migrated_engine_arguments_are_parameters_of_vllms_classes() -> None:
    fields, parameters = set(asked()["fields"]), set(asked()["parameters"])
    head = "from vllm import LLM, AsyncEngineArgs, EngineArgs\n\nx = "
    for text in CALLS:
        call = ast.parse(output(f"{head}{text}\n", unsafe=True)).body[-1]
        assert isinstance(call, ast.Assign) and isinstance(call.value, ast.Call)
        names = {keyword.arg for keyword in call.value.keywords}
        assert names <= (fields | parameters if text.startswith("LLM") else fields), text
        assert "device" not in names


def test_the_table_knows_which_arguments_vllm_has() -> None:
    options, fields = set(asked()["options"]), set(asked()["fields"]) | set(asked()["parameters"])
    wrong = {}
    for name, rows in engine_arguments().items():
        has = f"--{name.replace('_', '-')}" in options or (name in fields and not rows[0].option_only)
        gone = name == "device" or any(row.dropped and not row.values for row in rows)
        if has == gone:
            wrong[name] = "has it" if has else "lacks it"
    assert wrong == {}
