# mypy: ignore-errors
"""What flash_attn's fused activations compute, in plain PyTorch."""

from torch.nn import functional


def swiglu(x, y):
    """``y`` through a gate of ``x``; in float32, and then rounded, as the kernel does."""
    if x.dtype.itemsize < 4:
        return (functional.silu(x.float()) * y.float()).to(x.dtype)
    return functional.silu(x) * y
