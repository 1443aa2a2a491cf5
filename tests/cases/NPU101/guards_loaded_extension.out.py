import os

import torch
import torch_npu  # noqa: F401
from torch.utils.cpp_extension import load

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

if torch.npu.is_available():
    settings = load("more", [os.path.join(here, "more.cpp")])


def run(x):
    if not x.is_npu:
        return cpu.forward(x)
    return gpu.forward(x.npu())
