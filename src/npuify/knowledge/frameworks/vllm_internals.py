"""Names inside vLLM that programs plug into, and that an NPU changes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence, Severity  # noqa: TC001 - the types of fields


class Internal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/vllm_internals.toml``."""

    name: str
    """A qualified name; a star at the end stands for what lies below."""
    severity: Severity
    message: str
    advice: str
    evidence: Evidence
    source: str
    also: tuple[str, ...] = ()
    alias: str = ""
    """What is imported in its place, under the old name."""


@cache
def internals() -> tuple[Internal, ...]:
    """Every row, in the order of the file: the first that fits counts."""
    return tuple(read_rows(DATA / "frameworks" / "vllm_internals.toml", "internal", Internal))


@cache
def internal(name: str) -> Internal | None:
    """What is known of a qualified name; None where it stays."""
    if not name.startswith("vllm."):
        return None
    return next(
        (row for row in internals() if any(fnmatchcase(name, one) for one in (row.name, *row.also))),
        None,
    )
