"""What exceptions are about, told by the files that raise them."""

from __future__ import annotations

from functools import cache

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - the type of a field

from .causes import check_cause


class OriginFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``origins.toml``; its head says what the fields mean."""

    name: str
    files: str
    kinds: tuple[str, ...] = ()
    cause: str
    weight: int
    evidence: Evidence
    source: str
    why: str = ""
    fix: str = ""


@cache
def origin_facts() -> tuple[OriginFact, ...]:
    """Every row.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / "origins.toml", "origin", OriginFact))
    for row in rows:
        check_cause(row.cause, "origins.toml")
    return rows
