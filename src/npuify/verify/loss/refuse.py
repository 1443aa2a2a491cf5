"""Pairs of curves that say nothing about each other are refused, each kind under its own name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase

from .model import Curve, Refusal
from .points import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST: Final = 3
"""Points below which nothing is said."""
_OTHER: Final = re.compile(r"(^|[^a-z])(val|valid|validation|eval|evaluation|test|dev)([^a-z]|$)")


def check_files(reference: Path, target: Path, *, allow_identical: bool = False) -> None:
    """Refuse one file given twice, or a copy of it.

    Raises:
        Refusal: ``same-file`` or ``same-content``.
    """
    if reference.resolve() == target.resolve() or (
        reference.exists() and target.exists() and reference.samefile(target)
    ):
        raise Refusal(
            "same-file",
            phrase("{reference} was given twice", reference=reference),
            advice="specify the reference's log, then the NPU's",
        )
    if allow_identical or not (reference.is_file() and target.is_file()):
        return
    if reference.stat().st_size == target.stat().st_size and _digest(reference) == _digest(target):
        raise Refusal(
            "same-content",
            phrase("{target} is, byte for byte, {reference}", target=target, reference=reference),
            advice="if these really are two runs with the same numbers, use --allow-identical",
        )


def _digest(path: Path) -> bytes:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(1 << 20):
            found.update(data)
    return found.digest()


def comparable(reference: Curve, target: Curve, *, common: bool = False, offset: int = 0) -> tuple[Curve, Curve]:
    """Both curves on the same steps.

    Args:
        common: whether to leave out steps that only one of them has.
        offset: added to the target's steps first.

    Raises:
        Refusal: ``different-metric``, ``too-short``, ``step-offset``, ``different-steps``, ``different-lengths``,
            ``constant``.
    """
    if _is_other(reference.metric) != _is_other(target.metric):
        raise Refusal(
            "different-metric", f"{reference.metric!r} against {target.metric!r}", advice="choose one with --metric"
        )
    for curve in (reference, target):
        if len(curve.steps) < FEWEST:
            raise Refusal(
                "too-short",
                phrase(
                    "{file} has {points}; at least {FEWEST} are needed",
                    file=curve.file,
                    points=counted(len(curve.steps), "point"),
                    FEWEST=FEWEST,
                ),
            )
    if offset:
        target = msgspec.structs.replace(target, steps=tuple(step + offset for step in target.steps))
    if reference.steps != target.steps:
        if not common:
            _refuse_steps(reference, target)
        reference, target = _on_common_steps(reference, target)
    for curve in (reference, target):
        if len(curve.steps) > FEWEST and len(set(curve.values)) == 1:
            raise Refusal(
                "constant",
                phrase("the loss in {file} is {values:g} at every step", file=curve.file, values=curve.values[0]),
                advice="a loss that never changes means that nothing was trained, or the wrong number was read; see "
                "--metric",
            )
    return reference, target


def _refuse_steps(reference: Curve, target: Curve) -> None:
    one, two = reference.steps, target.steps
    if len(one) == len(two):
        shifts = {a - b for a, b in zip(one, two, strict=False)}
        if len(shifts) == 1:
            shift = shifts.pop()
            raise Refusal(
                "step-offset",
                phrase(
                    "each step of {file} is {abs} {value} than its counterpart",
                    file=target.file,
                    abs=abs(shift),
                    value="less" if shift > 0 else "more",
                ),
                advice=phrase("if one counts from 0 and the other from 1: --offset {shift}", shift=shift),
            )
    shared = len(set(one) & set(two))
    if reference.counted or target.counted:
        raise Refusal(
            "different-lengths",
            phrase(
                "{file} has {points}, {file2} {points2}, and there are no step numbers to match them",
                file=reference.file,
                points=counted(len(one), "point"),
                file2=target.file,
                points2=counted(len(two), "point"),
            ),
            advice="log step numbers, run both for the same length, or cut the longer one with --common",
        )
    raise Refusal(
        "different-steps",
        phrase(
            "{file} has steps {range}, {file2} {range2}; {shared} are in both",
            file=reference.file,
            range=_range(one),
            file2=target.file,
            range2=_range(two),
            shared=shared,
        ),
        advice=phrase(
            "run both for the same steps with the same logging interval, or compare only common steps with --common"
        )
        if shared >= FEWEST
        else phrase("run both for the same steps with the same logging interval"),
    )


def _on_common_steps(reference: Curve, target: Curve) -> tuple[Curve, Curve]:
    shared = set(reference.steps) & set(target.steps)
    if len(shared) < FEWEST:
        raise Refusal(
            "different-steps", phrase("only {points} are at common steps", points=counted(len(shared), "point"))
        )
    return _only(reference, shared), _only(target, shared)


def _only(curve: Curve, steps: set[int]) -> Curve:
    kept = [(step, value) for step, value in zip(curve.steps, curve.values, strict=False) if step in steps]
    left = len(curve.steps) - len(kept)
    notes = (
        (
            *curve.notes,
            phrase(
                "{left} of its {number} points are at steps that only it has, and were ignored",
                left=left,
                number=len(curve.steps),
            ),
        )
        if left
        else curve.notes
    )
    return msgspec.structs.replace(
        curve, steps=tuple(step for step, _ in kept), values=tuple(value for _, value in kept), notes=notes
    )


def _is_other(metric: str) -> bool:
    return bool(_OTHER.search(metric.lower()))


def _range(steps: Sequence[int]) -> str:
    gaps = sorted(b - a for a, b in zip(steps, steps[1:], strict=False))
    usual = gaps[len(gaps) // 2] if gaps else 1
    return (
        phrase("{steps} to {steps2}, every {usual}", steps=steps[0], steps2=steps[-1], usual=usual)
        if usual != 1
        else f"{steps[0]} to {steps[-1]}"
    )
