"""Lines over steps as SVG. Colours are those of the page's style sheet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.html.escape import escaped
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _Place = Callable[[float], float]

_WIDTH: Final = 900
_HEIGHT: Final = 300
_LEFT: Final = 70
_BOTTOM: Final = 34
_TOP: Final = 12
_RIGHT: Final = 12
_MOST: Final = 800
"""Points that a line is drawn with: of more, the lowest and the highest of each stretch are kept."""


class Line(NamedTuple):
    """One line: its name, its class in the style sheet, its values."""

    name: str
    style: str
    values: Sequence[float]


def plot(
    steps: Sequence[int],
    lines: Sequence[Line],
    title: str,
    *,
    logarithmic: bool = False,
    level: tuple[float, str] | None = None,
    mark: tuple[int, str] | None = None,
) -> str:
    """Lines over steps.

    Args:
        logarithmic: draw the values' logarithms; what is not above zero is left out.
        level: a value drawn across, with its name; ``mark``: a step drawn upright, with its name.
    """
    usable = [
        [value if math.isfinite(value) and (not logarithmic or value > 0) else None for value in line.values]
        for line in lines
    ]
    all_values = [value for line in usable for value in line if value is not None]
    if level is not None and all_values:
        all_values.append(level[0])
    if not all_values:
        return f'<p class="dim">{phrase("Nothing to plot: no value is a number.")}</p>'
    low, high = min(all_values), max(all_values)
    if logarithmic:
        low, high = math.log10(low), math.log10(high)
    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    margin = (high - low) * 0.05
    low, high = low - margin, high + margin
    first, last = steps[0], max(steps[-1], steps[0] + 1)

    def across(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (step - first) / (last - first)

    def up(value: float) -> float:
        place = math.log10(value) if logarithmic else value
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - (place - low) / (high - low))

    parts = [_grid(low, high, first, last, logarithmic, across, up)]
    if level is not None:
        y = up(level[0])
        parts.append(f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="levelname" x="{_WIDTH - _RIGHT - 4}" y="{y - 4:.1f}">{escaped(level[1])}</text>')
    if mark is not None:
        x = across(mark[0])
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
        parts.append(f'<text class="markname" x="{x + 4:.1f}" y="{_TOP + 12}">{escaped(mark[1])}</text>')
    for line, values in zip(lines, usable, strict=False):
        for stretch in _stretches(steps, values):
            points = " ".join(f"{across(step):.1f},{up(value):.1f}" for step, value in stretch)
            if len(stretch) == 1:
                step, value = stretch[0]
                parts.append(f'<circle class="{line.style}" cx="{across(step):.1f}" cy="{up(value):.1f}" r="2"/>')
            else:
                parts.append(f'<polyline class="{line.style}" points="{points}"/>')
    legend = "".join(f'<b class="{line.style}">&#9632;</b> {escaped(line.name)} &nbsp; ' for line in lines)
    return (
        f"<figure><figcaption>{escaped(title)} &nbsp; <span class='dim'>{legend}</span></figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(title)}">{"".join(parts)}</svg>'
        "</figure>"
    )


def _grid(low: float, high: float, first: int, last: int, logarithmic: bool, across: _Place, up: _Place) -> str:
    parts = []
    for value in _ticks(low, high):
        shown = 10**value if logarithmic else value
        y = up(shown)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}">{shown:.3g}</text>')
    for step in _ticks(first, last):
        parts.append(f'<text class="step" x="{across(step):.1f}" y="{_HEIGHT - 12}">{step:.12g}</text>')
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers between ``low`` and ``high``."""
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    start = math.ceil(low / step - 1e-9)
    return [number * step for number in range(start, math.floor(high / step + 1e-9) + 1)]


def _stretches(steps: Sequence[int], values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Unbroken pieces of a line, thinned to what can be seen."""
    size = max(1, len(values) * 2 // _MOST)
    found: list[list[tuple[int, float]]] = [[]]
    for start in range(0, len(values), size):
        piece = [(steps[place], values[place]) for place in range(start, min(start + size, len(values)))]
        finite = [(step, value) for step, value in piece if value is not None]
        if finite:
            if len(finite) > 2:
                ends = {min(finite, key=lambda one: one[1]), max(finite, key=lambda one: one[1])}
                finite = sorted(ends)
            found[-1].extend(finite)
        if len(finite) < len(piece) and any(value is None for _, value in piece) and found[-1]:
            found.append([])
    return [stretch for stretch in found if stretch]
