import os

import torch
from torch.utils.cpp_extension import load

import compute_device

here = os.path.dirname(os.path.realpath(__file__))
cpu = load("mask_cpu", [os.path.join(here, "mask.cpp")])
if torch.cuda.is_available():
    gpu = load(
        "mask_gpu",
        [
            os.path.join(here, "operator.cpp"),
            os.path.join(here, "mask_cuda.cu"),
        ],
        build_directory=here,
    )

if compute_device.api.is_available():
    settings = load("more", [os.path.join(here, "more.cpp")])


def run(x):
    if not x.device.type == compute_device.type:
        return cpu.forward(x)
    return gpu.forward(x.to(compute_device.type))
