import torch


def hasattr(thing, name):
    return name in dir(thing)


print(hasattr(torch, "cuda"))
