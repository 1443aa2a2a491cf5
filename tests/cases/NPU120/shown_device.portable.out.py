import torch

import compute_device


def show(x, index):
    print("{} on {}".format(x.shape, f"{compute_device.type}:{{}}".format(index)))
    print("running on cuda")
    print("torch {}".format(torch.__version__))
