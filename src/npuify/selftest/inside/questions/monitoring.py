"""The module in NVML's place: what it says of a card, against what is true of the card whatever else runs on it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, is_stand_in, kernels_missing

_HELD = 64 << 20
"""Bytes that are taken on the card while it is asked for its memory."""


def _nothing(function: str) -> Callable[[Any], bool]:
    """A function that has nothing to do can be called."""
    return lambda nvml: getattr(nvml, function)() is None


def _count(nvml: Any) -> bool:
    import torch

    return bool(nvml.nvmlDeviceGetCount() == torch.npu.device_count() > 0)


def _handle(nvml: Any) -> bool:
    for index in range(nvml.nvmlDeviceGetCount()):
        nvml.nvmlDeviceGetHandleByIndex(index)
    return True


def _refused(nvml: Any) -> bool:
    for index in (-1, nvml.nvmlDeviceGetCount()):
        try:
            nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError:
            continue
        return False
    return True


def _index(nvml: Any) -> bool:
    return all(
        nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByIndex(index)) == index
        for index in range(nvml.nvmlDeviceGetCount())
    )


def _name(nvml: Any) -> bool:
    name = nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(0))
    return isinstance(name, str) and bool(name.strip())


def _memory(nvml: Any) -> bool:
    import torch

    held = torch.zeros(_HELD, dtype=torch.uint8, device="npu:0")
    found = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(0))
    return bool(found.used >= held.numel() and found.free >= 0 and found.used + found.free == found.total)


def _load(nvml: Any) -> bool:
    rates = nvml.nvmlDeviceGetUtilizationRates(nvml.nvmlDeviceGetHandleByIndex(0))
    try:
        _ = rates.memory
    except NotImplementedError:
        return 0 <= rates.gpu <= 100
    return False


NAMES: dict[str, Callable[[Any], bool]] = {
    "nvmlInit": _nothing("nvmlInit"),
    "nvmlShutdown": _nothing("nvmlShutdown"),
    "nvmlDeviceGetCount": _count,
    "nvmlDeviceGetHandleByIndex": _handle,
    "NVMLError": _refused,
    "nvmlDeviceGetIndex": _index,
    "nvmlDeviceGetName": _name,
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetUtilizationRates": _load,
}
"""Name of the module → whether what it answers can be true."""


def holds(name: str) -> bool:
    """Whether what a name of the module answers can be true.

    Args:
        name: as in :data:`NAMES`.
    """
    nvml = importlib.import_module("npuify.helpers.packages.nvml")
    if is_stand_in() and name in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetUtilizationRates"):
        raise CannotAsk("there is no driver here")
    try:
        return NAMES[name](nvml)
    except Exception as error:
        if kernels_missing(error):
            raise CannotAsk("there is no kernel here") from None
        raise
