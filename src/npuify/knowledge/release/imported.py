"""What the imported package itself answered: the live tables, and what they correct in what was read from files.

They are made by ``npuify knowledge generate --live``, which imports the real torch_npu with stand-ins for the
libraries of CANN. No kernel ran. A release without such a table is known by its files alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from npuify.knowledge.hand_written import DATA
from npuify.knowledge.release.correction import corrections
from npuify.knowledge.schema import Package, ReleaseFile  # noqa: TC001 - the types of fields
from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LIVE = DATA / "live"
LIVE_FORMAT = 1
"""Version of the layout of ``data/live/*.json``. A file of another layout is refused."""


class LiveFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One live table, exactly as it is stored."""

    format: int
    generator: str
    torch_npu: Package
    torch: Package
    torch_build: Literal["cpu", "cuda"]
    """What the torch was built for. One for CUDA is imported without its CUDA libraries, since torch_npu ends the
    process otherwise (2.14); what it answers about ``torch.cuda`` is then worth nothing."""
    python: str
    machine: str
    """The processor that the packages were built for."""
    names: dict[str, dict[str, str]]
    """Module → name → spec, as in a release file; ``o`` is an operator of the ``npu`` namespace, ``!Error`` a name that
    the module exports and that raises when asked for."""
    exported: dict[str, list[str]]
    """Module → its ``__all__``; a module without one is left out."""
    not_imported: list[str]
    failed: dict[str, str]
    """Public module → what it raised when it was imported."""
    operators: dict[str, dict[str, str]]
    """``kernel``, ``fallback`` (to the CPU), ``composite`` (made of other operators), ``default`` (a form for every
    device that leads to other operators), ``none`` → ATen operator → its overloads."""
    calls: dict[str, list[str]]
    """Public function of torch, with what is special about the call after a comma or blank → the operators that fell
    back to the CPU when it was called with NPU tensors. Calls that ended for want of a kernel before any are left
    out."""
    keys: dict[str, list[str]]
    """Dispatch key → ATen operators for which torch_npu registers something there."""
    schemas: dict[str, list[str]]
    """Operator with its namespace → its schemas without the name."""
    by_import: dict[str, str]
    """Name under torch that importing torch_npu changes → how."""
    by_transfer_to_npu: dict[str, str]
    """The same for ``torch_npu.contrib.transfer_to_npu``, after that."""
    behaviour: msgspec.Raw
    """Scenario → what was asked and answered; see :func:`behaviour`."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One statement that was run, and what came of it. Times, addresses and paths are left out."""

    ask: str
    value: str | None = None
    error: str | None = None
    """The type of what it raised."""
    message: str = ""
    warnings: tuple[str, ...] = ()
    stderr: str = ""
    crash: str | None = None
    """The process ended."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Statements that were run one after another in one process."""

    setting: dict[str, str]
    """Environment variables; those of the stand-ins say how many devices there were and which calls failed."""
    answers: tuple[Answer, ...]


def read_live_file(path: Path) -> LiveFile:
    """Decode and check a live table.

    Raises:
        NpuifyError: it cannot be read, does not fit the schema, or was written for another layout.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=LiveFile)
    except OSError as error:
        raise NpuifyError(
            phrase("cannot read the live table: {strerror}", strerror=error.strerror), file=str(path)
        ) from error
    except msgspec.DecodeError as error:
        raise NpuifyError(phrase("not a live table: {error}", error=error), file=str(path)) from error
    if content.format != LIVE_FORMAT:
        raise NpuifyError(
            phrase(
                "layout {format} of a live table; this npuify reads {LIVE_FORMAT}",
                format=content.format,
                LIVE_FORMAT=LIVE_FORMAT,
            ),
            file=str(path),
        )
    return content


@cache
def load_live(torch_npu: str) -> LiveFile | None:
    """The shipped live table of exactly this torch_npu version; None: there is none."""
    path = LIVE / f"{torch_npu}.json"
    return read_live_file(path) if path.is_file() else None


def shipped_live_tables() -> tuple[str, ...]:
    """The versions that have a live table."""
    return tuple(sorted(path.stem for path in LIVE.glob("*.json")))


def behaviour(content: LiveFile) -> Mapping[str, Scenario]:
    """What was asked of the release and what it answered, by scenario."""
    found: dict[str, Scenario] = msgspec.json.decode(content.behaviour, type=dict[str, Scenario])
    return found


def correct(content: ReleaseFile, live: LiveFile) -> ReleaseFile:
    """The release as its files tell, with everything that the imported package answered differently put right."""
    return msgspec.structs.replace(
        content, **corrections(msgspec.structs.asdict(content), msgspec.structs.asdict(live))
    )
