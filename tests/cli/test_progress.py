"""The bar that a person sees who waits."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import npuify.cli.common.progress as module

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    """Stands in for a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_bar_is_gone_when_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed next, such as the next stage of the whole way, does not stand in the middle of it."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "PATIENCE", 0)
    monkeypatch.setattr(module, "INTERVAL", 0)
    with module.progress("Reading", "Scanning") as (reading, scanning):
        assert reading is not None and scanning is not None
        for done in range(4):
            reading(done, 3)
        first = terminal.getvalue()
        assert "Reading" in first and "2/3" in first
        assert first.endswith("\x1b[2K"), "the line was cleared"
        print("a stage", file=sys.stderr)
        scanning(1, 2)
        assert "Scanning" in terminal.getvalue()


def test_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with module.progress("Reading") as (reading,):
        assert reading is None
