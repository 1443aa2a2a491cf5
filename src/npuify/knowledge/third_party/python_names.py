"""Names of Python, NumPy and other packages that are gone: since which version, and what takes their place."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Mapping


class GoneName(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``python_names.toml``; its head says what the values mean."""

    name: str
    package: str = ""
    since: str
    until: str = ""
    module: str = ""
    becomes: str = ""
    value: str = ""
    advice: str = ""
    evidence: Evidence
    source: str


@cache
def gone_python_names() -> Mapping[str, GoneName]:
    """The rows by name.

    Raises:
        TableError: a row is written wrongly.
    """
    return {row.name: row for row in read_rows(DATA / "python_names.toml", "name", GoneName)}
