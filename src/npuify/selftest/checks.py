"""What a check is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from npuify.model import Evidence  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Mapping

AREAS = (
    "names",
    "behaviour",
    "answers",
    "patches",
    "doctor",
    "devices",
    "errors",
    "precision",
    "forms",
    "attention",
    "custom",
    "kernels",
    "calls",
    "collectives",
    "variables",
    "operators",
    "programs",
)
"""In the order in which they are asked: what is cheap, and what all else needs, comes first."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A claim with the question that is asked of the machine."""

    id: str
    """Area and name, ``names/torch.npu.Event``; the same in each run, so that results can be compared."""
    claim: str
    subject: str
    """As ``npuify explain`` takes it."""
    evidence: Evidence
    source: str
    function: str
    """``module:function`` below :mod:`npuify.selftest.inside.questions`."""
    arguments: Mapping[str, Any]
    expected: Any
    """What is claimed to come back, as JSON."""
    cards: int = 1
    """How many the question needs."""
    group: str = ""
    """Questions of one group are asked in one process, in their order."""
    alone: bool = False
    """It has a process of its own: it changes the process, or what is said only once in one."""
    environment: Mapping[str, str] = {}
    """Variables that must be there when Python starts."""
    seconds: float = 60
    """After which it counts as hung."""
    quick: bool = False
    """Whether ``--quick`` asks it."""
    counts: bool = True
    """Whether it is a claim; else it only prepares those after it in its group."""

    @property
    def area(self) -> str:
        """The part of the id before the first slash."""
        return self.id.partition("/")[0]


class Unchecked(msgspec.Struct, frozen=True):
    """A claim that no question can be made of."""

    area: str
    subject: str
    why: str


class Plan(msgspec.Struct, frozen=True):
    """What is asked of a machine, and what is not."""

    checks: tuple[Check, ...]
    unchecked: tuple[Unchecked, ...]
