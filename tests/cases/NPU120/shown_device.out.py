import torch
import torch_npu  # noqa: F401


def show(x, index):
    print("{} on {}".format(x.shape, "npu:{}".format(index)))
    print("running on cuda")
    print("torch {}".format(torch.__version__))
