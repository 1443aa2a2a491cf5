import torch
import torch_npu  # noqa: F401


class Options:
    __slots__ = ("device",)

    def __init__(self):
        self.device = "npu"

    def __getitem__(self, key):
        return getattr(self, key)


class Plain:
    def __init__(self):
        self.device = "cuda"

    def length(self):
        return len(self.device)


x = torch.ones(2).to(Options()["device"])
print(Plain().length())
