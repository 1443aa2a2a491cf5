from unittest import mock

import torch

import compute_device


def test_without_a_card(launch):
    with mock.patch.multiple(f"torch.{compute_device.type}", is_available=lambda: False, device_count=lambda: 0):
        assert not compute_device.api.is_available()
    with launch.multiple("torch.cuda"):
        pass
