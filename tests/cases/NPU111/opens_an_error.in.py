import torch


def only_here(x: torch.Tensor):
    if x.is_cuda:
        raise NotImplementedError("there is no kernel for CUDA")
    return x
