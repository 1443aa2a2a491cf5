import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def only_here(x: torch.Tensor):
    if x.device.type == "cuda":
        raise NotImplementedError("there is no kernel for CUDA")
    return x


def never_here(x: torch.Tensor):
    assert x.device.type != "cuda", "there is no kernel for CUDA"
    return x


def with_more(x: torch.Tensor, is_built: bool):
    if x.device.type == "cuda" and not is_built:
        raise ImportError("the extension is missing")
    return x
