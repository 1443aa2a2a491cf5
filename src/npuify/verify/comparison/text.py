"""A comparison as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import padded, phrase, plural, told, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .result import Comparison, Difference, Point, Side

_WORST = 8
_SHOWN = 12


def side_in_short(side: Side) -> str:
    """One line on a capture."""
    name = f" ({side.device_name})" if side.device_name else ""
    npu = phrase(", torch_npu {torch_npu}", torch_npu=side.torch_npu) if side.torch_npu else ""
    ranks = phrase(", {number} processes", number=side.ranks) if side.ranks > 1 else ""
    steps = plural("{count} step", "{count} steps", side.steps)
    torch = phrase(", torch {version}", version=side.torch) if side.torch else ""
    if side.tensorflow:
        torch = phrase(", TensorFlow {version}", version=side.tensorflow)
    return phrase(
        "{source}: {device}{torch}{npu}, {steps}{ranks}, {calls} calls",
        source=side.source,
        device=f"{side.device or phrase('unknown device')}{name}",
        torch=torch,
        npu=npu,
        steps=steps,
        ranks=ranks,
        calls=side.calls,
    )


def lines_of(difference: Difference) -> list[str]:
    """A difference, told in some lines."""
    place = f" ({difference.place})" if difference.place else ""
    rank = phrase(", rank {rank}", rank=difference.rank) if difference.rank else ""
    rows = [
        phrase(
            "{name}, step {step}{phase}{rank}",
            name=f"{difference.name}{place}",
            step=difference.step,
            phase=f" {difference.phase}" if difference.phase else "",
            rank=rank,
        ),
        f"  {told(difference.message)}",
    ]
    if difference.where:
        rows.append("  " + phrase("where: {where}", where=difference.where))
    for one in difference.explanations:
        text = phrase("expected: {text}", text=one.text) if one.expected else phrase("look at: {text}", text=one.text)
        rows.append(f"  {text} [{one.evidence.value}]")
    return rows


def worst(points: tuple[Point, ...], direction: str, count: int = _WORST) -> list[Point]:
    """The points with the largest errors of one direction, each module once."""
    found: dict[str, Point] = {}
    for point in sorted((one for one in points if one.direction == direction), key=lambda one: -one.error):
        found.setdefault(point.name, point)
    return [point for point in found.values() if point.error > 0][:count]


def number(value: float | None) -> str:
    """An error as a person reads it."""
    if value is None:
        return "-"
    return phrase("infinite") if value >= 1e30 else "0" if value == 0 else f"{value:.2g}"


def lines(result: Comparison) -> Iterator[str]:
    """The whole text, line by line."""
    yield (
        phrase("agree: {verdict}", verdict=result.verdict)
        if result.agrees
        else phrase("differ: {verdict}", verdict=result.verdict)
    )
    yield f"  A  {side_in_short(result.a)}"
    yield f"  B  {side_in_short(result.b)}"
    if result.first is not None:
        yield ""
        yield phrase("The first difference:")
        yield from (f"  {line}" for line in lines_of(result.first))
    others = [one for one in result.differences if one is not result.first]
    if others:
        yield ""
        yield (
            phrase("Other differences, often consequences of it:")
            if result.first is not None
            else phrase("Worth knowing:")
        )
        for one in others[:_SHOWN]:
            yield from (f"  {line}" for line in [f"[{one.severity}] {lines_of(one)[0]}", *lines_of(one)[1:]])
        if len(others) > _SHOWN:
            yield phrase("  and {value} more (--format json has them)", value=len(others) - _SHOWN)
    titles = (("forward", phrase("Largest errors of results")), ("backward", phrase("Largest errors of gradients")))
    for direction, title in titles:
        rows = worst(result.points, direction)
        if rows:
            yield ""
            columns = (phrase("error"), phrase("given"), phrase("limit"), phrase("cosine"))
            names = "".join(padded(name, 9, right=True) for name in columns)
            head = phrase("{title}:", title=title)
            yield f"{head}{names}  {phrase('module')}"
            for point in rows:
                cosine = "-" if point.cosine is None else f"{point.cosine:.6f}"
                mark = phrase("  ← amplified") if point.amplified else ""
                yield (
                    f"{number(point.error):>{width_of(head) + 9}} {number(point.before):>8} {number(point.limit):>8} "
                    f"{cosine:>8}  {point.name}{mark}"
                )
    if result.losses:
        yield ""
        yield phrase("Loss:")
        for loss in result.losses[:_SHOWN]:
            yield phrase(
                "  step {step}: A {a:.7g}, B {b:.7g} (relative error {number})",
                step=loss.step,
                a=loss.a,
                b=loss.b,
                number=number(loss.relative_error),
            )
    if result.remarks:
        yield ""
        yield from (f"* {told(remark)}" for remark in result.remarks)
