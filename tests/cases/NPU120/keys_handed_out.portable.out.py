import torch

import compute_device


def feed(device):
    yield torch.ones(2).to(device)


there = {(compute_device.type): compute_device.api.is_available(), "cpu": True}
first = [kind for kind, usable in (there.items)() if usable][0]
for batch in feed(first):
    print(batch.device.type)

counts = {compute_device.type: 0, "cpu": 0}
for place in sorted(counts):
    counts[place] += torch.ones(1, device=place).numel()

sizes = {"cuda": 1, "cpu": 2}
for place, size in sizes.items():
    print(place, size)
print(sizes["cuda"])

asked = {compute_device.type: 1, "cpu": 2}
for place in asked.keys():
    print(torch.ones(1, device=place))
print(asked[compute_device.type], asked.get(compute_device.type))
