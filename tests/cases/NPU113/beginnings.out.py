import torch

x = torch.zeros(2)
kind = x.type()
print(x.type().startswith("torch.npu"), "torch.npu." in kind, "torch.cuda" in open("notes").read())
print(kind.startswith(("torch.npu", "torch.xpu")))
