# What is sought in a container of devices' types changes with them; what holds other words stays.
import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(2).cuda()
own = ["cuda", "cpu"]
print("cuda" in own)
kinds = {t.device.type for t in (x, x.cpu())}
print(len(kinds - {"cuda"}), kinds & {"cuda"}, {"cuda"} <= kinds, kinds == {"cuda"})
print(kinds.issubset({"cuda"}), {"cuda"}.issubset(kinds), kinds.isdisjoint(["cuda"]))
kinds -= {"cuda"}
kinds.discard("cuda")
listed = [t.device.type for t in (x, x.cpu())]
print(listed == ["cuda", "cpu"], listed.count("cuda"), set(listed) - {"cuda"})
words = {"red", "blue"}
print(len(words - {"cuda"}))
