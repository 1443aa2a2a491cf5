"""Volume rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tools.public_kernels.beside import DEVICE, beside, given, module

if TYPE_CHECKING:
    from pathlib import Path


def ngp_pl(root: Path) -> float:
    rendering, losses = module(root, "models.custom_functions"), module(root, "losses")
    counts = (5, 1, 9, 7)
    total, ends = sum(counts), torch.tensor((0, *counts)).cumsum(0)
    rays = torch.stack([torch.arange(4), ends[:-1], torch.tensor(counts)], 1).to(DEVICE)
    parts = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    steps = given(total, low=0.05, high=0.2)
    times = torch.cat([steps[one].cumsum(0) for one in parts])

    def ours(sigmas: Any, colours: Any) -> Any:
        _, *made = rendering.VolumeRenderer.apply(sigmas, colours, steps.to(DEVICE), times.to(DEVICE), rays, 1e-4)
        return tuple(made)

    def sums(sigmas: Any, colours: Any) -> Any:
        shares = []
        for one in parts:
            left, seen = sigmas.new_ones(()), []
            for sigma, step in zip(sigmas[one], steps[one].double(), strict=True):
                alpha = 1 - torch.exp(-sigma * step)
                seen.append(left * alpha)
                left = left * (1 - alpha)
            shares.append(torch.stack(seen))
        whole = [(share.sum(), (share * times[one].double()).sum(), share @ colours[one])
                 for share, one in zip(shares, parts, strict=True)]  # fmt: skip
        return (*(torch.stack(column) for column in zip(*whole, strict=True)), torch.cat(shares))

    worst = beside(ours, sums, given(total, low=0, high=4), given(total, 3, low=0, high=1))

    def pairs(weights: Any) -> Any:
        made = []
        for one in parts:
            w, t, d = weights[one], times[one].double(), steps[one].double()
            made.append((w[:, None] * w * (t[:, None] - t).abs()).sum() + (w * w * d).sum() / 3)
        return torch.stack(made)

    loss = lambda w: losses.DistortionLoss.apply(w, steps.to(DEVICE), times.to(DEVICE), rays)  # noqa: E731
    return max(worst, beside(loss, pairs, given(total, low=0, high=1)))


PROGRAMS = {"kwea123/ngp_pl": ngp_pl}
