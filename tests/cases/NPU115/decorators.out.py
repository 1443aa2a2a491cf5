from unittest import mock
from unittest.mock import patch

import torch
import torch_npu  # noqa: F401


@mock.patch("torch.npu.is_available", return_value=True)
@patch("torch.npu.current_device", return_value=0)
def test_place(current, available):
    assert torch.npu.is_available() and torch.npu.current_device() == 0
