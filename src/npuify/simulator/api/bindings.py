"""``torch_npu._C``: what programs ask of the package's C++ part by name.

It is private there, yet programs use some names of it (inference engines, model repositories, torch_npu's own tests);
those are here, most of them another name of something public. The others of the release exist and raise.
Which arguments the real ones take is read from torch_npu's own Python files, which call them.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from npuify.simulator import state
from npuify.simulator.api import amp, config, devices, graphs, marks, memory, profiler, streams

if TYPE_CHECKING:
    import torch

_NPUDeviceProperties = devices._NPUDeviceProperties
_NPUStreamBase = streams.Stream
_NPUEventBase = streams.Event
_NPUGraph = graphs.NPUGraph
_npu_init = devices._lazy_init
_npu_setDevice = devices._set  # noqa: N816 - names of torch_npu, here and below
_npu_getDevice = _npu_getLocalDevice = devices.current_device  # noqa: N816
_npu_getDeviceCount = devices.device_count  # noqa: N816
_npu_getDeviceName = devices.get_device_name  # noqa: N816
_npu_getDeviceProperties = devices.get_device_properties  # noqa: N816
_npu_canDeviceAccessPeer = devices.can_device_access_peer  # noqa: N816
_npu_synchronize = devices.synchronize
_npu_ipc_collect = devices.ipc_collect
_npu_get_soc_version = devices.get_soc_version
_npu_is_support_inf_nan = devices.is_support_inf_nan
_npu_is_bf16_supported = devices.is_bf16_supported
_npu_emptyCache = memory.empty_cache  # noqa: N816
_npu_hostEmptyCache = memory.host_empty_cache  # noqa: N816
_npu_memoryStats = memory.memory_stats_as_nested_dict  # noqa: N816
_npu_resetPeakMemoryStats = memory.reset_peak_memory_stats  # noqa: N816
_npu_resetAccumulatedMemoryStats = memory.reset_accumulated_memory_stats  # noqa: N816
_npu_setMemoryFraction = memory.set_per_process_memory_fraction  # noqa: N816
_npu_getMemoryFraction = memory.get_per_process_memory_fraction  # noqa: N816
_npu_getAllocatorBackend = memory.get_allocator_backend  # noqa: N816
_npu_memorySnapshot = memory._snapshot  # noqa: N816
_npu_setOption = config.set_option  # noqa: N816
_npu_is_jit_compile_false = config.is_jit_compile_false
_npu_get_sync_debug_mode = config.get_sync_debug_mode
_npu_set_sync_debug_mode = config.set_sync_debug_mode
_npu_get_task_queue_enable = config.get_task_queue_enable
_npu_set_task_queue_enable = config.set_task_queue_enable
_npu_set_deterministic_level = config.set_deterministic_level
_npu_isCurrentStreamCapturing = graphs.is_current_stream_capturing  # noqa: N816
_graph_pool_handle = graphs.graph_pool_handle
is_autocast_enabled = amp.is_autocast_enabled
set_autocast_enabled = amp.set_autocast_enabled
get_autocast_dtype = amp.get_autocast_dtype
set_autocast_dtype = amp.set_autocast_dtype


def _npu_getDeviceWithoutSet() -> int:  # noqa: N802
    """The current device, or -1 before this process has used one."""
    return devices.current_device() if devices.is_initialized() else -1


def _npu_hasPrimaryContext(device_index: int) -> bool:  # noqa: N802
    """Whether this process has used the device: known of all devices together only."""
    return devices.is_initialized()


def _npu_maybeExchangeDevice(device: int) -> int:  # noqa: N802
    """Make ``device`` current unless it is negative; the one that was."""
    before = devices.current_device()
    if device >= 0:
        devices._set(device)
    return before


def _stream_data(stream: Any) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type


def _npu_getCurrentStream(device_index: int) -> tuple[int, int, int]:  # noqa: N802
    """Number of the current stream, index and type number of its device."""
    return _stream_data(streams.current_stream(device_index))


def _npu_getDefaultStream(device_index: int) -> tuple[int, int, int]:  # noqa: N802
    """Number of the default stream, index and type number of its device."""
    return _stream_data(streams.default_stream(device_index))


def _npu_getCurrentRawStream(device_index: int) -> int:  # noqa: N802
    """What stands for the address of the runtime's stream."""
    return streams.current_stream(device_index).npu_stream


_npu_getCurrentRawStreamNoWait = _npu_getCurrentRawStream  # noqa: N816


def _npu_setStream(stream_id: int, device_index: int, device_type: int) -> None:  # noqa: N802
    """Make a stream current, and its device."""
    streams.set_stream(streams.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))


def _npu_getOption(name: str) -> bytes | None:  # noqa: N802
    """What :func:`torch.npu.set_option` set, as the bytes that torch_npu gives; None if it was not set."""
    value = config._options.get(name)
    return None if value is None else value.encode()


def _npu_set_call_state(state: str) -> None:
    """Told to the real profiler only."""


def _npu_set_module_train_state(state: str) -> None:
    """Told to the real compiler of operators only."""


def _npu_lock_mutex() -> None:
    """Guards the real allocator while it frees; nothing to guard."""


def _npu_unlock_mutex() -> None:
    """See :func:`_npu_lock_mutex`."""


def _weak_ref_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Another tensor over the same memory. The real one does not keep the memory alive; this one does."""
    return tensor.detach()


def _get_cann_version(module: str = "CANN") -> str:
    """The version of CANN: there is none."""
    return devices.get_cann_version(module)


class _Options:
    """What a process group of HCCL can be asked for. Kept; gloo does the work as it does."""

    def __init__(self) -> None:
        self.op_timeout = datetime.timedelta(minutes=30)
        self.is_high_priority_stream = False
        self.global_ranks_in_group: list[int] = []
        self.hccl_config: dict[str, Any] = {}
        self.group_id = ""


_Options.__name__, _Options.__qualname__ = "Options", "ProcessGroupHCCL.Options"
_Options.__module__ = "torch_npu._C._distributed_c10d"


class _OfBackends(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        from npuify.simulator.api.distributed import HcclBackend

        return isinstance(instance, HcclBackend)


class _ProcessGroupHCCL(metaclass=_OfBackends):
    """The class of the backend hccl. Groups are made by ``torch.distributed``; here gloo's class does their work."""

    Options = _Options

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from npuify.simulator import NotSimulated

        raise NotSimulated(
            f"torch_npu._C._distributed_c10d.ProcessGroupHCCL exists in torch_npu {state.release}, but here a group "
            "can only be made by torch.distributed.init_process_group or new_group (npuify simulate)"
        )


_ProcessGroupHCCL.__name__ = _ProcessGroupHCCL.__qualname__ = "ProcessGroupHCCL"
_ProcessGroupHCCL.__module__ = "torch_npu._C._distributed_c10d"

SUBMODULES: dict[str, dict[str, Any]] = {
    "_distributed_c10d": {"ProcessGroupHCCL": _ProcessGroupHCCL},
    "_profiler": {
        "ProfilerActivity": profiler.ProfilerActivity,
        "_supported_npu_activities": profiler.supported_activities,
    },
    "_mstx": {
        "_mark": marks.mstx.mark,
        "_mark_on_host": marks.mstx.mark,
        "_range_start": marks.mstx.range_start,
        "_range_start_on_host": marks.mstx.range_start,
        "_range_end": marks.mstx.range_end,
        "_range_push": marks.mstx.range_push,
        "_range_push_on_host": marks.mstx.range_push,
        "_range_pop": marks.mstx.range_pop,
    },
}
"""Module below ``torch_npu._C`` → its names."""
