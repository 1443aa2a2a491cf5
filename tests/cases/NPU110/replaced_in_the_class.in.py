import torch


class Fake:
    pass


def quiet(fake):
    torch.Tensor.cuda = lambda self, *_: self
    torch.nn.Module.cuda = torch.nn.Module.cpu
    fake.cuda = lambda: fake
    Fake.cuda = lambda self: self
