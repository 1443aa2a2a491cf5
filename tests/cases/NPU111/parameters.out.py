import torch
import torch_npu  # noqa: F401


def check(x: torch.Tensor, parameters):
    assert x.is_npu, "needs a card"
    return any(p.is_npu for p in parameters) and not x.grad.is_npu
