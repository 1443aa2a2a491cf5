"""What the tools answer: plain types, from which the protocol's schemas are made."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    """What the tool ``explain`` takes."""


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
    errors: list[str] = field(default_factory=list)
    """Files that could not be processed."""


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
