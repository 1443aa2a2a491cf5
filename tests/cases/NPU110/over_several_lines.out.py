import torch
import torch_npu  # noqa: F401

x = (
    torch.zeros(2)
    .npu()  # to the card
    .half()
)
