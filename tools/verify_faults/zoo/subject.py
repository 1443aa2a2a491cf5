"""What a model of the zoo is: the modules, the data, and the losses of one step."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import torch

BLIND_OF = 3
"""One in so many models is blind: nothing of the comparison was changed for what it says of them."""


@dataclass
class Subject:
    """One model, or several that are trained against each other."""

    models: Sequence[torch.nn.Module]
    """Each with an optimizer of its own."""
    data: Sequence[torch.Tensor]
    """Tensors with one row for each sample."""
    losses: Callable[..., Iterator[tuple[torch.Tensor, int]]]
    """Given the models and a batch: each loss to step on, and the model whose optimizer steps."""
    batch: int = 4
    rate: float = 1e-3
    adam: bool = True
    half: bool = True
    """Whether it runs in bfloat16 at all."""
    notes: dict[str, Any] = field(default_factory=dict)


def single(loss: Callable[..., torch.Tensor]) -> Callable[..., Iterator[tuple[torch.Tensor, int]]]:
    """The losses of one model that has one."""

    def losses(models: Sequence[torch.nn.Module], *batch: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
        yield loss(models[0], *batch), 0

    return losses


def is_blind(name: str) -> bool:
    """Whether a model belongs to the blind set: by its name alone, so that nobody chose it."""
    return zlib.crc32(name.encode()) % BLIND_OF == 0
