"""Devices of the simulated machine: which there are, which is current, what they say of themselves."""

from __future__ import annotations

import os
import re
import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import state
from npuify.simulator.tables import numbers
from npuify.simulator.visible_devices import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

_bad_fork = False
_queued: list[tuple[Callable[[], Any], str]] = []
_local = threading.local()
_initialized = False


class DeferredNpuCallError(Exception):
    """A call that waited for the device failed when its turn came."""


def is_available() -> bool:
    """Whether there is an NPU that the process sees."""
    return device_count() > 0


def device_count() -> int:
    """How many NPUs of the simulated machine the process sees."""
    return int(state.device.device_count())


def _is_in_bad_fork() -> bool:
    return _bad_fork


def is_initialized() -> bool:
    """Whether this process has used the device."""
    return _initialized and not _bad_fork


def init() -> None:
    """Initialise the device now."""
    _lazy_init()


def _lazy_init() -> None:
    global _initialized
    if _initialized or getattr(_local, "initializing", False):
        return
    if _bad_fork:
        raise RuntimeError(
            "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
            "you must use the 'spawn' start method"
        )
    state.device.initialize()
    _local.initializing = True
    try:
        for call, where in _queued:
            try:
                call()
            except Exception as error:
                raise DeferredNpuCallError(
                    f"NPU call failed lazily at initialization with error: {error}\n\n"
                    f"NPU call was originally invoked at:\n\n{where}"
                ) from error
    finally:
        _local.initializing = False
    _queued.clear()
    _initialized = True


def _lazy_call(cb: Callable[[], Any]) -> None:
    if _initialized:
        cb()
    else:
        _queued.append((cb, "".join(traceback.format_stack())))


def _after_fork() -> None:
    global _bad_fork, _initialized
    if _initialized or state.device.is_initialized():
        _initialized = False
        _bad_fork = True
        state.device.poison()


def _lazy_new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    _lazy_init()
    return super(cls, cls).__new__(cls, *args, **kwargs)


def _get_device(device: int | str | torch.device) -> torch.device:
    if isinstance(device, str):
        return torch.device(device)
    if isinstance(device, int):
        return torch.device("npu", device)
    return device


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index that ``device`` means; the current one's for None where that is ``optional``; -1 for an allowed CPU."""
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type != "npu":
            kind = "npu or cpu" if allow_cpu else "npu"
            raise ValueError(f"Expected a {kind} device, but got: {device}")
        if device.index is not None:
            return int(device.index)
        device = None
    if isinstance(device, DeviceContext):
        return device.idx
    if device is None:
        if not optional:
            raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
        return int(state.device.current_device())
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")


def current_device() -> int:
    """The index of the calling thread's current device."""
    _lazy_init()
    return int(state.device.current_device())


def set_device(device: Any) -> None:
    """Make ``device`` the calling thread's current one; a negative index does nothing.

    Raises:
        RuntimeError: the simulated machine has no such device.
    """
    index = _get_device_index(device, optional=True)
    if index >= 0:
        _set(index)


def _set(index: int) -> None:
    _lazy_init()
    if not state.device.set_device(index):
        count = device_count()
        npus = f"{count} NPU{'s' if count != 1 else ''}"
        hidden = count < state.settings.devices
        limit = (
            f"{VARIABLE} shows {npus}" if hidden else f"the simulated machine has {npus} (npuify simulate --devices)"
        )
        raise RuntimeError(
            f"Invalid device ID {index}: {limit}. On the real one: aclrtSetDevice fails with error code 107001."
        )


class DeviceContext:
    """``torch.npu.device``: the selected device is current inside the ``with`` block; negative or None does nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx < 0:
            return
        self.prev_idx = int(state.device.current_device())
        _set(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            state.device.set_device(self.prev_idx)


DeviceContext.__name__ = DeviceContext.__qualname__ = "device"


class DeviceOf(DeviceContext):
    """``torch.npu.device_of``: the device of a tensor or storage is current inside the block."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_npu else -1)


DeviceOf.__name__ = DeviceOf.__qualname__ = "device_of"


def synchronize(device: Any = None) -> None:
    """Wait for the device. Operators have always ended by then; an index without a device is refused."""
    with DeviceContext(device):
        pass


def _checked(device: Any) -> int:
    index = _get_device_index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    return index


def can_device_access_peer(device_id: Any, peer_device_id: Any) -> bool:
    """Whether two devices reach each other's memory: they do, except a device itself."""
    return _checked(device_id) != _checked(peer_device_id)


