import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def show(x, index):
    print("{} on {}".format(x.shape, "cuda:{}".format(index)))
    print("running on cuda")
    print("torch {}".format(torch.__version__))
