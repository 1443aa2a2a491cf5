"""Which line of the traced program an operator belongs to."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

Place = tuple[str, int]
"""A file and a line; ``("", 0)`` where there is none."""

NOWHERE: Place = ("", 0)
_OWN, _LIBRARY, _PASSED_OVER = range(3)


class Places:
    """Finds the nearest line of the user's own files in the calling stack.

    Args:
        roots: folders of the program: that of its script, and the current one.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        import torch

        self._roots = _folders(roots)
        own = Path(__file__).resolve().parent.parent
        self._passed_over = _folders([str(own), str(Path(torch.__file__).parent)])
        self._python = _folders(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
        self._kinds: dict[str, int] = {}

    def here(self) -> Place:
        """The nearest line of the program; else the nearest of a library that is neither torch nor Python's own."""
        frame: FrameType | None = sys._getframe(1)
        library = NOWHERE
        while frame is not None:
            name = frame.f_code.co_filename
            kind = self._kinds.get(name)
            if kind is None:
                kind = self._kinds[name] = self._kind(name)
            if kind == _OWN:
                return name, frame.f_lineno
            if kind == _LIBRARY and library is NOWHERE:
                library = (name, frame.f_lineno)
            frame = frame.f_back
        return library

    def is_own(self, name: str) -> bool:
        """Whether a file is the program's."""
        return self._kind(name) == _OWN

    def _kind(self, name: str) -> int:
        if name.startswith("<"):
            return _PASSED_OVER
        path = os.path.realpath(name)
        if path.startswith(self._passed_over):
            return _PASSED_OVER
        if f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path:
            return _LIBRARY
        if path.startswith(self._python):
            return _PASSED_OVER
        return _OWN if path.startswith(self._roots) else _LIBRARY


def _folders(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.path.realpath(name).rstrip(os.sep) + os.sep for name in names)
