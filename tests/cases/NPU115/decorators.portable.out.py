from unittest import mock
from unittest.mock import patch

import torch

import compute_device


@mock.patch(f"torch.{compute_device.type}.is_available", return_value=True)
@patch(f"torch.{compute_device.type}.current_device", return_value=0)
def test_place(current, available):
    assert compute_device.api.is_available() and compute_device.api.current_device() == 0
