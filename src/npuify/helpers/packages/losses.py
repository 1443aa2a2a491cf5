# mypy: ignore-errors
"""What flash_attn's cross entropy computes, in plain PyTorch: in float32, or in double precision where logits are."""

import torch
from torch import nn


def cross_entropy_loss(
    logits,
    labels,
    *,
    label_smoothing=0.0,
    logit_scale=1.0,
    lse_square_scale=0.0,
    ignore_index=-100,
    inplace_backward=False,
):
    """The loss of each row, with ``lse_square_scale`` times the square of its normalizer, and that part by itself.

    ``inplace_backward`` only saves memory, and nothing comes of it here.
    """
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32)) * logit_scale
    counts = labels != ignore_index
    places = torch.where(counts, labels, torch.zeros_like(labels)).to(torch.int64)
    chosen = scores.gather(1, places.unsqueeze(1)).squeeze(1)
    normalizer = torch.logsumexp(scores, dim=1)
    losses = normalizer - (1 - label_smoothing) * chosen - label_smoothing * scores.mean(dim=1)
    squares = lse_square_scale * normalizer * normalizer
    zero = torch.zeros_like(losses)
    return torch.where(counts, losses + squares, zero), torch.where(counts, squares, zero).detach()


class CrossEntropyLoss(nn.Module):
    """``flash_attn.losses.cross_entropy.CrossEntropyLoss`` for logits that are not divided between processes."""

    def __init__(
        self,
        ignore_index=-100,
        reduction="mean",
        label_smoothing=0.0,
        *,
        logit_scale=1.0,
        lse_square_scale=0.0,
        inplace_backward=False,
        return_z_loss=False,
    ):
        super().__init__()
        if reduction not in ("mean", "none", "sum"):
            raise NotImplementedError("the reduction is mean, none or sum")
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing
        self.logit_scale = logit_scale
        self.lse_square_scale = lse_square_scale
        self.inplace_backward = inplace_backward
        self.return_z_loss = return_z_loss

    def forward(self, input, target):
        """The loss of (rows, classes) for (rows,); with ``return_z_loss`` the part of the normalizer, too."""
        both = cross_entropy_loss(
            input,
            target,
            label_smoothing=self.label_smoothing,
            logit_scale=self.logit_scale,
            lse_square_scale=self.lse_square_scale,
            ignore_index=self.ignore_index,
        )
        if self.reduction != "none":
            both = tuple(one.sum() for one in both)
        if self.reduction == "mean":
            counted = (target != self.ignore_index).sum()
            both = tuple(one / counted for one in both)
        return both if self.return_z_loss else both[0]
