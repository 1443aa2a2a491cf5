"""The section of the page that lists what was left alone, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped, shortened
from npuify.report.ledger import cleared_by_reason, in_words, ledger_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import LedgerEntry
    from npuify.report.ledger import Group

_MOST_PLACES: Final = 200
"""Places of one reason that are listed."""
_LONGEST: Final = 100
"""Characters of a file name, name or explanation."""


def left_alone(entries: Sequence[LedgerEntry]) -> str:
    """The section; empty where nothing concerns CUDA."""
    counts = in_words(ledger_of(entries))
    if not counts:
        return ""
    groups = "".join(_group(group) for group in cleared_by_reason(entries))
    return (
        '<section class="card wide" id="left-alone"><h2>Left alone, and why</h2>'
        f"<p>Places that concern CUDA: {escaped(counts)}.</p>{groups}</section>"
    )


def _group(group: Group) -> str:
    reason, entries = group
    places = "".join(_place(entry) for entry in entries[:_MOST_PLACES])
    files = Counter(entry.file for entry in entries[_MOST_PLACES:])
    more = (
        f"<p>and {sum(files.values())} more in {len(files)} files: npuify scan --ledger lists all</p>" if files else ""
    )
    return (
        f"<details><summary><b>{reason.count}</b> {escaped(reason.title)} "
        f'<small class="dim">{escaped(reason.reason)}</small></summary><p>{escaped(reason.text)}</p>'
        f"<ul>{places}</ul>{more}</details>"
    )


def _place(entry: LedgerEntry) -> str:
    because = f' <small class="dim">{escaped(shortened(entry.because, _LONGEST))}</small>' if entry.because else ""
    place = f"{shortened(entry.file, _LONGEST)}:{entry.line}:{entry.column}"
    return f"<li><bdi>{escaped(place)}</bdi> <code>{escaped(shortened(entry.word, _LONGEST))}</code>{because}</li>"
