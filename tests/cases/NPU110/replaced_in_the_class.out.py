import torch
import torch_npu  # noqa: F401


class Fake:
    pass


def quiet(fake):
    torch.Tensor.npu = lambda self, *_: self
    torch.nn.Module.npu = torch.nn.Module.cpu
    fake.cuda = lambda: fake
    Fake.cuda = lambda self: self
