import torch
import torch_npu

NAME = "npu_fast_gelu"


def run(x, other):
    op = "npu_gelu" if other else "npu_fast_gelu"
    return getattr(torch_npu, NAME)(x) + getattr(torch_npu, op)(x)


def kept(x, op="npu_fast_gelu"):
    missing = "npu_no_such_operator"
    return getattr(torch, missing)(x), getattr(x, missing)
