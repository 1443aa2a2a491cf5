"""The project's own things of torch's names: nothing of torch is given what they are given."""

import contextlib

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


@contextlib.contextmanager
def autocast(device_type="cuda", enabled=True):
    print("entering", device_type, enabled)
    yield


class GradScaler:
    def __init__(self, device="cuda", init_scale=2.0):
        self.device = device
        self.init_scale = init_scale

    def scale(self, loss):
        return loss * self.init_scale


def init_process_group(backend, device="cuda"):
    print("joining", backend)


class Sender:
    def to(self, name):
        print("sending to", name)
        return self


def run(x: torch.Tensor):
    init_process_group("nccl", device="cuda")
    scaler = GradScaler("cuda")
    Sender().to("cuda")
    with autocast("cuda"):
        return scaler.scale(torch.ones(2, device=x.device))
