"""Which process, device and switches of torch a capture was made with."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any


def described() -> dict[str, Any]:
    """What the first record of a process says."""
    import torch

    npu = sys.modules.get("torch_npu")
    version = str(getattr(npu, "__version__", "")) if npu is not None else ""
    world = os.environ.get("WORLD_SIZE", "1")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        world = str(torch.distributed.get_world_size())
    return {
        "pid": os.getpid(),
        "argv": sys.argv,
        "host": platform.node(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "torch_npu": version,
        "simulated": version.endswith("+simulated"),
        "world": int(world) if world.isdigit() else 1,
        "devices": _devices(),
    }


def _devices() -> dict[str, str]:
    """The name of the current device of each kind that is in use."""
    import torch

    names = {"cpu": platform.processor() or platform.machine()}
    for kind in ("cuda", "npu"):
        owner = getattr(torch, kind, None)
        try:
            if owner is not None and owner.is_available():
                names[kind] = str(owner.get_device_name())
        except Exception:  # a driver's trouble is the program's to tell, not the capture's
            names[kind] = ""
    return names


def switches() -> dict[str, Any]:
    """The switches of torch, as they stand now, that decide how numbers are computed."""
    import torch

    found: dict[str, Any] = {}

    def ask(name: str, question: Any) -> None:
        try:
            value = question()
        except Exception:  # the switch does not exist in this release, or was set in a way that forbids asking
            return
        found[name] = value if isinstance(value, (bool, int, float, str)) else str(value)

    # Asking cuDNN's switches loads its library; where CUDA is not used they say nothing.
    if torch.cuda.is_available():
        ask("cuda.matmul.allow_tf32", lambda: torch.backends.cuda.matmul.allow_tf32)
        ask("cudnn.allow_tf32", lambda: torch.backends.cudnn.allow_tf32)
        ask("cudnn.benchmark", lambda: torch.backends.cudnn.benchmark)
    ask("float32_matmul_precision", torch.get_float32_matmul_precision)
    ask("deterministic", torch.are_deterministic_algorithms_enabled)
    ask("default_dtype", torch.get_default_dtype)
    npu = getattr(torch, "npu", None)
    if npu is not None and "torch_npu" in sys.modules:
        ask("npu.matmul.allow_hf32", lambda: npu.matmul.allow_hf32)
        ask("npu.conv.allow_hf32", lambda: npu.conv.allow_hf32)
    for name in ("INF_NAN_MODE_ENABLE", "NVIDIA_TF32_OVERRIDE", "HCCL_DETERMINISTIC"):
        if name in os.environ:
            found[name] = os.environ[name]
    return found
