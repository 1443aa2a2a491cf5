import torch
import torch_npu  # noqa: F401


def label(rank, images):
    print("{} on {}".format(len(images), "npu:{}".format(rank)))
    where = "cuda"
    print(where)


def test_version(monkeypatch, thing):
    monkeypatch.setattr(torch.version, "cuda", "13.2")
    setattr(thing, "device", "npu")


def join(kind, number):
    return torch.device("{}:{}".format("npu", number))
