import torch


def label(rank, images):
    print("{} on {}".format(len(images), "cuda:{}".format(rank)))
    where = "cuda"
    print(where)


def test_version(monkeypatch, thing):
    monkeypatch.setattr(torch.version, "cuda", "13.2")
    setattr(thing, "device", "cuda")


def join(kind, number):
    return torch.device("{}:{}".format("cuda", number))
