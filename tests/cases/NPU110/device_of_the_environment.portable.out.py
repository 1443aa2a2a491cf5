import os

import torch

import compute_device

PLACES = {"main": os.environ.get("PLACE"), "other": "cuda"}

a = torch.ones(1).to(compute_device.get(os.environ.setdefault("PLACE", compute_device.type)))
b = torch.ones(1).to(compute_device.get(os.environ.get("PLACE") or f"{compute_device.type}:1"))
c = torch.ones(1).to(compute_device.get(torch.load("places.pt")["here"]))
d = torch.ones(1).to(compute_device.get(torch.load("numbers.pt")["gpu_ids"][0]))
