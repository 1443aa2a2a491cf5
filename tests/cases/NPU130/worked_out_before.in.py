import sys

import torch

capable = torch.cuda.get_device_capability() >= (8, 0)
if not capable:
    raise SystemExit("needs Ampere")
there = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 7
if not there:
    sys.exit(1)


def number():
    major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor


if number() < 75:
    raise ValueError("only supports sm75 and above")
name = float(".".join(map(str, torch.cuda.get_device_capability())))
assert name >= 7.0


class Card:
    def __init__(self):
        self.capability = torch.cuda.get_device_capability()
        self.fast = torch.cuda.get_device_capability() >= (8, 0)

    def check(self):
        if self.capability[0] < 7:
            raise RuntimeError("old")


def chooses():
    major, minor = torch.cuda.get_device_capability()
    if major < 7:
        raise RuntimeError("old")
    return torch.bfloat16 if major >= 8 else torch.float16
