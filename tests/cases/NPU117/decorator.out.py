import torch

lib = torch.library.Library("mine", "IMPL")


@torch.library.impl(lib, "scale", "PrivateUse1")
def scale(x):
    return x * 2
