"""A comparison as one HTML page that opens offline and runs no script: what comes from captures is escaped."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.html.escape import prose, shortened
from npuify.html.frame import framed
from npuify.language import phrase
from npuify.version import __version__

from .text import lines_of, number, side_in_short, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .result import Comparison, Difference, LossPair, Point

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 900, 260, 58, 26
_DRAWN = 1500
_ROWS = 25


def page(result: Comparison) -> str:
    """The whole page."""
    style = (Path(__file__).resolve().parent / "page.css").read_text(encoding="utf-8")
    state = "good" if result.agrees else "bad"
    others = [one for one in result.differences if one is not result.first]
    sections = [
        _difference(result.first, "The first difference") if result.first is not None else "",
        "".join(_plot(result.points, direction, result.first) for direction in ("forward", "backward")),
        _losses(result.losses),
        "".join(_table(worst(result.points, direction, _ROWS), direction) for direction in ("forward", "backward")),
        f"<h2>{phrase('Other differences')}</h2>" + "".join(_difference(one, one.severity) for one in others[:40])
        if others
        else "",
        f"<h2>{phrase('What to know')}</h2><ul>" + "".join(f"<li>{prose(one)}</li>" for one in result.remarks) + "</ul>"
        if result.remarks
        else "",
    ]
    told_verdict = (
        phrase("Agree: {verdict}", verdict=result.verdict)
        if result.agrees
        else phrase("Differ: {verdict}", verdict=result.verdict)
    )
    return framed(
        phrase("npuify verify compare: {shortened}", shortened=shortened(result.verdict, 80)),
        style,
        f"""<p class="dim">npuify verify compare {prose(__version__)}</p>
