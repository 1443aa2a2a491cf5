"""Charts as SVG: stacked bars of places, and ranges of hours. Colours are those of the page's style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.report.html.escape import escaped, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.report.effort import Part

_WIDTH: Final = 560
_ROW: Final = 28
_LABEL: Final = 230
_VALUE: Final = 44
_NAMED: Final = 30
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
    room = _WIDTH - _LABEL - _VALUE
    rows = []
    for number, bar in enumerate(bars):
        y, x, total = number * _ROW, float(_LABEL), sum(bar.counts.values())
        parts = []
        for status in statuses:
            count = bar.counts.get(status, 0)
            if count:
                width = max(room * count / most, 1.5)
                parts.append(
                    f'<rect class="s-{status}" x="{x:.1f}" y="{y + 6}" width="{width:.1f}" height="16" rx="2"/>'
                )
                x += width + 1
        told = ", ".join(f"{bar.counts[status]} {status}" for status in statuses if bar.counts.get(status))
        rows.append(
            f'<g class="bar" data-kind="{escaped(kind)}" data-value="{escaped(bar.filter or bar.label)}" '
            f'tabindex="0" role="button"><title>{escaped(bar.label)}: {escaped(told)}</title>'
            f'<rect class="hit" x="0" y="{y}" width="{_WIDTH}" height="{_ROW}"/>'
            f'<text class="label" x="{_LABEL - 10}" y="{y + 18}">{escaped(_named(bar.label))}</text>'
            f'{"".join(parts)}<text class="value" x="{x + 5:.1f}" y="{y + 18}">{total}</text></g>'
        )
    return _svg(len(bars) * _ROW, title, "".join(rows))


def ranges(parts: Sequence[Part], title: str) -> str:
    """A line from the low to the high end of each part, in hours."""
    most = max((part.high for part in parts), default=0) or 1
    room = _WIDTH - _LABEL - _VALUE - 40
    rows = []
    for number, part in enumerate(parts):
        y = number * _ROW
        start, end = (_LABEL + room * value / most for value in (part.low, part.high))
        rows.append(
            f"<g><title>{escaped(part.name)}: {_hours(part.low)} to {_hours(part.high)} hours ({escaped(part.basis)})"
            f'</title><text class="label" x="{_LABEL - 10}" y="{y + 18}">{escaped(_named(part.name))}</text>'
            f'<line class="track" x1="{_LABEL}" x2="{_LABEL + room}" y1="{y + 14}" y2="{y + 14}"/>'
            f'<rect class="range" x="{start:.1f}" y="{y + 8}" width="{max(end - start, 3):.1f}" height="12" rx="6"/>'
            f'<text class="value" x="{end + 7:.1f}" y="{y + 18}">{_hours(part.low)}–{_hours(part.high)} h</text></g>'
        )
    return _svg(len(parts) * _ROW, title, "".join(rows))


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
                f"<title>{count} {status}</title></rect>"
            )
            x += width
    return (
        f'<svg class="proportions" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" '
        f'aria-label="{escaped(title)}">{"".join(parts)}</svg>'
    )


def _svg(height: int, title: str, content: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {max(height, 1)}" role="img" aria-label="{escaped(title)}">'
        f"{content}</svg>"
    )


def _named(label: str) -> str:
    """``label`` as far as it fits; of a path, the end."""
    if "/" in label and len(label) > _NAMED:
        return "…" + label[1 - _NAMED :]
    return shortened(label, _NAMED)


def _hours(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")
