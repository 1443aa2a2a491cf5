# What tensors say of their devices, kept in a container or taken apart, and sought there.
import torch

x = torch.ones(2).cuda()
kinds = [t.device.type for t in (x, x.cpu())]
print(kinds[0] == "cuda", [one for one in kinds if one != "cuda"])
texts = [str(t.device) for t in (x, x.cpu())]
print([one for one in texts if "cuda" in one], any(one.startswith("cuda") for one in texts))
kind, _, number = str(x.device).partition(":")
print(kind == "cuda")
