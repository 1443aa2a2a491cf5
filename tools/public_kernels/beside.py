"""What the programs share: modules of a migrated project, and its functions beside a reference."""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEVICE = "npu"


def module(root: Path, name: str, *bare: str) -> Any:
    """A module of the project.

    Args:
        root: the folder that it is imported from.
        name: its whole name.
        bare: packages whose ``__init__`` is not run, since it asks for much that is not needed.
    """
    for one in bare:
        made = types.ModuleType(one)
        made.__path__ = [str(root.joinpath(*one.split(".")))]
        sys.modules[one] = made
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module(name)


def stand_in(name: str, **members: Any) -> None:
    """Put a module into the place of a library that is not there and is not asked for anything that counts."""
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made


def far(a: Any, b: Any) -> float:
    """The largest ``|a - b| / (1 + |b|)``."""
    a, b = a.detach().cpu().double(), b.detach().cpu().double()
    assert a.shape == b.shape, (a.shape, b.shape)
    alike = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(alike, torch.zeros_like(a), (a - b).abs() / (1 + b.abs())).max()) if a.numel() else 0.0


def given(*shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    """Numbers that float32 holds exactly."""
    return torch.rand(*shape) * (high - low) + low


def beside(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Any,
    kind: torch.dtype = torch.float32,
    backward: bool = True,
) -> float:
    """The largest difference of the outputs of both, and of the gradients of a weighted sum of them.

    Args:
        function: the project's, given tensors on the NPU.
        reference: given the same in double precision on the CPU.
        inputs: tensors of floats get gradients; other tensors and values are handed on.
        kind: of the project's inputs.
        backward: compare gradients, too.
    """
    rounded = [one.to(kind) if _floats(one) else one for one in inputs]
    ours = [one.to(DEVICE) if torch.is_tensor(one) else one for one in rounded]
    theirs = [one.double() if _floats(one) else one for one in rounded]
    if backward:
        ours, theirs = ([_leaf(one) for one in side] for side in (ours, theirs))
    made, meant = list(_outputs(function(*ours))), list(_outputs(reference(*theirs)))
    assert len(made) == len(meant), (len(made), len(meant))
    worst = max(far(a, b) for a, b in zip(made, meant, strict=True))
    if not backward:
        return worst
    weights = [torch.cos(torch.arange(one.numel(), dtype=torch.float64)).to(kind).reshape(one.shape) for one in meant]
    for side in (made, meant):
        pairs = zip(side, weights, strict=True)
        sum((one * weight.to(one)).sum() for one, weight in pairs if one.requires_grad).backward()
    grads = [(a.grad, b.grad) for a, b in zip(ours, theirs, strict=True) if _floats(a) and b.grad is not None]
    assert grads, "no gradient"
    return max(worst, *(far(a, b) for a, b in grads))


def _floats(one: Any) -> bool:
    return torch.is_tensor(one) and one.is_floating_point()


def _leaf(one: Any) -> Any:
    return one.detach().clone().requires_grad_() if _floats(one) else one


def _outputs(made: Any) -> Iterator[Any]:
    for one in made if isinstance(made, (tuple, list)) else (made,):
        if _floats(one):
            yield one
