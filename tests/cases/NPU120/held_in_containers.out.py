# What tensors say of their devices, kept in a container or taken apart, and sought there.
import torch
import torch_npu  # noqa: F401

x = torch.ones(2).npu()
kinds = [t.device.type for t in (x, x.cpu())]
print(kinds[0] == "npu", [one for one in kinds if one != "npu"])
texts = [str(t.device) for t in (x, x.cpu())]
print([one for one in texts if "npu" in one], any(one.startswith("npu") for one in texts))
kind, _, number = str(x.device).partition(":")
print(kind == "npu")
