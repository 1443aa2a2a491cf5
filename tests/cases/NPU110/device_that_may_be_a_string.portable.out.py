import os

import torch

import compute_device


def move(value, device):
    if isinstance(value, (list, tuple)):
        return [move(one, device) for one in value]
    return value.to(compute_device.get(device))


if __name__ == "__main__":
    print(move(torch.ones(3), os.environ.get("MY_DEVICE", compute_device.type)))
    print(torch.ones(3).to(compute_device.get(int(os.environ.get("INDEX", "0")))))
