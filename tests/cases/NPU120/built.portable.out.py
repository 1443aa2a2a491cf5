import torch

import compute_device


def device(rank):
    first = torch.device(f"{compute_device.type}:{rank}")
    second = f"{compute_device.type}:%d" % rank
    third = f"{compute_device.type}:{{}}".format(rank)
    fourth = torch.device(f"{compute_device.type}:" + str(rank))
    fifth = torch.device(f"{compute_device.type}")
    print(f"rank {rank} runs on cuda:{rank}")
    return first, second, third, fourth, fifth
