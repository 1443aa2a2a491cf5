from collections import Counter, defaultdict
from itertools import groupby

import torch

import compute_device

x = torch.ones(2).to(compute_device.type)
tensors = (x, x.cpu())
counts = Counter(t.device.type for t in tensors)
print(counts[compute_device.type], counts["cpu"])
groups = defaultdict(list)
for one in tensors:
    groups[one.device.type].append(one)
print(len(groups[compute_device.type]))
of_kind = {t.device.type: t for t in tensors}
print(of_kind[compute_device.type])
by = {kind: len(list(ones)) for kind, ones in groupby(tensors, key=lambda t: t.device.type)}
print(by.get(compute_device.type, 0), counts.get(compute_device.type))
sums = {"cuda": 0, "npu": 0, "cpu": 0}
sums[x.device.type] += 1
print(sums[compute_device.type])
print({compute_device.type: "gpu"}.get(x.device.type, x.device.type))

# Keys of the program's own.
hours = {"cuda": 1, "opencl": 2}
words = Counter("cuda and cuda".split())
own = defaultdict(list)
own["cuda"].append("a")
print(hours["cuda"], words["cuda"], own["cuda"])
