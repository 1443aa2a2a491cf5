import sys

import torch

DEV = torch.cuda


def whole():
    cap = torch.cuda.get_device_capability()
    if cap[0] < 7:
        raise RuntimeError("compute capability 7.0 or newer is needed")


def direct():
    if torch.cuda.get_device_capability() < (7, 5):
        raise RuntimeError("only supports sm75 and above")


def numbers():
    major, minor = DEV.get_device_capability()
    if major * 10 + minor < 75:
        sys.exit("only supports sm75 and above")


def asserted():
    assert torch.cuda.get_device_capability()[0] >= 8, "needs Ampere"


def behind():
    if torch.cuda.get_device_capability() >= (8, 0):
        return torch.bfloat16
    raise RuntimeError("needs Ampere")


def of_both_kinds():
    major, _ = torch.cuda.get_device_capability()
    if major < 7:
        raise RuntimeError("needs Volta")
    return torch.bfloat16 if major >= 8 else torch.float16


def newer_than_known():
    if torch.cuda.get_device_capability()[0] < 10:
        raise RuntimeError("needs Blackwell")


def exact():
    if torch.cuda.get_device_capability() != (9, 0):
        print("not tuned for this device")


def behind_an_alias():
    return DEV.get_device_capability() >= (8, 9)
