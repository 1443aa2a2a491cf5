"""Reads dumps of msprobe (mindstudio-probe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .model import Capture


def find(folder: Path) -> list[Path]:
    """The dump.json files of one step's ranks, or of several steps, below a folder."""
    return sorted(folder.rglob("dump.json"))


def read_dump(folder: Path, dumps: list[Path]) -> Capture:
    """The dumps as a capture."""
    raise NotImplementedError
