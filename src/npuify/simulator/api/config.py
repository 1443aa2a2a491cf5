"""Switches of the real runtime. They are kept and given back; they change nothing here."""

from __future__ import annotations

import os
import warnings
from enum import IntEnum
from pathlib import Path
from typing import Any

import torch

from npuify.simulator import state
from npuify.simulator.api import devices

_options: dict[str, str] = {}
_CHOICES: dict[str, tuple[str, ...]] = {
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_performance", "high_precision"),
    "ACL_OP_DEBUG_LEVEL": ("0", "1", "2", "3", "4"),
    "ACL_OP_COMPILER_CACHE_MODE": ("disable", "enable", "force"),
}
"""Options of which torch_npu checks the value (read from torch_npu/npu/npu_config.py)."""

_nd = {"mm": True}
_sync_mode = {"mode": 0}
_queue = {"mode": 1}


def set_option(option: dict[str, Any]) -> None:
    """Set options of the real compiler.

    Raises:
        TypeError: ``option`` is no dict.
        ValueError: torch_npu does not allow that value.
    """
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")
    for name, value in option.items():
        allowed = _CHOICES.get(name)
        if allowed is not None and str(value) not in allowed:
            raise ValueError(f"value of {name} should be in {list(allowed)} but got {value}")
        _options[name] = str(value)
    if "MM_BMM_ND_ENABLE" in option:
        set_mm_bmm_format_nd(option["MM_BMM_ND_ENABLE"] == "enable")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Whether operators would be compiled as they are met."""
    _options["jitCompile"] = "enable" if jit_compile else "disable"


def is_jit_compile_false() -> bool:
    """Whether operators are taken from binaries."""
    return _options.get("jitCompile", "disable") == "disable"


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Whether matrix products keep the plain format."""
    _nd["mm"] = bool(is_nd)


def get_mm_bmm_format_nd() -> bool:
    """Whether matrix products keep the plain format."""
    return _nd["mm"]


def set_aoe(dump_path: str) -> None:
    """Where the real tuner would write."""
    Path(dump_path).mkdir(parents=True, exist_ok=True)


def init_dump() -> None:
    """Dumping is a thing of the real runtime."""


def set_dump(cfg_file: str) -> None:
    """Dumping is a thing of the real runtime. Raises AssertionError where there is no such file."""
    if not os.path.exists(cfg_file):  # noqa: PTH110 - what torch_npu asks
        raise AssertionError(f"cfg_file {cfg_file} path does not exists.")


def finalize_dump() -> None:
    """Dumping is a thing of the real runtime."""


class _CubeMathType(IntEnum):
    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4
    USE_FP32_ADD = 4


class _Switch:
    """``torch.npu.matmul`` and ``torch.npu.conv``."""

    def __init__(self, allow_hf32: bool) -> None:
        self.__dict__["allow_hf32"] = allow_hf32
        self.__dict__["cube_math_type"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_hf32" and not isinstance(value, bool):
            raise TypeError(f"allow_hf32 must be a bool, but got {type(value).__name__}")
        if name in self.__dict__:
            self.__dict__[name] = value


class _npuConfig:  # noqa: N801 - its name in torch_npu
    """``torch.npu.config``: ``allow_internal_format`` can be set there, and not be read."""

    def __setattr__(self, name: str, value: Any) -> None:
        pass


class NPUFFTPlanCache:
    """``torch.npu.backends.fft_plan_cache``, in which nothing is kept here."""

    def __getattr__(self, name: str) -> int:
        if name == "size":
            return 0
        if name == "max_size":
            return _plans["max_size"]
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "size":
            raise RuntimeError(".size is a read-only property showing the number of plans currently in the cache.")
        if name != "max_size":
            raise AttributeError("Unknown attribute " + name)
        if not 1 <= value <= 99:
            raise RuntimeError("invalid value of cache_size, expected 1 to 99")
        _plans["max_size"] = value

    def clear(self) -> None:
        """Forget the plans."""


_plans = {"max_size": 10}
fft_plan_cache = NPUFFTPlanCache()
config = _npuConfig()
matmul = _Switch(allow_hf32=False)
conv = _Switch(allow_hf32=True)
CubeMathType = _CubeMathType


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """0 or default, 1 or warn, 2 or error; kept and given back.

    Raises:
        RuntimeError: it is none of these.
    """
    names = {"default": 0, "warn": 1, "error": 2}
    mode = names.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    _sync_mode["mode"] = mode


def get_sync_debug_mode() -> int:
    """What :func:`set_sync_debug_mode` set."""
    return _sync_mode["mode"]


def set_task_queue_enable(mode: int) -> None:
    """How the real runtime would queue operators; kept and given back."""
    _queue["mode"] = int(mode)


def get_task_queue_enable() -> int:
    """What :func:`set_task_queue_enable` set."""
    return _queue["mode"]


def set_deterministic_level(level: int) -> None:
    """How deterministic the real kernels would be."""


def enable_deterministic_with_backward(tensor: Any) -> Any:
    """Gives back what it gets; the real one makes the forward deterministic from here on."""
    return tensor


def disable_deterministic_with_backward(tensor: Any) -> Any:
    """Gives back what it gets."""
    return tensor


def use_compatible_impl(is_enable: bool) -> None:
    """Whether kernels that agree with another vendor's would be used."""
    _options["compatible"] = "1" if is_enable else "0"


def are_compatible_impl_enabled() -> bool:
    """What :func:`use_compatible_impl` set."""
    return _options.get("compatible") == "1"


_sdp = torch.backends.cuda
"""Where PyTorch keeps which attention kernels may be used: the same switches, as there."""


def enable_flash_sdp(enabled: bool) -> None:
    """Whether that kernel may be used."""
    _sdp.enable_flash_sdp(enabled)


def flash_sdp_enabled() -> bool:
    """What was set."""
    return bool(_sdp.flash_sdp_enabled())


def enable_math_sdp(enabled: bool) -> None:
    """Whether that kernel may be used."""
    _sdp.enable_math_sdp(enabled)


def math_sdp_enabled() -> bool:
    """What was set."""
    return bool(_sdp.math_sdp_enabled())


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Whether that kernel may be used."""
    _sdp.enable_mem_efficient_sdp(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What was set."""
    return bool(_sdp.mem_efficient_sdp_enabled())


class sdp_kernel:  # noqa: N801 - its name in torch_npu
    """Which attention kernels may be used inside the block."""

    def __init__(self, enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True) -> None:
        self._wanted = (enable_flash, enable_math, enable_mem_efficient)

    def __enter__(self) -> None:
        self._before = (flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled())
        self._set(self._wanted)

    def __exit__(self, *error: object) -> None:
        self._set(self._before)

    @staticmethod
    def _set(wanted: tuple[bool, bool, bool]) -> None:
        for enable, value in zip((enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp), wanted, strict=True):
            enable(value)


def preferred_linalg_library(backend: Any = None) -> Any:
    """Only CUDA has a choice of libraries."""
    warnings.warn("preferred_linalg_library does nothing on an NPU", stacklevel=2)


def get_device_limit(device: int) -> dict[str, int]:
    """Cores of a device."""
    index = devices._checked(device)
    return dict(
        _limits.get(index) or {"cube_core_num": state.soc["cube_cores"], "vector_core_num": state.soc["vector_cores"]}
    )


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """Use only so many cores; kept and given back."""
    limits = get_device_limit(device)
    if cube_num != -1:
        limits["cube_core_num"] = cube_num
    if vector_num != -1:
        limits["vector_core_num"] = vector_num
    _limits[device] = limits


_limits: dict[int, dict[str, int]] = {}
