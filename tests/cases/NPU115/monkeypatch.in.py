import torch


def test_count(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert torch.cuda.device_count() == 2
