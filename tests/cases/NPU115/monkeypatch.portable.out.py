import torch

import compute_device


def test_count(monkeypatch):
    monkeypatch.setattr(f"torch.{compute_device.type}.device_count", lambda: 2)
    assert compute_device.api.device_count() == 2
