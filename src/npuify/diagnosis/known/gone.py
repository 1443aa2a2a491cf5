"""Names that other packages than torch, or Python itself, dropped: which release did, and what takes their place."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import msgspec

from npuify.knowledge.failures.causes import check_cause
from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase
from npuify.model import Evidence  # noqa: TC001 - the type of a field

from .signatures import Match

FILE: Final = "gone.toml"

MISSES: Final = re.compile(
    r"module '(?P<module>[\w.]+)' has no attribute '(?P<attribute>\w+)'"
    r"|cannot import name '(?P<imported>\w+)' from '(?P<source>[\w.]+)'"
    r"|'(?P<owner>[\w.]+)' object has no attribute '(?P<member>\w+)'"
    r"|No module named '(?P<missing>[\w.]+)'"
)
"""What Python says of a name that is not there."""
_WEIGHT: Final = 79


class Gone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``gone.toml``; its head says what the fields mean."""

    module: str
    names: tuple[str, ...] = ()
    gone: str
    instead: str
    cause: str = "version-mismatch"
    evidence: Evidence
    source: str


@cache
def gone_names() -> dict[str, Gone]:
    """The row of each name, written with its module.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    found = {}
    for row in read_rows(DATA / FILE, "gone", Gone):
        check_cause(row.cause, FILE)
        for name in row.names:
            found[f"{row.module}.{name}"] = row
        if not row.names:
            found[row.module] = row
    return found


def gone_match(text: str) -> Match | None:
    """What is known of a name that a message says is missing; None where it names none that is known to be gone.

    Args:
        text: a line, usually the exception that ended a traceback.
    """
    found = MISSES.search(text)
    if found is None:
        return None
    if found["missing"]:
        parts = found["missing"].split(".")
        names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    else:
        module = found["module"] or found["source"] or found["owner"]
        names = [f"{module}.{found['attribute'] or found['imported'] or found['member']}"]
    name = next((name for name in names if name in gone_names()), None)
    if name is None:
        return None
    row = gone_names()[name]
    why = phrase(
        "{name} is gone since {release}; what asks for it was written for an older one.", name=name, release=row.gone
    )
    return Match(
        name=f"gone-{name}",
        meaning=why,
        cause=row.cause,
        role="cause",
        weight=_WEIGHT,
        evidence=row.evidence,
        source=row.source,
        why=why,
        fix=phrase(
            "Write {instead} in its place; where a package asks for it, install a later one, or an older {release}.",
            instead=row.instead,
            release=row.gone.split(" ")[0],
        ),
    )
