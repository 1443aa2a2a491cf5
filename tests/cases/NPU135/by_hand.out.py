import torch
import torch_npu  # noqa: F401
from torch import set_default_tensor_type


def start(options):
    set_default_tensor_type("torch.cuda.FloatTensor")
    before = torch.set_default_tensor_type(torch.cuda.FloatTensor)
    torch.set_default_tensor_type(torch.cuda.FloatTensor if options.gpu else torch.DoubleTensor)
    torch.set_default_tensor_type(torch.cuda.IntTensor)
    return before


def by_a_name(options):
    kind = torch.npu.FloatTensor if options.gpu else torch.FloatTensor
    torch.set_default_tensor_type(kind)
    torch.set_default_tensor_type(options.kind)
    plain = torch.DoubleTensor
    torch.set_default_tensor_type(plain)
