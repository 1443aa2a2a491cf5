import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.zeros(2)
kind = x.type()
print(x.type().startswith("torch.npu"), "torch.npu." in kind, "torch.cuda" in open("notes").read())
print(kind.startswith(("torch.npu", "torch.xpu")))
