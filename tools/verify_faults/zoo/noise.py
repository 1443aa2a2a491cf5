"""Another device's rounding, for a machine that has none: sums come out as if added up in another order.

Each result of a multiplication of matrices, of a convolution and of a sum is moved by what its own terms' rounding
amounts to (their absolute values' sum times 2**-24 times a normal deviate), in forward and backward, as two devices
with float32 differ.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

UNIT = 2.0**-24
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "convolution", "linear")
_SUMS = ("sum", "mean")
_POINTWISE = frozenset(
    """exp tanh sigmoid gelu silu rsqrt sqrt sin cos log erf pow _softmax _log_softmax native_layer_norm
    native_group_norm native_batch_norm convolution_backward native_layer_norm_backward native_batch_norm_backward
    native_group_norm_backward _scaled_dot_product_flash_attention_for_cpu _softmax_backward_data
    _log_softmax_backward_data""".split()
)


class Rounding(TorchDispatchMode):
    """While it is on, every result has another device's rounding error."""

    def __init__(self) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(77)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name in _PRODUCTS or (name in _SUMS and func._schema.name.startswith("aten::")):
            if isinstance(given, torch.Tensor) and given.dtype is torch.float32:
                sizes = func(*(_size(one) for one in args), **{key: _size(one) for key, one in kwargs.items()})
                return given + sizes * self._normal(given) * UNIT
        elif name in _POINTWISE:
            parts = given if isinstance(given, (tuple, list)) else (given,)
            moved = [
                one * (1 + self._normal(one) * UNIT)
                if isinstance(one, torch.Tensor) and one.dtype is torch.float32
                else one
                for one in parts
            ]
            return type(given)(moved) if isinstance(given, (tuple, list)) else moved[0]
        return given

    def _normal(self, like: torch.Tensor) -> torch.Tensor:
        return torch.empty(like.shape).normal_(generator=self._generator)


def _size(value: Any) -> Any:
    return value.abs() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
