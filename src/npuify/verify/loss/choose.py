"""Which of the numbers that a program writes is its training loss."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OTHER: Final = re.compile(r"(?:^|[^a-z])(val|valid|validation|eval|evaluation|test|dev|best|min|max)(?:[^a-z]|$)")
_SCALE: Final = re.compile(r"loss[_ /-]?(scale|scaler|mask|weight|count|fn|time)|(scale|weight)[_ /-]?loss")
_LOSS: Final = re.compile(r"loss|perplexity|nll")
_ORDER: Final = (
    r"^loss$",
    r"^(train(ing)?|lm|total)[_ /.-]?loss$",
    r"^.*train.*[/_ .-]loss(_step)?$",
    r"^(.*[/_ .-])?(total[_ ])?loss(_step)?$",
)
STEPS: Final = (
    "step",
    "global_step",
    "train/global_step",
    "trainer/global_step",
    "iteration",
    "iter",
    "num_updates",
    "update",
    "batch",
    "steps",
    "iters",
    "_step",
    "global step",
    "iter_num",
)
"""Names under which programs write the number of a step, the best first."""


def is_loss(name: str) -> bool:
    """Whether ``name`` reads like a loss of training, and not like one of validation, or a loss scale."""
    low = name.lower()
    return bool(_LOSS.search(low)) and not _OTHER.search(low) and not _SCALE.search(low)


def choose(names: Iterable[str], wanted: str, file: str) -> str:
    """The name of the loss among ``names``.

    Args:
        wanted: what the user asks for; empty: the one that is plainly the loss of training.

    Raises:
        NpuifyError: it is not there, or several could be it.
    """
    known = list(dict.fromkeys(names))
    if wanted:
        if wanted in known:
            return wanted
        raise NpuifyError(
            phrase("it has no {wanted!r} in it", wanted=wanted),
            advice=phrase("it has: {listed}", listed=_listed(known)),
            file=file,
        )
    losses = [name for name in known if is_loss(name)]
    for pattern in _ORDER:
        found = [name for name in losses if re.match(pattern, name.lower())]
        if len(found) == 1:
            return found[0]
        if found:
            losses = found
            break
    if len(losses) == 1:
        return losses[0]
    if losses:
        raise NpuifyError(
            phrase("it has several losses: {listed}", listed=_listed(losses)),
            advice="choose one with --metric NAME",
            file=file,
        )
    raise NpuifyError(
        "it has no training loss",
        advice=phrase("specify it with --metric; it has: {listed}", listed=_listed(known)),
        file=file,
    )


def step_name(names: Sequence[str]) -> str:
    """The name of the step among ``names``; empty where none is."""
    low = {name.lower().strip(): name for name in reversed(names)}
    return next((low[step] for step in STEPS if step in low), "")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:12]))
    return (shown or "nothing") + (phrase(" and {value} more", value=len(names) - 12) if len(names) > 12 else "")
