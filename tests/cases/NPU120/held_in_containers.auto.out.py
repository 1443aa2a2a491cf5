# What tensors say of their devices, kept in a container or taken apart, and sought there.
import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(2).cuda()
kinds = [t.device.type for t in (x, x.cpu())]
print(kinds[0] in ("cuda", "npu"), [one for one in kinds if one not in ("cuda", "npu")])
texts = [str(t.device) for t in (x, x.cpu())]
print([one for one in texts if any(kind in one for kind in ("cuda", "npu"))], any(one.startswith(("cuda", "npu")) for one in texts))
kind, _, number = str(x.device).partition(":")
print(kind in ("cuda", "npu"))
