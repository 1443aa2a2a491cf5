"""The one place that knows the device: an NPU or a GPU, whichever torch's accelerator is, else the CPU."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from pathlib import Path

# Only its absence is accepted: an installed one that cannot be imported (CANN's set_env.sh not sourced) is an error.
HAS_TORCH_NPU = importlib.util.find_spec("torch_npu") is not None
if HAS_TORCH_NPU:
    import torch_npu

NAMES = ("auto", "accelerator", "cpu")


def choose(name: str, local_rank: int) -> torch.device:
    """The device of this process, made the current one. ``auto`` is the accelerator where there is one.

    Raises:
        RuntimeError: the accelerator is asked for, and there is none (or fewer of them than processes).
    """
    if name == "cpu" or (name == "auto" and not torch.accelerator.is_available()):
        return torch.device("cpu")
    count = torch.accelerator.device_count()
    kind = torch.accelerator.current_accelerator()
    if kind is None or local_rank >= count:
        raise RuntimeError(f"process {local_rank} of this machine has no accelerator: there are {count}")
    device = torch.device(kind.type, local_rank)
    torch.get_device_module(device).set_device(device)
    return device


def backend(device: torch.device) -> str:
    """The collective library of the device: hccl for an NPU, gloo for the CPU, and so on."""
    return str(dist.get_default_backend_for_device(device))


def supports_bfloat16(device: torch.device) -> bool:
    """First-generation 910 chips and old GPUs do not support bfloat16; the CPU does, slowly."""
    return bool(torch.get_device_module(device).is_bf16_supported()) if device.type != "cpu" else True


def grad_scaler(device: torch.device, enabled: bool) -> Any:
    """Loss scaling for float16. torch_npu's own also detects overflows on chips that saturate instead of giving Inf."""
    if device.type == "npu":
        return torch_npu.npu.amp.GradScaler(enabled=enabled)
    return torch.amp.GradScaler(device.type, enabled=enabled)


def synchronize(device: torch.device) -> None:
    """Wait for everything started on the device: before reading a clock."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Bytes; 0 on the CPU."""
    return int(torch.get_device_module(device).max_memory_allocated(device)) if device.type != "cpu" else 0


def rng_state(device: torch.device) -> torch.Tensor | None:
    """The state of the device's generator; None on the CPU, whose state is kept anyway."""
    return torch.get_device_module(device).get_rng_state(device) if device.type != "cpu" else None


def set_rng_state(device: torch.device, state: torch.Tensor | None) -> None:
    """Restore what ``rng_state`` returned."""
    if device.type != "cpu" and state is not None:
        torch.get_device_module(device).set_rng_state(state, device)


def profiler(device: torch.device, wait: int, steps: int, folder: Path) -> Any:
    """Sleeps ``wait`` steps, warms up for one and records ``steps``. Call its ``step()`` after each step."""
    if device.type == "npu":
        api = torch_npu.profiler
        activities = [api.ProfilerActivity.CPU, api.ProfilerActivity.NPU]
    else:
        api = torch.profiler
        activities = list(api.supported_activities())
    return api.profile(
        activities=activities,
        schedule=api.schedule(wait=wait, warmup=1, active=steps, repeat=1),
        on_trace_ready=api.tensorboard_trace_handler(str(folder)),
        record_shapes=True,
    )
