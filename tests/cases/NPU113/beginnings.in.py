import torch

x = torch.zeros(2)
kind = x.type()
print(x.type().startswith("torch.cuda"), "torch.cuda." in kind, "torch.cuda" in open("notes").read())
print(kind.startswith(("torch.cuda", "torch.xpu")))
