"""What became of every place that concerns CUDA: counts for each report, and the places that were left alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.engine.ledger.reasons import REASONS
from npuify.language import commas, phrase, plural
from npuify.model import LedgerEntry, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAMED = 4
"""Reasons that the sentence of counts names."""


class ReasonCount(msgspec.Struct, frozen=True):
    """How many places were cleared for one reason."""

    reason: str
    """Its stable id."""
    count: int
    title: str
    """What is counted, in the plural."""
    text: str
    """What the reason rests on."""


class Ledger(msgspec.Struct, frozen=True):
    """Every place that concerns CUDA, counted by what became of it."""

    edited: int
    """An edit is offered for it."""
    reported: int
    """A finding speaks of it."""
    cleared: int
    """It needs nothing, and the reason is known."""
    reasons: tuple[ReasonCount, ...]
    """The most frequent first."""
    entries: tuple[LedgerEntry, ...] = ()
    """Every place; empty unless the ledger was asked for."""


class Group(NamedTuple):
    """The places that were cleared for one reason."""

    reason: ReasonCount
    entries: Sequence[LedgerEntry]


def ledger_of(entries: Sequence[LedgerEntry], *, whole: bool = False) -> Ledger:
    """The counts over a ledger, and with ``whole`` its entries as well."""
    states = Counter(entry.state for entry in entries)
    cleared = Counter(entry.by for entry in entries if entry.state is State.CLEARED)
    reasons = tuple(
        ReasonCount(reason, count, phrase(REASONS[reason].many), phrase(REASONS[reason].text))
        for reason, count in sorted(cleared.items(), key=lambda item: (-item[1], item[0]))
    )
    return Ledger(
        edited=states[State.EDITED],
        reported=states[State.REPORTED],
        cleared=states[State.CLEARED],
        reasons=reasons,
        entries=tuple(entries) if whole else (),
    )


def in_words(ledger: Ledger) -> str:
    """ "edited 41 · reported 12 · left alone 17 (9 paths, 5 messages, 3 keys)"; empty where nothing concerns CUDA."""
    if not ledger.edited + ledger.reported + ledger.cleared:
        return ""
    named = [counted_reason(one) for one in ledger.reasons[:_NAMED]]
    more = sum(one.count for one in ledger.reasons[_NAMED:])
    why = commas([*named, phrase("{more} more", more=more)] if more else named)
    alone = phrase("left alone {cleared}", cleared=ledger.cleared) + (phrase(" ({why})", why=why) if why else "")
    return phrase(
        "edited {edited} · reported {reported} · {alone}", edited=ledger.edited, reported=ledger.reported, alone=alone
    )


def cleared_by_reason(entries: Iterable[LedgerEntry]) -> list[Group]:
    """The places that were cleared, by reason; the most frequent reason first."""
    groups: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        if entry.state is State.CLEARED:
            groups.setdefault(entry.by, []).append(entry)
    counts = {one.reason: one for one in ledger_of([entry for group in groups.values() for entry in group]).reasons}
    return [Group(counts[reason], groups[reason]) for reason in counts]


def counted_reason(one: ReasonCount) -> str:
    """ "9 paths", "1 message"."""
    return plural(f"{{count}} {REASONS[one.reason].one}", f"{{count}} {REASONS[one.reason].many}", one.count)
