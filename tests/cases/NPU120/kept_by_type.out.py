from collections import Counter, defaultdict
from itertools import groupby

import torch
import torch_npu  # noqa: F401

x = torch.ones(2).npu()
tensors = (x, x.cpu())
counts = Counter(t.device.type for t in tensors)
print(counts["npu"], counts["cpu"])
groups = defaultdict(list)
for one in tensors:
    groups[one.device.type].append(one)
print(len(groups["npu"]))
of_kind = {t.device.type: t for t in tensors}
print(of_kind["npu"])
by = {kind: len(list(ones)) for kind, ones in groupby(tensors, key=lambda t: t.device.type)}
print(by.get("npu", 0), counts.get("npu"))
sums = {"npu": 0, "cpu": 0}
sums[x.device.type] += 1
print(sums["npu"])
print({"npu": "gpu"}.get(x.device.type, x.device.type))

# Keys of the program's own.
hours = {"cuda": 1, "opencl": 2}
words = Counter("cuda and cuda".split())
own = defaultdict(list)
own["cuda"].append("a")
print(hours["cuda"], words["cuda"], own["cuda"])
