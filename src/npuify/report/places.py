"""How a place in a project is written for a person, and for a program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from npuify.model import MigrationResult

if TYPE_CHECKING:
    from npuify.model import ScanResult


class Places:
    """Writes the paths of one result's findings.

    Findings of a migration lie in its destination, where there is one; else in its source.
    """

    def __init__(self, result: ScanResult | MigrationResult) -> None:
        if isinstance(result, MigrationResult):
            self.root = result.destination or result.scan.root
            self._source = result.scan.root
        else:
            self.root = self._source = result.root
        self._shown = _from_here(self.root)
        self._shown_source = _from_here(self._source)

    def shown(self, file: str) -> str:
        """``file`` as it can be opened from the working folder: relative where it lies below it, else absolute."""
        return f"{self._shown}/{file}" if self._shown else file

    def shown_in_source(self, file: str) -> str:
        """As ``shown``, for a file of the source of a migration."""
        return f"{self._shown_source}/{file}" if self._shown_source else file

    def root_uri(self) -> str:
        """The root as a URI that ends in a slash."""
        return Path(self.root).absolute().as_uri().rstrip("/") + "/"


def relative_uri(file: str) -> str:
    """``file`` as a relative URI; bytes that are not text are percent-encoded as they are on the disk."""
    return quote(file.encode("utf-8", "surrogateescape"), safe="/-._~")


def _from_here(root: str) -> str:
    """``root`` seen from the working folder, with forward slashes; empty for the working folder itself."""
    absolute = Path(root).absolute()
    try:
        here = Path.cwd()
        relative = os.path.relpath(absolute, here)
    except (OSError, ValueError):
        return absolute.as_posix()
    if relative == os.curdir:
        return ""
    if Path(relative).parts[0] == os.pardir:
        return absolute.as_posix()
    return Path(relative).as_posix()
