import torch

one = next(filter(lambda kind: kind == "cuda", ["cpu", "cuda"]))
x = torch.ones(2).to(one)
kinds = list(map(lambda kind: kind if kind.startswith("cuda") else "cpu", ("cpu", "cuda")))
y = torch.ones(2).to(kinds[1])
best = max(["cpu", "cuda"], key=lambda kind: kind == "cuda")
z = torch.ones(2).to(best)
words = list(filter(lambda word: word == "cuda", "cuda and opencl".split()))
