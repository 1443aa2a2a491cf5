import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from cuda.core import Stream


def wrap(stream: Stream):
    return stream.handle, torch.Stream
