"""``torch_npu.profiler`` over PyTorch's own profiler: it records what the host does, since nothing runs on a device."""

from __future__ import annotations

import os
import socket
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerAction

# transfer_to_npu puts this module's names in the place of PyTorch's.
from torch.profiler import schedule as _schedule_of_torch

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ProfilerAction"]


class ProfilerActivity(Enum):
    """What to record."""

    CPU = 0
    NPU = 1


class _Names:
    """Values are the real ones' names, as nothing here depends on them."""


class ProfilerLevel(_Names):
    """How much the real profiler collects."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics(_Names):
    """Which counters of the chip the real profiler collects."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType(_Names):
    """What the real profiler writes."""

    Db = "db"
    Text = "text"


class HostSystem(_Names):
    """What of the host the real profiler watches."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


class _ExperimentalConfig:
    """Settings of the real profiler; kept, and otherwise without effect."""

    def __init__(
        self,
        profiler_level: Any = ProfilerLevel.Level0,
        aic_metrics: Any = AiCMetrics.PipeUtilization,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: Any = ExportType.Text,
        host_sys: list[Any] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        self.settings = {name: value for name, value in locals().items() if name != "self"}


def supported_activities() -> set[ProfilerActivity]:
    """Both."""
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


def _values(names: type[_Names]) -> set[str]:
    return {value for name, value in vars(names).items() if not name.startswith("_")}


def supported_profiler_level() -> set[str]:
    """All levels."""
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    """All counters."""
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    """All forms."""
    return _values(ExportType)


def schedule(
    wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """When to record: as ``torch.profiler.schedule``."""
    return _schedule_of_torch(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[[Any], None]:
    """Write each recording into a folder of its own, named as the real profiler names it, below ``dir_name``."""

    def write(profiler: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        stamp = time.strftime("%Y%m%d%H%M%S") + f"{time.time_ns() // 1_000_000 % 1000:03d}"
        folder = Path(dir_name or ".") / f"{worker}_{stamp}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        folder.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(folder / "trace_view.json"))

    return write


_HOST: Any = torch.profiler.ProfilerActivity.CPU


class profile(torch.profiler.profile):  # noqa: N801 - its name in torch_npu
    """Records the host's operators; ``experimental_config`` of the real profiler is taken and has no effect."""

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Any = None,
        use_cuda: bool | None = None,
    ) -> None:
        super().__init__(
            activities=[_HOST],
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )
