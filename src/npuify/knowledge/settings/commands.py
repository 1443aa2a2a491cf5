"""Programs of NVIDIA's and their counterparts: the rows of ``commands.toml``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase
from npuify.model import Evidence, NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class CommandFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program of NVIDIA's. ``npu`` is the command that takes its place, empty where there is none."""

    name: str
    message: str
    evidence: Evidence
    source: str
    npu: str = ""


@cache
def commands() -> Mapping[str, CommandFact]:
    """The rows by the program's name."""
    path = DATA / "commands.toml"
    found: dict[str, CommandFact] = {}
    for row in read_rows(path, "command", CommandFact):
        if row.name in found:
            raise NpuifyError(phrase("two rows for {name}", name=row.name), file=str(path))
        found[row.name] = row
    return found
