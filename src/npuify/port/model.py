"""The types of this part."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from npuify.language import ENGLISH

VERSION: Final = 1
"""Of the JSON: raised when something is removed or changes its meaning, not when something is added."""


class State(str, Enum):
    """What became of a stage."""

    DONE = "done"
    FAILED = "failed"
    NOT_RUN = "not run"
    """It could not run here, or was not asked for; the message says what it needs."""


class Stage(msgspec.Struct, frozen=True):
    """One part of the way."""

    name: str
    """``scan``, ``migrate``, ``doctor``, ``run``, ``compare`` or ``handover``."""
    state: State
    message: str
    evidence: tuple[str, ...] = ()
    """What was seen."""
    advice: str = ""
    files: tuple[str, ...] = ()
    """What was written."""


class Choice(msgspec.Struct, frozen=True):
    """One way to go on."""

    what: str
    command: str
    """What to type; empty where there is something to do first that is no command."""


class Decision(msgspec.Struct, frozen=True):
    """Something that only a person can decide or do."""

    about: str
    """A stable name: ``nothing-to-do``, ``blocked``, ``no-device``, ``review``, ``by-hand``, ``machine``, ``entry``,
    ``package-missing``, ``data-missing``, ``run-failed``, ``not-comparable`` or ``differs``."""
    question: str
    places: tuple[str, ...]
    """Where, and what stands there."""
    choices: tuple[Choice, ...]


class PortOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was said on the command line, as far as it has to be said again to go on; None and empty: nothing.

    Attributes:
        style, torch_npu, soc, unsafe, place_on_npu, replace_kernels: as :class:`npuify.options.Options` has them.
        entry, reference_entry, prepare, data, reference, target, timeout, python: as
            :func:`npuify.verify.steps.run.accept` takes them.
        go_on: pass what blocks, and what is left to do by hand.
    """

    style: str | None = None
    torch_npu: str | None = None
    soc: str | None = None
    unsafe: bool | None = None
    place_on_npu: bool | None = None
    replace_kernels: bool | None = None
    entry: str = ""
    reference_entry: str = ""
    prepare: str = ""
    data: str = ""
    reference: str = ""
    target: str = "auto"
    timeout: float = 600
    python: str = ""
    go_on: bool = False


class PortReport(msgspec.Struct, frozen=True):
    """The answer of ``npuify port``."""

    version: int
    source: str
    destination: str
    stages: tuple[Stage, ...]
    decision: Decision | None
    """What it stopped at; None where it came to its end."""
    asked: PortOptions
    """What a later ``--resume`` starts from."""
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
