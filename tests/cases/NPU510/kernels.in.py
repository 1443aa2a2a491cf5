import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x, y, n, BLOCK: tl.constexpr):
    pass


@triton.autotune(configs=[], key=["n"])
@triton.jit
def _attn_fwd(q, k, v, out, n, BLOCK: tl.constexpr):
    pass


def attention(q, k, v):
    return torch.softmax(q @ k, -1) @ v
