import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Fake:
    pass


def quiet(fake):
    torch.Tensor.cuda = lambda self, *_: self
    torch.nn.Module.cuda = torch.nn.Module.cpu
    fake.cuda = lambda: fake
    Fake.cuda = lambda self: self
