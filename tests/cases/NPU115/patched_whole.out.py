from unittest import mock

import torch
import torch_npu  # noqa: F401


def test_without_a_card(launch):
    with mock.patch.multiple("torch.npu", is_available=lambda: False, device_count=lambda: 0):
        assert not torch.npu.is_available()
    with launch.multiple("torch.cuda"):
        pass
