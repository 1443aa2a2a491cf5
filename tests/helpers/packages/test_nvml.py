"""What takes the place of NVML, on a torch with three made-up cards."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import pytest

from tests.helpers.replacements.common import torch


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module on a ``torch.npu`` with three cards of different sizes."""
    npu = types.SimpleNamespace(
        device_count=lambda: 3,
        get_device_name=lambda index: f"chip {index}",
        mem_get_info=lambda index: (10 + index, 100 + index),
        utilization=lambda index: 7 * index,
    )
    monkeypatch.setattr(torch, "npu", npu, raising=False)
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    monkeypatch.delitem(sys.modules, "npuify.helpers.packages.nvml", raising=False)
    yield importlib.import_module("npuify.helpers.packages.nvml")
    sys.modules.pop("npuify.helpers.packages.nvml", None)


def test_it_asks_torch(nvml: Any) -> None:
    nvml.nvmlInit()
    assert nvml.nvmlDeviceGetCount() == 3
    handle = nvml.nvmlDeviceGetHandleByIndex(2)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert (memory.total, memory.free, memory.used) == (102, 12, 90)
    assert nvml.nvmlDeviceGetUtilizationRates(handle).gpu == 14
    assert nvml.nvmlDeviceGetName(handle) == "chip 2"
    assert nvml.nvmlDeviceGetIndex(handle) == 2
    nvml.nvmlShutdown()


@pytest.mark.parametrize("index", [-1, 3])
def test_a_card_that_is_not_there(nvml: Any, index: int) -> None:
    with pytest.raises(nvml.NVMLError):
        nvml.nvmlDeviceGetHandleByIndex(index)


def test_what_is_not_known_is_an_error(nvml: Any) -> None:
    with pytest.raises(NotImplementedError):
        _ = nvml.nvmlDeviceGetUtilizationRates(0).memory
