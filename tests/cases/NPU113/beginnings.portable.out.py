import torch

import compute_device

x = torch.zeros(2)
kind = x.type()
print(x.type().startswith(f"torch.{compute_device.type}"), f"torch.{compute_device.type}." in kind, "torch.cuda" in open("notes").read())
print(kind.startswith((f"torch.{compute_device.type}", "torch.xpu")))
