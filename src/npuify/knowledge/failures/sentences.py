"""What messages say by the kind of their sentence, whoever raised them."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows

from .causes import check_cause

FILE = "sentences.toml"


class Sentence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``sentences.toml``; its head says what the fields mean."""

    name: str
    pattern: str = ""
    also: str = ""
    unless: str = ""
    kind: str = ""
    raised: Literal["", "npu", "installed", "line"] = ""
    cause: str
    weight: int
    why: str = ""
    fix: str = ""


class Reader(NamedTuple):
    """A row with its patterns; None for those that it does not have."""

    row: Sentence
    pattern: re.Pattern[str] | None
    also: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    kind: re.Pattern[str] | None

    def reads(self, kind: str, said: str) -> bool:
        """Whether a message is of this kind.

        Args:
            kind: the exception's name; empty for a line without one.
            said: the message without the name.
        """
        return (
            (self.kind is None or self.kind.search(kind) is not None)
            and (self.pattern is None or self.pattern.search(said) is not None)
            and (self.also is None or self.also.search(said) is not None)
            and (self.unless is None or self.unless.search(said) is None)
        )


@cache
def sentences_known() -> tuple[Reader, ...]:
    """Every row, in the order in which they are asked.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / FILE, "sentence", Sentence))
    for row in rows:
        check_cause(row.cause, FILE)
    return tuple(
        Reader(
            row,
            _pattern(row.pattern),
            _pattern(row.also),
            _pattern(row.unless),
            re.compile(row.kind) if row.kind else None,
        )
        for row in rows
    )


def _pattern(text: str) -> re.Pattern[str] | None:
    return re.compile(text, re.IGNORECASE) if text else None
