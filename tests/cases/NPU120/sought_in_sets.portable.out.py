# What is sought in a container of devices' types changes with them; what holds other words stays.
import torch

import compute_device

x = torch.ones(2).to(compute_device.type)
own = [compute_device.type, "cpu"]
print(compute_device.type in own)
kinds = {t.device.type for t in (x, x.cpu())}
print(len(kinds - {compute_device.type}), kinds & {compute_device.type}, {compute_device.type} <= kinds, kinds == {compute_device.type})
print(kinds.issubset({compute_device.type}), {compute_device.type}.issubset(kinds), kinds.isdisjoint([compute_device.type]))
kinds -= {compute_device.type}
kinds.discard(compute_device.type)
listed = [t.device.type for t in (x, x.cpu())]
print(listed == [compute_device.type, "cpu"], listed.count(compute_device.type), set(listed) - {compute_device.type})
words = {"red", "blue"}
print(len(words - {"cuda"}))
