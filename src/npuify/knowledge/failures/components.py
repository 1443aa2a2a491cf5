"""Parts of the machine and its software that an error line can be about."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows

from .causes import check_cause


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``components.toml``; its head says what the fields mean."""

    name: str
    about: str
    pattern: str
    cause: str


@cache
def components() -> tuple[tuple[re.Pattern[str], Component], ...]:
    """Every row with its pattern, the more particular ones first.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / "components.toml", "component", Component))
    for row in rows:
        check_cause(row.cause, "components.toml")
    return tuple((re.compile(row.pattern), row) for row in rows)


def component_of(line: str) -> Component | None:
    """The part that a line names; None where it names none of them."""
    return next((row for pattern, row in components() if pattern.search(line)), None)
