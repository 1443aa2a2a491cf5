"""The section of the page that lists what was left alone, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped, shortened
from npuify.language import phrase, told
from npuify.report.ledger import cleared_by_reason, counted_reason, in_words, ledger_of
from npuify.report.summary import counted

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
        f'<section class="card wide" id="left-alone"><h2>{phrase("Left alone, and why")}</h2>'
        f"<p>{escaped(phrase('Places that concern CUDA: {counts}.', counts=counts))}</p>{groups}</section>"
    )


def _group(group: Group) -> str:
    reason, entries = group
    places = "".join(_place(entry) for entry in entries[:_MOST_PLACES])
    files = Counter(entry.file for entry in entries[_MOST_PLACES:])
    rest = phrase(
        "and {number} more in {files}: npuify scan --ledger lists all",
        number=sum(files.values()),
        files=counted(len(files), "file"),
    )
    more = f"<p>{rest}</p>" if files else ""
    return (
        f"<details><summary><b>{escaped(counted_reason(reason))}</b> "
        f'<small class="dim"><code>{escaped(told(reason.reason))}</code></small></summary>'
        f"<p>{escaped(told(reason.text))}</p>"
        f"<ul>{places}</ul>{more}</details>"
    )


def _place(entry: LedgerEntry) -> str:
    because = (
        f' <small class="dim">{escaped(shortened(told(entry.because), _LONGEST))}</small>' if entry.because else ""
    )
    place = f"{shortened(entry.file, _LONGEST)}:{entry.line}:{entry.column}"
    return f"<li><bdi>{escaped(place)}</bdi> <code>{escaped(shortened(entry.word, _LONGEST))}</code>{because}</li>"
