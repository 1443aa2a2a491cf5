"""For which names of PyTorch npuify has stand-ins, and which of them a release needs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows

if TYPE_CHECKING:
    from npuify.knowledge.release.table import ReleaseTable


class StandIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``stand_ins.toml``; its head says what the values mean."""

    name: str
    operators: tuple[str, ...]
    stand_in: str
    also: tuple[str, ...] = ()
    vendor: bool = False


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """All rows."""
    return tuple(read_rows(DATA / "stand_ins.toml", "stand_in", StandIn))


def needed(release: ReleaseTable) -> dict[str, StandIn]:
    """The rows whose operators a release lacks, by each qualified name."""
    rows = [
        row
        for row in stand_ins()
        if not any(operator in release.operators or operator in release.custom_operators for operator in row.operators)
    ]
    return {name: row for row in rows for name in (row.name, *row.also)}
