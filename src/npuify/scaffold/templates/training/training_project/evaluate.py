"""Validation: each sample once, over all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.data import DataLoader

    from training_project.processes import Process


@torch.no_grad()
def evaluate(
    model: torch.nn.Module, loader: DataLoader, process: Process, autocast: Callable[[], Any]
) -> dict[str, float]:
    """Loss and accuracy over all samples.

    Sums are added up, not means: batches and shares of processes differ in size.

    Args:
        model: without its DDP wrapper, which would wait for processes that have fewer batches.
    """
    was_training = model.training
    model.eval()
    loss = torch.zeros((), device=process.device)
    counts = torch.zeros(2, dtype=torch.int64, device=process.device)
    for tokens, labels in loader:
        tokens, labels = tokens.to(process.device, non_blocking=True), labels.to(process.device, non_blocking=True)
        with autocast():
            scores = model(tokens)
        loss += F.cross_entropy(scores.float(), labels, reduction="sum")
        counts[0] += (scores.argmax(dim=1) == labels).sum()
        counts[1] += labels.numel()
    model.train(was_training)
    total = process.sum(loss).item()
    correct, samples = process.sum(counts).tolist()
    return {"loss": total / samples, "accuracy": correct / samples, "samples": samples}
