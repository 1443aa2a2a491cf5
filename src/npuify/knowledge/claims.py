"""Claims about devices, precision, errors and variables that no table of names tells: the rows of ``claims.toml``."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - the type of a field


class ClaimFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``claims.toml``; its head says what the values mean."""

    area: Literal["devices", "precision", "errors", "variables"]
    name: str
    message: str
    check: str
    evidence: Evidence
    source: str
    setup: str = ""
    subject: str = ""
    cards: int = 1
    environment: dict[str, str] = {}
    alone: bool = False


@cache
def claims() -> tuple[ClaimFact, ...]:
    """All rows, in the order in which they are asked."""
    return tuple(read_rows(DATA / "claims.toml", "claim", ClaimFact))
