import os

import torch
import torch_npu  # noqa: F401

PLACES = {"main": os.environ.get("PLACE"), "other": "cuda"}

a = torch.ones(1).npu(os.environ.setdefault("PLACE", "npu"))
b = torch.ones(1).npu((os.environ.get("PLACE") or "npu:1"))
c = torch.ones(1).npu(torch.load("places.pt")["here"])
d = torch.ones(1).npu(torch.load("numbers.pt")["gpu_ids"][0])
