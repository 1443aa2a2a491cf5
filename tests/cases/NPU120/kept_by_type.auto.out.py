from collections import Counter, defaultdict
from itertools import groupby

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(2).cuda()
tensors = (x, x.cpu())
counts = Counter(t.device.type for t in tensors)
print(counts["cuda"], counts["cpu"])
groups = defaultdict(list)
for one in tensors:
    groups[one.device.type].append(one)
print(len(groups["cuda"]))
of_kind = {t.device.type: t for t in tensors}
print(of_kind["cuda"])
by = {kind: len(list(ones)) for kind, ones in groupby(tensors, key=lambda t: t.device.type)}
print(by.get("cuda", 0), counts.get("cuda"))
sums = {"cuda": 0, "npu": 0, "cpu": 0}
sums[x.device.type] += 1
print(sums["cuda"])
print({"cuda": "gpu", "npu": "gpu"}.get(x.device.type, x.device.type))

# Keys of the program's own.
hours = {"cuda": 1, "opencl": 2}
words = Counter("cuda and cuda".split())
own = defaultdict(list)
own["cuda"].append("a")
print(hours["cuda"], words["cuda"], own["cuda"])
