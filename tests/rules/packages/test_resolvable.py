"""What npuify writes into requirements can be resolved, by uv and the package index.

NPUIFY_UV names uv (python -m venv /somewhere && /somewhere/bin/pip install uv). Nothing is installed.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from npuify import knowledge
from npuify.knowledge.frameworks.paddle import STABLE
from npuify.knowledge.frameworks.vllm import VllmSet, vllm_sets

from ...harness import output

UV = os.environ.get("NPUIFY_UV", "")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not UV, reason="NPUIFY_UV names no uv"),
]
SETS = [row for row in vllm_sets() if row.installable]


@cache
def resolved(
    text: str, python: str = "3.11", machine: str = "aarch64", options: tuple[str, ...] = ()
) -> dict[str, str]:
    """The versions that uv chooses, by name.

    Raises:
        AssertionError: with what uv says, where nothing fits.
    """
    done = subprocess.run(
        [
            *(UV, "pip", "compile", "-q", "--no-annotate", "--no-header", "--python-version", python),
            *("--python-platform", f"{machine}-manylinux_2_34", *options, "-"),
        ],
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "failed to fetch" in done.stderr.lower() or "error sending request" in done.stderr:
        pytest.skip("an index cannot be reached from here")
    assert done.returncode == 0, done.stderr
    lines = [line.partition(" ;")[0] for line in done.stdout.splitlines() if "==" in line]
    return {name: version for name, _, version in (line.partition("==") for line in lines)}


@pytest.mark.parametrize("row", SETS, ids=lambda row: row.plugin)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_file_with_vllm(row: VllmSet, machine: str) -> None:
    text = output(
        f"vllm=={row.vllm[0]}\ntorch==2.4.0+cu121\ntransformers==4.40.0\ntorch-npu==2.1.0\ntriton\ntqdm\n",
        unsafe=True,
        name="requirements.txt",
    )
    if machine == "aarch64" and row.vllm[0] < "0.10":
        pytest.skip("vLLM had no wheels for aarch64: it is built with VLLM_TARGET_DEVICE=empty")
    if not row.transformers:
        text = text.replace("transformers==4.40.0\n", "")
    found = resolved(text, machine=machine)
    assert found["vllm"] == row.vllm[0]
    assert not row.vllm_torch or found["torch"] == row.vllm_torch


@pytest.mark.parametrize("row", SETS, ids=lambda row: row.plugin)
def test_the_call_after_it_installs_the_set(row: VllmSet) -> None:
    options = [word for one in row.indexes[1:] for word in ("--extra-index-url", one)]
    found = resolved(f"vllm-ascend=={row.plugin}\n", "3.10", "aarch64", tuple(options))
    assert (found["torch"], found["torch-npu"]) == (row.torch, row.torch_npu)
    assert found.get("triton-ascend", "") == row.triton_ascend


@pytest.mark.parametrize("row", [one for one in knowledge.releases() if one.has_table], ids=lambda row: row.torch_npu)
@pytest.mark.parametrize("at", [0, -1], ids=["oldest Python", "newest Python"])
def test_a_file_with_torch(row: knowledge.ReleaseInfo, at: int) -> None:
    text = output(
        "torch==2.0.0+cu118\ntorchvision==0.15.1+cu118\ntorchaudio==2.0.1+cu118\ntqdm\n",
        unsafe=True,
        name="requirements.txt",
        release=row.torch_npu,
    )
    found = resolved(text, row.pythons[at])
    assert (found["torch"], found["torch-npu"]) == (row.torch, row.torch_npu)


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("paddlepaddle-gpu\n", "paddlepaddle", STABLE),
        ("paddlepaddle-gpu==2.6.2.post120\n", "paddlepaddle", "2.6.2"),
        ("jax[cuda12]==0.4.30\njaxlib==0.4.30\njax-cuda12-plugin\n", "jax", "0.4.30"),
    ],
)
def test_other_frameworks(text: str, name: str, version: str) -> None:
    assert resolved(output(text, unsafe=True, name="requirements.txt"), "3.10", "x86_64")[name] == version


def test_uv_is_there() -> None:
    assert Path(UV).is_file()
