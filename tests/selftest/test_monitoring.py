"""The questions of the module in NVML's place find what cannot be true."""

from __future__ import annotations

import sys
import types

import pytest

from npuify.selftest.inside.questions.monitoring import NAMES, holds
from tests.helpers.replacements.common import torch


def _cards(monkeypatch: pytest.MonkeyPatch, count: int = 2, name: str = "chip", load: int = 7) -> None:
    npu = types.SimpleNamespace(
        device_count=lambda: count, get_device_name=lambda index: name, utilization=lambda index: load
    )
    monkeypatch.setattr(torch, "npu", npu, raising=False)
    module = types.ModuleType("torch_npu")
    module.__version__ = "2.13.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_npu", module)
    monkeypatch.delitem(sys.modules, "npuify.helpers.packages.nvml", raising=False)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"nvmlDeviceGetMemoryInfo"}))
def test_what_can_be_true_holds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _cards(monkeypatch)
    assert holds(name)


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("nvmlDeviceGetCount", {"count": 0}),
        ("nvmlDeviceGetName", {"name": ""}),
        ("nvmlDeviceGetUtilizationRates", {"load": 700}),
    ],
)
def test_what_cannot_be_true_does_not(name: str, lie: dict[str, int | str], monkeypatch: pytest.MonkeyPatch) -> None:
    _cards(monkeypatch, **lie)  # type: ignore[arg-type]
    assert not holds(name)
