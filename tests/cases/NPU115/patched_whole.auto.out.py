from unittest import mock

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def test_without_a_card(launch):
    with mock.patch.multiple("torch.cuda", is_available=lambda: False, device_count=lambda: 0):
        assert not torch.cuda.is_available()
    with launch.multiple("torch.cuda"):
        pass
