import torch
import torch_npu  # noqa: F401


def test_count(monkeypatch):
    monkeypatch.setattr("torch.npu.device_count", lambda: 2)
    assert torch.npu.device_count() == 2
