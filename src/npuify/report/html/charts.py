"""Charts of places and hours: rows of a label, a drawn bar and a number. Colours are those of the page's style sheet.

Only the bar is drawn (as SVG, stretched to the room there is); label and number are text of the page, so that they stay
readable on a small screen, and a row that filters is a button.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.html.escape import escaped, shortened
from npuify.language import commas, phrase, told
from npuify.report.summary import acts_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.report.verdicts.effort import Part

_FULL: Final = 1000.0
"""Width of the drawing in its own units."""
_THIN: Final = 6.0
"""The least width of a part that is not nothing."""
_NAMED: Final = 34
"""Characters of a label that fit beside a bar."""


class Bar(NamedTuple):
    """One row: its label, its counts by status, and what a click on it filters by."""

    label: str
    counts: Mapping[str, int]
    filter: str = ""


def stacked(bars: Sequence[Bar], statuses: Sequence[str], title: str, kind: str) -> str:
    """Horizontal bars, made of one part for each status.

    Args:
        statuses: in the order in which they are drawn; also the names of their colours.
        title: told to those who do not see the chart.
        kind: what a click on a bar filters by ("area", "file").
    """
    most = max((sum(bar.counts.values()) for bar in bars), default=0) or 1
    room = _FULL - _THIN * len(statuses)
    rows = []
    for bar in bars:
        x, parts = 0.0, []
        for status in statuses:
            if count := bar.counts.get(status, 0):
                width = max(room * count / most, _THIN)
                parts.append(f'<rect class="s-{status}" x="{x:.1f}" width="{width - 2:.1f}" height="16"/>')
                x += width
        said = phrase(
            "{label}: {counts}", label=shortened(bar.label, 300), counts=commas(acts_in_words(bar.counts, counted=True))
        )
        rows.append(
            f'<li><button type="button" class="bar" data-kind="{escaped(kind)}" '
            f'data-value="{escaped(bar.filter or bar.label)}" title="{escaped(said)}">'
            f"{_label(bar.label)}{_drawn(''.join(parts))}"
            f'<span class="value">{sum(bar.counts.values())}</span></button></li>'
        )
    return _chart(rows, title)


def ranges(parts: Sequence[Part], title: str) -> str:
    """A line from the low to the high end of each part, in hours."""
    most = max((part.high for part in parts), default=0) or 1
    rows = []
    for part in parts:
        start, end = ((_FULL - _THIN) * value / most for value in (part.low, part.high))
        drawn = (
            '<rect class="track" y="7" width="1000" height="2"/>'
            f'<rect class="range" x="{start:.1f}" y="2" width="{max(end - start, _THIN):.1f}" height="12"/>'
        )
        rows.append(
            f'<li class="bar" title="{escaped(told(part.basis))}">{_label(told(part.name))}{_drawn(drawn)}'
            f'<span class="value">{_range(part)}</span></li>'
        )
    return _chart(rows, title)


def proportions(counts: Mapping[str, int], title: str) -> str:
    """One bar as wide as the page, made of one part for each status."""
    total = sum(counts.values())
    if not total:
        return ""
    x, parts = 0.0, []
    for status, count in counts.items():
        if count:
            width = 1000 * count / total
            parts.append(
                f'<rect class="s-{status}" x="{x:.1f}" y="0" width="{max(width - 2, 2):.1f}" height="12">'
                f"<title>{escaped(commas(acts_in_words({status: count}, counted=True)))}</title></rect>"
            )
            x += width
    return (
        f'<svg class="proportions" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" '
        f'aria-label="{escaped(title)}">{"".join(parts)}</svg>'
    )


def _chart(rows: Sequence[str], title: str) -> str:
    return f'<ul class="chart" aria-label="{escaped(title)}">{"".join(rows)}</ul>'


def _drawn(content: str) -> str:
    return f'<svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true">{content}</svg>'


def _label(text: str) -> str:
    """``text`` as far as it fits; of a path, the end."""
    named = "…" + text[1 - _NAMED :] if "/" in text and len(text) > _NAMED else shortened(text, _NAMED)
    return f'<span class="label"><bdi>{escaped(named)}</bdi></span>'


def _range(part: Part) -> str:
    return escaped(phrase("{low}–{high} h", low=_hours(part.low), high=_hours(part.high)))


def _hours(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")
