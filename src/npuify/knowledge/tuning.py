"""What is known of making programs faster on an NPU: advice, and the conditions in a profile under which it holds."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from npuify.language import phrase
from npuify.model import Evidence, NpuifyError

from .hand_written import DATA, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONDITION = re.compile(r"([a-z_0-9]+(?:\.[A-Z_0-9]+)?) (>|>=|<|<=|==|!=) (\S.*)")


class TuningRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``tuning.toml``; its head says what the fields mean."""

    id: str
    topic: str
    when: tuple[str, ...]
    advice: str
    evidence: Evidence
    source: str
    unless: tuple[str, ...] = ()
    caveat: str = ""
    threshold: str = ""
    devices: tuple[Literal["NPU", "GPU", "none"], ...] = ("NPU",)


class Condition(msgspec.Struct, frozen=True):
    """A measure, a comparison, and a value: a number, or a word."""

    measure: str
    comparison: str
    value: float | str

    def holds(self, measures: Mapping[str, float | str]) -> bool | None:
        """Whether it does; None where the measure is missing."""
        found = measures.get(self.measure)
        if found is None:
            return None
        if isinstance(found, str) or isinstance(self.value, str):
            same = str(found) == str(self.value)
            return same if self.comparison == "==" else not same
        return {
            ">": found > self.value,
            ">=": found >= self.value,
            "<": found < self.value,
            "<=": found <= self.value,
            "==": found == self.value,
            "!=": found != self.value,
        }[self.comparison]


def condition(text: str) -> Condition:
    """``idle_share > 0.1`` or ``env.HCCL_ALGO != ''`` as a condition.

    Raises:
        NpuifyError: it is none.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise NpuifyError(
            phrase("{text!r} is no condition", text=text), advice="write: measure comparison value, with blanks between"
        )
    value: float | str
    if match[3].startswith("'"):
        value = match[3].strip("'")
        if match[2] not in ("==", "!="):
            raise NpuifyError(phrase("{text!r} orders words", text=text))
    else:
        try:
            value = float(match[3])
        except ValueError:
            raise NpuifyError(
                phrase("{text!r}: {match} is no number, and a word stands in quotes", text=text, match=match[3])
            ) from None
    return Condition(match[1], match[2], value)


@cache
def tuning_rules() -> tuple[TuningRule, ...]:
    """Every row of ``tuning.toml``.

    Raises:
        NpuifyError: a row has a condition that cannot be read, or an id is given twice.
    """
    path = DATA / "tuning.toml"
    rows = tuple(read_rows(path, "rule", TuningRule))
    seen: set[str] = set()
    for row in rows:
        if row.id in seen or not row.when:
            raise NpuifyError(phrase("{id} is there twice, or has no condition", id=row.id), file=str(path))
        seen.add(row.id)
        for text in (*row.when, *row.unless):
            condition(text)
    return rows
