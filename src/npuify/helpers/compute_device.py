"""The helper module that the portable style writes into a project."""

from __future__ import annotations

import re
from typing import Final

from npuify.language import ENGLISH, spoken

MARK: Final = b"npuify: ignore-file - the helper of `npuify migrate --style portable`"
"""Stands in the helper's first line, by which it is known again."""
NAMES: Final = ("compute_device", "torch_compute_device", "npuify_device")
"""Names for the module, in the order in which they are tried."""

# That device_count() asks the driver, and is_available() the runtime, stands in torch_npu/npu/__init__.py of 2.14.0 (in
# 2.1.0.post17 both ask the driver); that the runtime reads the variable once, when it starts, in CANN's runtime.cc.
TEXT: Final = '''\
# {mark}
"""The device that this project computes on: an Ascend NPU where torch_npu finds one, else CUDA.

Nothing changes on machines with CUDA or with a CPU only: there, ``api`` is torch.cuda.
"""

import torch

try:
    import torch_npu  # it adds torch.npu
except ImportError:
    torch_npu = None

# is_available() would start the runtime, which reads ASCEND_RT_VISIBLE_DEVICES once: a program may still set it.
type = "npu" if hasattr(torch, "npu") and torch.npu.device_count() else "cuda"  # noqa: A001
"""The type of the device, as torch.device takes it."""

api = getattr(torch, type)
"""torch.npu or torch.cuda, which have the same functions."""

dist_backend = "hccl" if type == "npu" else "nccl"
"""What torch.distributed communicates with between such devices."""

library = torch_npu if type == "npu" else torch
"""torch_npu or torch: what both have beside the device's functions, such as profiler."""

autocast = api.amp.autocast
GradScaler = api.amp.GradScaler


def get(index=None):
    """The device with this number, or the current one; what is a device or its name already stays what it is."""
    if index is None:
        return torch.device(type)
    return torch.device(type, index) if isinstance(index, int) else torch.device(index)


def __getattr__(name):
    """Every other name, such as Event or synchronize, is that of torch.npu or torch.cuda."""
    return getattr(api, name)
'''


def text() -> bytes:
    """The helper's content, its comments in the user's language."""
    made = TEXT.format(mark=MARK.decode())
    if spoken() != ENGLISH:
        from npuify.language.code import code_in_language

        made = code_in_language(made)
    return made.encode()


def is_helper(raw: bytes) -> bool:
    """Whether a file is a helper that an earlier run wrote."""
    return MARK in raw[:200]


def own_names() -> frozenset[str]:
    """The names that the module binds itself."""
    return frozenset(re.findall(r"^(?:def )?([a-zA-Z]\w*)(?: =|\()", TEXT, re.MULTILINE))
