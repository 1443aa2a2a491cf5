"""The simulated torch_npu answers what the real one answered, statement by statement.

The real one's answers are in the shipped live table. It was asked on a stand-in machine without kernels, so statements
that need one, or that tell of that machine, are not compared; where the simulated one differs on purpose, it says why.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npuify.simulator import tables

if TYPE_CHECKING:
    from .conftest import Simulate

torch = pytest.importorskip("torch")
RELEASE = "2.13.0"
PROBES = Path(__file__).parents[2] / "tools" / "real_torch_npu" / "probes"
SCENARIOS = (
    "one device",
    "tensors",
    "fallback",
    "streams and events",
    "random numbers",
    "mixed precision",
    "cuda afterwards",
    "what stands for cuda's",
    "distributed",
    "profiler",
)
"""Those on a machine with one device of the usual memory."""

MACHINE = ("Failed to find function", "not in libopapi.so", "Ipc", "npu storage desc is unavailable")
"""What the real one says where its machine had no kernel or no runtime for it."""

DIFFER = {
    # one device
    "list(torch.npu.memory_stats())": "the real one has no numbers before its first use",
    "torch.npu.is_initialized()": "asking for memory is a first use here",
    "torch.npu.get_device_properties(0)": "the machine's cores",
    "torch.npu.get_device_properties('npu:0')": "the machine's cores",
    "torch.npu.get_device_properties()": "the machine's cores",
    "torch.npu.get_device_properties(0).multi_processor_count": "the machine's cores",
    "sorted(n for n in dir(torch.npu.get_device_properties(0)) if not n.startswith('_'))": "there is no uuid",
    # tensors
    "torch_npu.get_npu_format(torch.zeros(1))": "the list of backends behind the first sentence",
    "torch.nn.functional.linear(x, torch.zeros(4, 3))": "the real one's argument has another name: it keeps matmul whole",
    "x @ torch.zeros(3, 2)": "the real one's argument has another name: it keeps matmul whole",
    "torch_npu.npu_rms_norm(torch.zeros(2, 3), torch.zeros(3))": "the list of backends behind the first sentence",
    # streams
    "s.npu_stream == s.stream_id": "a stream has no address but its number",
    "e.elapsed_time(g) > -1e9": "that machine's runtime does not ask whether an event is for timing",
    "torch.npu.ExternalEvent()": "the class's name in its text",
    "torch.Stream(device='npu')": "the stream's number",
    # random numbers
    # names that say they are not simulated, and what the real package's C++ holds
    "p.name, type(p.total_memory), type(p.cube_core_num), type(p.vector_core_num), type(p.L2_cache_size), type(p.uuid)": "there is no uuid",
    "p.major, p.minor, p.multi_processor_count, p.warp_size, p.max_threads_per_multi_processor": "the machine's cores",
    "p.shared_memory_per_block": "where the class is said to be from",
    "torch.npu.preferred_linalg_library()": "not simulated",
    "torch.npu.npurt()": "not simulated",
    "torch.version.cann": "there is no CANN",
    "dist.Backend.default_device_backend_map": "another backend of that PyTorch",
    # profiler
    "torch_npu.profiler.ProfilerActivity.NPU": "the enumeration's number",
    "torch_npu.profiler.ProfilerActivity.CUDA": "the words of the message",
    "sorted(torch_npu.profiler.supported_ai_core_metrics())": "the names of the runtime",
    "torch_npu.profiler.schedule(1, 1, 1)": "a function here",
    "torch_npu.profiler.tensorboard_trace_handler()": "the inner function's name",
    "hasattr(torch_npu.profiler.profile(), 'key_averages')": "one more here",
}
"""Statements whose answers differ, and why."""

RUN = """
import json, os, sys
import torch, torch_npu
sys.path.insert(0, {probes!r})
import behaviour
from pathlib import Path
for i, name in enumerate({names!r}):
    behaviour._fork(name, Path(f"{{i}}.json"))
"""


def comparable(answer: dict[str, Any]) -> tuple[str, str]:
    """Kind and first line of what was answered, without what differs from run to run or names the simulator."""
    text = str(answer.get("message") if "error" in answer else answer.get("value", "")).partition("\n")[0]
    text = re.sub(r"npuify\.simulator\.api\.(\w+)\.(\w+)", r"torch_npu.\2", text.replace(" (simulated by npuify)", ""))
    text = re.sub(r"torch_npu\.(?:\w+\.)+(\w+)", r"torch_npu.\1", text)
    return str(answer.get("error", "value")), text


def test_statements_are_answered_as_the_real_one_answers(start: Simulate, tmp_path: Path) -> None:
    if torch.__version__.partition("+")[0] != RELEASE:
        pytest.skip(f"compares with torch_npu {RELEASE}, which needs that torch; here is {torch.__version__}")
    live = tables.release_table(RELEASE)["live"]["behaviour"]
    program = RUN.format(probes=str(PROBES), names=SCENARIOS)
    start(program, "--devices=1", "--soc=Ascend910B2", "--policy=warn")
    differ, compared, unused = {}, 0, dict(DIFFER)
    for i, name in enumerate(SCENARIOS):
        ours = json.loads((tmp_path / f"{i}.json").read_text())
        for real, our in zip(live[name]["answers"], ours, strict=True):
            assert real["ask"] == our["ask"]
            if any(text in real.get("message", "") for text in MACHINE):
                continue
            compared += 1
            if comparable(real) == comparable(our):
                continue
            if unused.pop(real["ask"], None) is None and real["ask"] not in DIFFER:
                differ[real["ask"]] = (comparable(real), comparable(our))
    assert compared > 250
    assert differ == {}
    assert unused == {}, "no longer different"


def test_first_generation_chips(simulate: Simulate) -> None:
    """What the real one answered on a machine that said it was an Ascend910A."""
    said = simulate(
        """
        import warnings
        import torch, torch_npu
        assert torch.npu.get_device_name() == "Ascend910A" and torch.npu.get_soc_version() == 102
        assert not torch.npu.is_bf16_supported() and not torch_npu.npu.utils.is_support_inf_nan()
        assert torch.npu.get_amp_supported_dtype() == [torch.float16, torch.float32]
        for make in (lambda: torch.autocast("npu", dtype=torch.bfloat16), lambda: torch.npu.amp.autocast(dtype=torch.bfloat16)):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                assert not make()._enabled
            said = " ".join(str(one.message) for one in warned).replace("dtype torch.bfloat16 is", "dtype is")  # as PyTorch 2.9 has it
            assert "In npu autocast, but the target dtype is not supported. Disabling autocast." in said
        # bfloat16 tensors can be made; which kernels take them, the package does not tell
        assert torch.zeros(2).npu().bfloat16().dtype is torch.bfloat16
        print("all", "well")
        """,
        "--soc=Ascend910A",
    )
    assert "all well" in said
