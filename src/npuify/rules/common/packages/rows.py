"""The rows of the table of packages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from npuify.knowledge import packages

if TYPE_CHECKING:
    from npuify.knowledge import PackageFact
if TYPE_CHECKING:
    from npuify.knowledge import PackageFact


def package_of(name: str) -> PackageFact | None:
    """The row of an imported name: that of the longest module above it, or of the member that it is."""
    table = packages()
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        row = table.get(".".join(parts[:length]))
        if row is not None:
            return row
    return _member(name)


def _member(name: str) -> PackageFact | None:
    row = packages().get(name)
    if row is not None:
        return row if name in row.names else None
    for beginning, other in _beginnings():
        if name.startswith(beginning):
            return other
    return None


@cache
def _beginnings() -> tuple[tuple[str, PackageFact], ...]:
    return tuple((pattern[:-1], row) for pattern, row in packages().items() if pattern.endswith("*"))
