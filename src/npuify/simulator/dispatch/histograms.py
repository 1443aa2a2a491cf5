"""Histograms of whole numbers, which an NPU counts and PyTorch's CPU does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def histc(self: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """As many numbers of each bin, in the tensor's own type, as CUDA and the NPU have it.

    Source: CANN's page of aclnnHistc, which takes int8 to int64 and uint8; op-plugin gives it the tensor as it is.
    """
    plain = self.detach().cpu()
    counted = plain if plain.is_floating_point() else plain.to(torch.float64)
    return torch.histc(counted, bins, min, max).to(self.dtype).to(self.device)


def histc_out(self: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor) -> Tensor:
    """The same into a tensor."""
    made = histc(self, bins, min, max)
    return out.resize_(made.shape).copy_(made)


KERNELS = {"histc": histc, "histc.out": histc_out}
