import torch

lib = torch.library.Library("mine", "IMPL")


@torch.library.impl(lib, "scale", "CUDA")
def scale(x):
    return x * 2
