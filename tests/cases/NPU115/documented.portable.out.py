from unittest import mock
import torch

import compute_device

with mock.patch(f"torch.{compute_device.type}.device_count", return_value=2):
    assert compute_device.api.device_count() == 2
