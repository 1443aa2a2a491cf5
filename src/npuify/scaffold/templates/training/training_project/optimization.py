"""The optimizer, its schedule, and the precision to compute in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from training_project import device as devices

if TYPE_CHECKING:
    from torch.optim.lr_scheduler import LRScheduler

    from training_project.config import Optimization

PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type for autocast; float32 means no autocast.

    Raises:
        RuntimeError: bfloat16 is asked for, and the chip has none.
    """
    if wanted == "auto":
        if device.type == "cpu":
            return torch.float32
        return torch.bfloat16 if devices.supports_bfloat16(device) else torch.float16
    if wanted == "bf16" and not devices.supports_bfloat16(device):
        raise RuntimeError(f"{device} has no bfloat16; use fp16")
    return PRECISIONS[wanted]


def optimizer(model: torch.nn.Module, settings: Optimization) -> torch.optim.AdamW:
    """AdamW, without weight decay for biases, norms and other vectors."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def schedule(optimizer: torch.optim.Optimizer, settings: Optimization, total_steps: int) -> LRScheduler:
    """The learning rate over ``total_steps`` steps of the optimizer (not of batches, not of epochs)."""
    warmup = min(settings.warmup_steps, total_steps - 1)
    if settings.schedule == "one-cycle":
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=settings.learning_rate,
            total_steps=total_steps,
            pct_start=max(warmup, 1) / total_steps,
        )

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total_steps - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, share)
