from unittest import mock
from unittest.mock import patch

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


@mock.patch("torch.cuda.is_available", return_value=True)
@patch("torch.cuda.current_device", return_value=0)
def test_place(current, available):
    assert torch.cuda.is_available() and torch.cuda.current_device() == 0
