# mypy: ignore-errors
"""Activations of language models that write into a given tensor: SwiGLU (silu and mul), GeGLU, GELU's short forms.

Any floating type; inside the activation float32, as in the kernels, whose results are rounded before the product. They
have no backward pass and are made for inference; elementwise.
"""

import torch
from torch.nn import functional


def _gated(out, activated, input):
    gate, up = input.chunk(2, -1)
    out.copy_((activated(gate.float()).to(input.dtype) * up).reshape(out.shape))


def silu_and_mul(out, input):
    """``silu(gate) * up`` of (…, 2 d), whose first half is the gate."""
    _gated(out, functional.silu, input)


def gelu_and_mul(out, input):
    _gated(out, functional.gelu, input)


def gelu_tanh_and_mul(out, input):
    _gated(out, lambda gate: functional.gelu(gate, approximate="tanh"), input)


def gelu_new(out, input):
    """The form of GPT-2, rounded to the type of the input where the kernel rounds."""
    inner = input + (0.044715 * (input * input * input).float()).to(input.dtype)
    bent = torch.tanh((0.79788456 * inner.float()).to(input.dtype).float()).to(input.dtype)
    out.copy_(0.5 * input * (1 + bent))


def gelu_fast(out, input):
    """The same function in another order of products."""
    wide = input.float()
    inner = (wide * 0.79788456).to(input.dtype) * (1 + (0.044715 * wide).to(input.dtype) * input)
    bent = torch.tanh(inner.float()).to(input.dtype)
    out.copy_(0.5 * input * (1 + bent))