<h1 class="{state}">{prose(told_verdict)}</h1>
<table class="sides"><tr><th>A</th><td>{prose(side_in_short(result.a))}</td></tr>
<tr><th>B</th><td>{prose(side_in_short(result.b))}</td></tr></table>
{"".join(sections)}""",
    )


def _difference(one: Difference, title: str) -> str:
    first, *rest = lines_of(one)
    body = "".join(f"<p>{prose(line.strip())}</p>" for line in rest)
    head = f'<p class="dim">{prose(title)}</p><p><b>{prose(first)}</b></p>'
    return f'<article class="{one.severity}">{head}{body}</article>'


def _plot(points: Sequence[Point], direction: str, first: Difference | None) -> str:
    """Errors in the order of time, logarithmic, with the limit that each is held against, and the first difference."""
    rows = [point for point in points if point.direction == direction]
    if not rows:
        return ""
    every = max(1, math.ceil(len(rows) / _DRAWN))
    rows = [point for index, point in enumerate(rows) if index % every == 0 or point.amplified]
    sizes = [value for point in rows for value in (point.error, point.limit) if 0 < value < 1e30]
    low = math.floor(math.log10(max(min(sizes, default=1e-8), 1e-17)))
    high = math.ceil(math.log10(max(sizes, default=1.0))) + (any(point.error >= 1e30 for point in rows))
    high = max(high, low + 1)
    room, tall = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - 10

    def x(index: float) -> float:
        return _LEFT + room * (index + 0.5) / len(rows)

    def y(value: float) -> float:
        exponent = math.log10(value) if value > 0 else low
        return 10 + tall * (1 - (min(max(exponent, low), high) - low) / (high - low))

    step = max(1, (high - low) // 8)
    grid = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y(10.0**power):.1f}" y2="{y(10.0**power):.1f}"/>'
        f'<text class="axis" x="{_LEFT - 6}" y="{y(10.0**power) + 4:.1f}">1e{power}</text>'
        for power in range(low, high + 1, step)
    )
    line = " ".join(f"{x(index):.1f},{y(point.error):.1f}" for index, point in enumerate(rows))
    limit = " ".join(f"{x(index):.1f},{y(point.limit):.1f}" for index, point in enumerate(rows))
    dots = "".join(
        f'<circle class="{"hit" if point.amplified else "dot"}" cx="{x(index):.1f}" cy="{y(point.error):.1f}" '
        f'r="{4 if point.amplified else 2}"><title>{prose(_tooltip(point))}</title></circle>'
        for index, point in enumerate(rows)
    )
    marks = "".join(
        f'<line class="step" x1="{x(index - 0.5):.1f}" x2="{x(index - 0.5):.1f}" y1="10" y2="{10 + tall}"/>'
        f'<text class="axis step" x="{x(index - 0.5) + 4:.1f}" y="{_HEIGHT - 8}">'
        f"{phrase('step {step}', step=rows[index].step)}</text>"
        for index in range(len(rows))
        if not index or rows[index].step != rows[index - 1].step
    )
    kinds = {"forward": ("forward", "overflow"), "backward": ("backward",)}[direction]
    if first is not None and first.kind in kinds:
        at = next((index for index, point in enumerate(rows) if point.order >= first.at), len(rows) - 1)
        side = x(at) > _WIDTH / 2
        marks += (
            f'<line class="first" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="10" y2="{10 + tall}"/>'
            f'<text class="first{" left" if side else ""}" x="{x(at) + (-6 if side else 6):.1f}" y="22">'
            f"{prose(shortened(first.name, 60))}</text>"
        )
    title, described = _plot_in_words(direction)
    return (
        f'<h2>{title}</h2><p class="dim">{described}</p><figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{title}">{grid}{marks}<polyline class="limit" points="{limit}"/><polyline class="curve" '
        f'points="{line}"/>{dots}</svg></figure>'
    )


def _plot_in_words(direction: str) -> tuple[str, str]:
    """The heading of the errors along ``direction``, and what the picture shows."""
    return {
        "forward": (
            phrase("Error along the forward"),
            phrase(
                "Relative error of module results, in order of computation; dashed: the limit; large dots: the output "
                "error is at least ten times the input error."
            ),
        ),
        "backward": (
            phrase("Error along the backward"),
            phrase(
                "Relative error of gradients, from the loss back to the data; dashed: the limit; large dots: the "
                "output error is at least ten times the input error."
            ),
        ),
    }[direction]


def _tooltip(point: Point) -> str:
    return phrase(
        "{name}, step {step} {phase}: {number} (given {number2})",
        name=point.name,
        step=point.step,
        phase=point.phase,
        number=number(point.error),
        number2=number(point.before),
    )


def _losses(losses: Sequence[LossPair]) -> str:
    if not losses:
        return ""
    body = "".join(
        f"<tr><td>{loss.step}</td><td>{number_long(loss.a)}</td><td>{number_long(loss.b)}</td>"
        f"<td>{number(loss.relative_error)}</td></tr>"
        for loss in losses[:200]
    )
    return (
        f"<h2>{phrase('Loss')}</h2><table><tr><th>{phrase('step')}</th><th>A</th><th>B</th>"
        f"<th>{phrase('relative error')}</th></tr>{body}</table>"
    )


def number_long(value: float) -> str:
    """A value with the digits that a loss is read by."""
    return phrase("not finite") if abs(value) >= 1e30 else f"{value:.7g}"


def _table(points: Sequence[Point], direction: str) -> str:
    if not points:
        return ""
    head = "".join(
        f"<th>{name}</th>"
        for name in (
            "module",
            "step",
            "error",
            "given",
            "limit",
            "cosine",
            "mean rel.",
            "max rel.",
            "over 1/1000",
            "ULP",
        )
    )
    body = "".join(
        f'<tr class="{"hit" if point.amplified else ""}"><td><code>{prose(point.name)}</code></td>'
        f"<td>{point.step}</td>"
        f"<td>{number(point.error)}</td><td>{number(point.before)}</td><td>{number(point.limit)}</td>"
        f"<td>{'-' if point.cosine is None else f'{point.cosine:.6f}'}</td><td>{number(point.mean_relative_error)}</td>"
        f"<td>{number(point.max_relative_error)}</td><td>{number(point.share_over_thousandth)}</td>"
        f"<td>{number(point.ulp_share)}</td></tr>"
        for point in points
    )
    title = {"forward": "Worst results", "backward": "Worst gradients"}[direction]
    return f"<h2>{title}</h2><table><tr>{head}</tr>{body}</table>"
