from unittest import mock
import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
with mock.patch("torch.cuda.device_count", return_value=2):
    assert torch.cuda.device_count() == 2
