import importlib

import torch
import torch_npu  # noqa: F401


def pool_cuda(x):
    return x.max()


def scale_npu(x):
    return x * 3


def scale_cuda(x):
    return x * 2


class Layer:
    def run_cuda(self, x):
        return x * 2

    def run_cpu(self, x):
        return x

    def run(self, x: torch.Tensor, mode: str):
        getattr(self, "run_" + mode)(x)
        name = f"run_{x.device.type.replace('npu', 'cuda')}"
        assert hasattr(self, name)
        return getattr(self, name)(x), getattr(self, f"run_{x.device.type.replace('npu', 'cuda')}")(x)


def pooled(x: torch.Tensor, device: torch.device):
    y = globals()["pool_" + x.device.type.replace("npu", "cuda")](x)
    z = globals()["pool_" + str(device).split(":")[0].replace("npu", "cuda")](x)
    w = globals()["scale_" + x.device.type](x)
    module = getattr(torch, x.device.type)
    return y, z, w, module, importlib.import_module("kernels." + x.device.type)


def asked(x: torch.Tensor, y: torch.Tensor):
    return x.is_npu, getattr(y, f"is_{x.device.type}")
