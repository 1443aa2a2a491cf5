import torch
import torch as t
import numpy


def run(x):
    x = t.npu_format_cast(x, 2)
    y = torch.ops.npu.npu_format_cast(x, 29)
    kept = {"torch.npu_format_cast": torch.npu}
    return y, torch.npu_of_nobody(x), kept