def get_device_name(device_name: Any = None) -> str:
    """The chip's name, such as Ascend910B1."""
    _checked(device_name)
    return state.settings.soc


_WITHOUT_VALUE = (
    *("major", "minor", "warp_size", "max_threads_per_multi_processor", "regs_per_multiprocessor"),
    *("is_integrated", "is_multi_gpu_board", "gcnArchName"),
)


class _NPUDeviceProperties:
    """What ``torch.npu.get_device_properties`` gives."""

    def __init__(self) -> None:
        self.name = state.settings.soc
        self.total_memory = state.device.capacity()
        self.cube_core_num = state.soc.get("cube_cores", 0)
        self.vector_core_num = state.soc.get("vector_cores", 0)
        self.L2_cache_size = state.soc.get("l2_bytes", 0)
        if numbers(state.release) >= (2, 6):
            # Asked of the real ones: from 2.6 on CUDA's other properties are there, and None.
            for name in _WITHOUT_VALUE:
                setattr(self, name, None)
            self.multi_processor_count = self.vector_core_num if numbers(state.release) >= (2, 7) else None

    def __repr__(self) -> str:
        return (
            f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory // (1 << 20)}MB, "
            f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, "
            f"L2_cache_size={self.L2_cache_size // (1 << 20)}MB)"
        )


def get_device_properties(device_name: Any = None) -> _NPUDeviceProperties:
    """Name, bytes of memory and number of cores. Raises AssertionError at an index without a device."""
    _checked(device_name)
    _lazy_init()
    return _NPUDeviceProperties()


def get_device_capability(device: Any = None) -> tuple[int, int] | None:
    """None, as an NPU has no CUDA capability; or what ``TORCH_NPU_DEVICE_CAPABILITY`` says, in releases that ask it."""
    note = (
        "The return value of get_device_capability is only for compatibility with PyTorch "
        "and does not represent the actual capability of the NPU device."
    )
    given = os.environ.get("TORCH_NPU_DEVICE_CAPABILITY")
    if not given or numbers(state.release) < (2, 7):
        warnings.warn(f"torch.npu.get_device_capability isn't implemented! {note}", stacklevel=2)
        return None
    match = re.fullmatch(r"(\d+)\.(\d+)", given)
    if match is None:
        warnings.warn(f"TORCH_NPU_DEVICE_CAPABILITY should be like 8.0, not {given}", stacklevel=2)
        return None
    warnings.warn(note, stacklevel=2)
    return int(match[1]), int(match[2])


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device."""
    index = _checked(device)
    _lazy_init()
    total = state.device.capacity()
    return total - state.device.statistics(index)["reserved_bytes.all.current"], total


def utilization(device: Any = None) -> int:
    """How busy the device is, in percent: nothing runs there, so 0."""
    _checked(device)
    return 0


def get_soc_version() -> int:
    """The number that torch_npu gives the chip."""
    return int(state.soc["number"])


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Whether the chip computes in bfloat16."""
    return bool(state.soc["bf16"])


def is_support_inf_nan() -> bool:
    """Whether the chip keeps infinities and NaN, rather than saturating."""
    return bool(state.soc["inf_nan"])


def current_blas_handle() -> None:
    """There is none; warns as torch_npu does."""
    warnings.warn("NPU does not use blas handle.", stacklevel=2)


def ipc_collect() -> None:
    """Nothing to collect: memory is the host's."""


def npu_check_overflow(grad: Any) -> bool:
    """Whether a number or a tensor's sum is infinite or not a number.

    Raises:
        RuntimeError: it is neither a float nor a tensor.
    """
    if isinstance(grad, float):
        total = grad
    elif isinstance(grad, torch.Tensor):
        total = float(grad.float().sum())
    else:
        raise RuntimeError("Unsupported type.")
    return total != total or total in (float("inf"), -float("inf"))


def get_npu_overflow_flag() -> bool:
    """The overflow register of a first-generation chip; the simulated one never sets it."""
    if is_support_inf_nan():
        raise RuntimeError("Unsupported api when soc_version >= Ascend910B1, please use npu_check_overflow")
    return False


def clear_npu_overflow_flag() -> None:
    """Clear that register."""
    if is_support_inf_nan():
        warnings.warn(
            "When soc_version >= Ascend910B1, clear_npu_overflow_flag is useless. Please remove it.", stacklevel=2
        )


def get_cann_version(module: str = "CANN") -> str:
    """The version of CANN: there is none."""
    return ""


device = DeviceContext
device_of = DeviceOf
_DeferredNpuCallError = DeferredNpuCallError
