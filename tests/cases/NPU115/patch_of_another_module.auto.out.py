from unittest import mock

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

with mock.patch("numba.cuda.is_available", return_value=True), mock.patch("mine.torch.cuda"):
    pass
