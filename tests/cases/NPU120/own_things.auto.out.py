import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def autocast(device_type="cuda"):
    return device_type


class GradScaler:
    def __init__(self, device="cuda"):
        self.device = device


class Shelf:
    def to(self, where):
        self.where = where
        return self


def init_process_group(backend):
    print("own", backend)


Shelf().to("cuda")
init_process_group("nccl")
print('def f(default="cuda"):')
autocast("cuda")
GradScaler("cuda")
GradScaler(device="cuda")
if __name__ == "__main__":
    print(torch.ones(2, device="cuda"))
