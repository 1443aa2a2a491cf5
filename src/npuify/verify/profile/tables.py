"""The profilers' CSV files, row by row."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Each row by its columns' names. Blanks and tabs around values, which the profilers write, are taken off.

    Raises:
        NpuifyError: the file cannot be read as text.
    """
    csv.field_size_limit(1 << 24)
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.reader(stream)
            head = [name.strip() for name in next(reader, [])]
            for row in reader:
                yield {name: cell.strip() for name, cell in zip(head, row, strict=False)}
    except (OSError, csv.Error) as error:
        raise NpuifyError(
            phrase("cannot be read: {value}", value=getattr(error, "strerror", "") or error), file=str(path)
        ) from None


def number(value: Any) -> float | None:
    """A cell as a number; None where it holds none, as in ``N/A``."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if found == found and abs(found) != float("inf") else None


def first(row: dict[str, str], *names: str) -> str:
    """The first of these columns that the row has; empty where it has none. Releases name some columns differently."""
    return next((row[name] for name in names if row.get(name)), "")
