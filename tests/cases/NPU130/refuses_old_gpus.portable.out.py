import sys

import torch

import compute_device

DEV = compute_device.api


def whole():
    cap = compute_device.api.get_device_capability() or (9, 0)
    if cap[0] < 7:
        raise RuntimeError("compute capability 7.0 or newer is needed")


def direct():
    if (compute_device.api.get_device_capability() or (9, 0)) < (7, 5):
        raise RuntimeError("only supports sm75 and above")


def numbers():
    major, minor = DEV.get_device_capability() or (9, 0)
    if major * 10 + minor < 75:
        sys.exit("only supports sm75 and above")


def asserted():
    assert (compute_device.api.get_device_capability() or (9, 0))[0] >= 8, "needs Ampere"


def behind():
    if (compute_device.api.get_device_capability() or (9, 0)) >= (8, 0):
        return torch.bfloat16
    raise RuntimeError("needs Ampere")


def of_both_kinds():
    major, _ = compute_device.api.get_device_capability()
    if major < 7:
        raise RuntimeError("needs Volta")
    return torch.bfloat16 if major >= 8 else torch.float16


def newer_than_known():
    if compute_device.api.get_device_capability()[0] < 10:
        raise RuntimeError("needs Blackwell")


def exact():
    if (compute_device.api.get_device_capability() or (0, 0)) != (9, 0):
        print("not tuned for this device")


def behind_an_alias():
    return (DEV.get_device_capability() or (0, 0)) >= (8, 9)
