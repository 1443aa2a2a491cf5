"""Names at the top of torch_npu, and its few loose ends."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any

import torch

ORG_AUTOLOAD = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
unsupported_dtype = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]


class Format(IntEnum):
    """Layouts of the real chip's memory; tensors here are always ND."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51
    FRACTAL_NZ_C0_2 = 52
    FRACTAL_NZ_C0_4 = 53
    FRACTAL_NZ_C0_8 = 54

    def __str__(self) -> str:
        return self.name


def get_npu_format(tensor: torch.Tensor) -> Format:
    """How a tensor lies in the device's memory: always as ND here.

    Raises:
        NotImplementedError: it is no NPU tensor.
    """
    if not tensor.is_npu:
        raise NotImplementedError(
            f"Could not run 'npu::get_npu_format' with arguments from the '{tensor.device.type.upper()}' backend. "
            "(simulated by npuify)"
        )
    return Format.ND


def _erase_stream(tensor: Any, stream: Any) -> None:
    from npuify.simulator.api import streams

    streams._erase_stream(tensor, stream)


erase_stream = _erase_stream


def reset_thread_affinity() -> None:
    """Threads run where the host puts them."""


def set_thread_affinity(core_range: Any = None) -> None:
    """Threads run where the host puts them."""


def save_async(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Saves at once."""
    kwargs.pop("model", None)
    torch.save(obj, f, *args, **kwargs)
