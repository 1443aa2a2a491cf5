# What is sought in a container of devices' types changes with them; what holds other words stays.
import torch
import torch_npu  # noqa: F401

x = torch.ones(2).npu()
own = ["npu", "cpu"]
print("npu" in own)
kinds = {t.device.type for t in (x, x.cpu())}
print(len(kinds - {"npu"}), kinds & {"npu"}, {"npu"} <= kinds, kinds == {"npu"})
print(kinds.issubset({"npu"}), {"npu"}.issubset(kinds), kinds.isdisjoint(["npu"]))
kinds -= {"npu"}
kinds.discard("npu")
listed = [t.device.type for t in (x, x.cpu())]
print(listed == ["npu", "cpu"], listed.count("npu"), set(listed) - {"npu"})
words = {"red", "blue"}
print(len(words - {"cuda"}))
