"""A service of vLLM: what its script hands to ``vllm serve``, on one and on several machines."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge import choose_release
from npuify.launch.job import job
from npuify.launch.launch import launch

from .conftest import needs_bash

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_bash
MODEL = "Qwen/Qwen2.5-7B-Instruct"


def served(folder: Path, arguments: tuple[str, ...] = (), more: tuple[str, ...] = (), **settings: int | str) -> str:
    """The words that the script hands to vLLM, one a line."""
    node = str(settings.pop("node", ""))
    made = job(MODEL, method="vllm", release=choose_release("2.10.0", None), arguments=arguments, **settings)  # type: ignore[arg-type]
    result = launch(made, folder / "serve", force=True)
    assert set(result.files) == {"run.sh", "env.sh", "vllm.service"}
    program = folder / "vllm"
    program.write_text(
        '#!/bin/bash\nprintf "%s\\n" "$ASCEND_RT_VISIBLE_DEVICES" "$VLLM_WORKER_MULTIPROC_METHOD" "$@"\n'
    )
    program.chmod(0o755)
    environment = {**os.environ, "VLLM": str(program), "NPUIFY_SIMULATE": "1", **({"NODE_RANK": node} if node else {})}
    environment.pop("ASCEND_RT_VISIBLE_DEVICES", None)
    done = subprocess.run(
        ["bash", str(folder / "serve" / "run.sh"), *more], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_machine(tmp_path: Path) -> None:
    out = served(tmp_path, ("--max-model-len", "8192"), ("--port", "80"), cards=2)
    assert out.split("\n") == [
        *("0,1", "spawn", "serve", MODEL, "--max-model-len", "8192"),
        *("--tensor-parallel-size", "2", "--port", "80", ""),
    ]


@pytest.mark.parametrize("node", [0, 1])
def test_two_machines(node: int, tmp_path: Path) -> None:
    words = served(tmp_path, cards=4, nodes=2, master="10.0.0.1", node=node).split()
    assert words[words.index("--pipeline-parallel-size") + 1] == "2"
    assert words[words.index("--node-rank") + 1] == str(node)
    assert words[words.index("--master-addr") + 1] == "10.0.0.1"
    assert ("--headless" in words) == (node == 1)


def test_what_the_user_says_of_parallel_sizes_counts(tmp_path: Path) -> None:
    assert "--tensor-parallel-size" not in served(tmp_path, ("-tp", "1"), cards=2)


def test_arguments_that_an_npu_refuses_are_told(tmp_path: Path) -> None:
    made = job(
        MODEL,
        method="vllm",
        release=choose_release("2.10.0", None),
        arguments=("--device", "cuda", "--quantization=awq", "--max-num-seqs", "8"),
        folder=tmp_path,
    )
    result = launch(made)
    assert [change.message.partition(":")[0] for change in result.program] == ["--device", "--quantization"]
    assert not result.complete
