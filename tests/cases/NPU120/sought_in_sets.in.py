# What is sought in a container of devices' types changes with them; what holds other words stays.
import torch

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
