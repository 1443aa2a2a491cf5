"""What the tools answer: plain types, from which the protocol's schemas are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Place:
    """One finding."""

    code: str
    name: str
    severity: str
    safety: str
    """``safe``, ``review`` or ``manual``: whether npuify edits it, offers to, or leaves it to a person."""
    file: str
    line: int
    message: str
    advice: str
    subject: str
    """What the tool ``explain`` takes, with the code."""


@dataclass
class Scanned:
    """What a scan found, a page of it."""

    verdict: str
    summary: str
    estimate: str
    torch_npu: str
    total: int
    """Findings on all pages."""
    findings: list[Place]
    next_offset: int | None
    """Ask again with this offset; null: these were the last."""
    by_code: dict[str, int] = field(default_factory=dict)
    blockers: list[str] = field(default_factory=list)
    entry_points: list[str] = field(default_factory=list)
    """The first of them, of ``entry_points_total``."""
    entry_points_total: int = 0
    errors: list[str] = field(default_factory=list)
    """Files that could not be processed: the first, of ``errors_total``."""
    errors_total: int = 0


@dataclass
class Migrated:
    """What a migration did, or would do."""

    written: bool
    destination: str
    changed_files: list[str]
    changes: int
    left: list[Place]
    """What is left to do, a page of it."""
    left_total: int
    next_offset: int | None
    verdict: str
    diff: str
    """A part of the patch, where nothing was written."""
    diff_next_offset: int | None
    """Ask again with this diff_offset for the next part."""
    changed_files_total: int
    """``changed_files`` are the first of them."""


@dataclass
class Item:
    """A point of the checklist."""

    title: str
    state: str
    evidence: str
    how: str


@dataclass
class Checked:
    """The checklist of a migration."""

    complete: bool
    items: list[Item]


@dataclass
class Rule:
    """One rule."""

    code: str
    name: str
    safety: str
    severity: str
    summary: str


@dataclass
class Rules:
    """The rules, a page of them."""

    result: list[Rule]
    total: int
    next_offset: int | None
    """Ask again with this offset; null: these were the last."""


@dataclass
class RuleHelp:
    """One rule in full."""

    code: str
    name: str
    safety: str
    severity: str
    help: list[str]
    """What it finds and why, with code before and after."""
    source: str
    evidence: str
    """How it is known: ``live``, ``package``, ``documented``, ``reported`` or ``assumed``."""
    ignore: str
    """The comment that silences it on a line."""


@dataclass
class Step:
    """One thing to do."""

    name: str
    """``nothing-to-do``, ``blocker``, ``no-device``, ``migrate``, ``review``, ``by-hand``, ``run``, ``machine`` or
    ``checklist``."""
    what: str
    codes: list[str]
    places: list[str]
    """The first ones, as FILE:LINE."""
    more: int
    """Places beyond these; scan lists all, by code."""
    advice: str
    command: str
    """The command line that does it; tools of the same name do the same."""


@dataclass
class Planned:
    """What to do next, in order."""

    migrated: bool
    """Whether npuify has migrated the project already."""
    verdict: str
    estimate: str
    steps: list[Step]
    """A page of them."""
    total: int
    """Steps on all pages."""
    next_offset: int | None
    """Ask again with this offset; null: these were the last."""


@dataclass
class Known:
    """What is known of a code, a name, or a place in the code."""

    title: str
    kind: str
    text: list[str]
    releases: list[dict[str, str]]
    """Of a name: what each torch_npu release has."""
    source: str
    evidence: str
    """How it is known: ``live``, ``package``, ``documented``, ``reported`` or ``assumed``; empty for places."""


@dataclass
class Note:
    """What a program needs to be started in this way, or what should be looked at."""

    level: str
    """``must``, ``check`` or ``note``."""
    file: str
    line: int
    message: str


@dataclass
class Launched:
    """Scripts that start a program on many cards."""

    written: bool
    destination: str
    complete: bool
    """Whether the program can be started as it is."""
    commands: list[str]
    """What to type, one on each machine."""
    notes: list[Note]
    files: dict[str, str]
    """The scripts' texts, by name."""
    evidence: str
    source: str


@dataclass
class Simulated:
    """A program that ran on simulated NPUs. It says nothing of a real card's results, speed or limits."""

    exit_code: int | None
    """Null: it was ended since its time was over."""
    seconds: float
    output: str
    """The last part of what it wrote."""
    cut: bool
    """Whether there was more, which the report has."""


@dataclass
class Verified:
    """Whether the migrated program computes what the original does."""

    verdict: str
    passed: bool
    steps: list[dict[str, str]]
    """Of ``verify``: each step with its status, on what it ran (hardware, simulation), what was seen, and advice."""
    details: dict[str, Any]
    """The first difference, and what else the comparison says in short; the report has all."""
