"""The loss curve in a folder that ``npuify verify capture`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.model import NpuifyError

if TYPE_CHECKING:
    from .model import Curve


def is_capture(path: Path) -> bool:
    """Whether ``path`` is such a folder."""
    return False


def read_capture(path: Path, metric: str = "") -> Curve:
    raise NpuifyError("not yet", file=str(path))
