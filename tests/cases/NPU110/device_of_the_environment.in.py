import os

import torch

PLACES = {"main": os.environ.get("PLACE"), "other": "cuda"}

a = torch.ones(1).cuda(os.environ.setdefault("PLACE", "cuda"))
b = torch.ones(1).cuda((os.environ.get("PLACE") or "cuda:1"))
c = torch.ones(1).cuda(torch.load("places.pt")["here"])
d = torch.ones(1).cuda(torch.load("numbers.pt")["gpu_ids"][0])
