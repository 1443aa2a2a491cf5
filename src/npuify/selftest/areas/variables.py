"""The rows of ``claims.toml`` about variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.selftest.areas.rows import of_area

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.selftest.checks import Check


def checks(table: ReleaseTable) -> Iterator[Check]:
    """A check for each row."""
    return of_area("variables")
