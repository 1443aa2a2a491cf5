import torch

import compute_device

one = next(filter(lambda kind: kind == compute_device.type, ["cpu", compute_device.type]))
x = torch.ones(2).to(one)
kinds = list(map(lambda kind: kind if kind.startswith(compute_device.type) else "cpu", ("cpu", compute_device.type)))
y = torch.ones(2).to(kinds[1])
best = max(["cpu", compute_device.type], key=lambda kind: kind == compute_device.type)
z = torch.ones(2).to(best)
words = list(filter(lambda word: word == "cuda", "cuda and opencl".split()))
