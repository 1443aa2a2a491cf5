import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def test_count(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert torch.cuda.device_count() == 2
