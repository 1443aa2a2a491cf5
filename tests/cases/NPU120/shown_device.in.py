import torch


def show(x, index):
    print("{} on {}".format(x.shape, "cuda:{}".format(index)))
    print("running on cuda")
    print("torch {}".format(torch.__version__))
