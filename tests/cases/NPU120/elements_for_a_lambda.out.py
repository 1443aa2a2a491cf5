import torch
import torch_npu  # noqa: F401

one = next(filter(lambda kind: kind == "npu", ["cpu", "npu"]))
x = torch.ones(2).to(one)
kinds = list(map(lambda kind: kind if kind.startswith("npu") else "cpu", ("cpu", "npu")))
y = torch.ones(2).to(kinds[1])
best = max(["cpu", "npu"], key=lambda kind: kind == "npu")
z = torch.ones(2).to(best)
words = list(filter(lambda word: word == "cuda", "cuda and opencl".split()))
