import torch
import torch_npu  # noqa: F401


def device(rank):
    first = torch.device(f"npu:{rank}")
    second = "npu:%d" % rank
    third = "npu:{}".format(rank)
    fourth = torch.device("npu:" + str(rank))
    fifth = torch.device(f"npu")
    print(f"rank {rank} runs on cuda:{rank}")
    return first, second, third, fourth, fifth
