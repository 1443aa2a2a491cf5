"""The one place that knows the device: an NPU where there is one, else the CPU."""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from pathlib import Path

# Only its absence is accepted: an installed one that cannot be imported (CANN's set_env.sh not sourced) is an error.
HAS_TORCH_NPU = importlib.util.find_spec("torch_npu") is not None
if HAS_TORCH_NPU:
    import torch_npu

log = logging.getLogger(__name__)

NAMES = ("auto", "npu", "cpu")


def choose(name: str, local_rank: int) -> torch.device:
    """The device of this process, made the current one. ``auto`` is an NPU where there is one.

    Raises:
        RuntimeError: NPUs are asked for, and there are none (or fewer than processes).
    """
    if name == "auto":
        name = "npu" if HAS_TORCH_NPU and torch.npu.is_available() else "cpu"
        if name == "cpu" and HAS_TORCH_NPU:
            log.warning("torch_npu is installed but sees no NPU: running on the CPU")
    if name == "cpu":
        return torch.device("cpu")
    count = torch.npu.device_count() if HAS_TORCH_NPU else 0
    if local_rank >= count:
        raise RuntimeError(f"process {local_rank} of this machine has no NPU: there are {count}")
    device = torch.device("npu", local_rank)
    torch.npu.set_device(device)
    return device


def backend(device: torch.device) -> str:
    """The collective library of the device."""
    return "hccl" if device.type == "npu" else "gloo"


def supports_bfloat16(device: torch.device) -> bool:
    """First-generation 910 chips do not support bfloat16; the CPU does, slowly."""
    return bool(torch.npu.is_bf16_supported()) if device.type == "npu" else True


def grad_scaler(device: torch.device, enabled: bool) -> Any:
    """Loss scaling for float16. torch_npu's own also detects overflows on chips that saturate instead of giving Inf."""
    if device.type == "npu":
        return torch_npu.npu.amp.GradScaler(enabled=enabled)
    return torch.amp.GradScaler(device.type, enabled=enabled)


def synchronize(device: torch.device) -> None:
    """Wait for everything started on the device: before reading a clock."""
    if device.type == "npu":
        torch.npu.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Bytes; 0 on the CPU."""
    return int(torch.npu.max_memory_allocated(device)) if device.type == "npu" else 0


def rng_state(device: torch.device) -> torch.Tensor | None:
    """The state of the device's generator; None on the CPU, whose state is kept anyway."""
    return torch.npu.get_rng_state(device) if device.type == "npu" else None


def set_rng_state(device: torch.device, state: torch.Tensor | None) -> None:
    """Restore what ``rng_state`` returned."""
    if device.type == "npu" and state is not None:
        torch.npu.set_rng_state(state, device)


def profiler(device: torch.device, wait: int, steps: int, folder: Path) -> Any:
    """Sleeps ``wait`` steps, warms up for one and records ``steps``. Call its ``step()`` after each step."""
    if device.type == "npu":
        api = torch_npu.profiler
        activities = [api.ProfilerActivity.CPU, api.ProfilerActivity.NPU]
    else:
        api = torch.profiler
        activities = [api.ProfilerActivity.CPU]
    return api.profile(
        activities=activities,
        schedule=api.schedule(wait=wait, warmup=1, active=steps, repeat=1),
        on_trace_ready=api.tensorboard_trace_handler(str(folder)),
        record_shapes=True,
    )
