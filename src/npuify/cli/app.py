"""The program ``npuify`` with all its commands, for whoever calls it from Python."""

from __future__ import annotations

from npuify.cli.common.program import program

app = program()
