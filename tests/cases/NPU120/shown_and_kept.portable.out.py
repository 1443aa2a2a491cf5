import torch

import compute_device


def label(rank, images):
    print("{} on {}".format(len(images), f"{compute_device.type}:{{}}".format(rank)))
    where = "cuda"
    print(where)


def test_version(monkeypatch, thing):
    monkeypatch.setattr(torch.version, "cuda", "13.2")
    setattr(thing, "device", compute_device.type)


def join(kind, number):
    return torch.device("{}:{}".format(compute_device.type, number))
