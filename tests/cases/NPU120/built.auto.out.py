import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def device(rank):
    first = torch.device(f"cuda:{rank}")
    second = "cuda:%d" % rank
    third = "cuda:{}".format(rank)
    fourth = torch.device("cuda:" + str(rank))
    fifth = torch.device(f"cuda")
    print(f"rank {rank} runs on cuda:{rank}")
    return first, second, third, fourth, fifth
