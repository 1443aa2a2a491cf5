"""Which rows of the tuning table hold for the measures of a profile, and which it is no answer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.tuning import condition, tuning_rules

from .model import Advice, Unjudged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .model import Measure


def advise(measures: Mapping[str, Measure], device: str) -> tuple[tuple[Advice, ...], tuple[Unjudged, ...]]:
    """Rows whose conditions all hold, and rows whose measures are missing.

    Args:
        device: ``NPU``, ``GPU`` or ``none``: rows that are not for such a profile are neither.
    """
    values = {name: one.value for name, one in measures.items()}
    held, unjudged = [], []
    for row in tuning_rules():
        if device not in row.devices:
            continue
        conditions = [condition(text) for text in row.when]
        answers = [one.holds(values) for one in conditions]
        if any(answer is False for answer in answers):
            continue
        if any(condition(text).holds(values) for text in row.unless):
            continue
        lacks = tuple(
            dict.fromkeys(one.measure for one, answer in zip(conditions, answers, strict=True) if answer is None)
        )
        if lacks:
            unjudged.append(Unjudged(row.id, row.topic, lacks))
            continue
        seen = "; ".join(f"{one.measure} is {shown(values[one.measure])}" for one in conditions)
        held.append(Advice(row.id, row.topic, seen, row.advice, row.caveat, row.threshold, row.evidence, row.source))
    return tuple(held), tuple(unjudged)


def shown(value: float | str) -> str:
    """A measure for a person."""
    return repr(value) if isinstance(value, str) else f"{value:.3g}"
