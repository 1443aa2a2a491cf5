"""Compares two captures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from npuify.knowledge import tolerances
from npuify.language import commas, phrase
from npuify.verify.comparison.sources.capture import read

from . import expected, optimizer_steps, refusals, training
from .backward import Backward
from .declared import settings
from .forward import PROGRAM, Forward
from .limits import module_limit
from .matching import Pairs, pair
from .metrics import Meter, spacing
from .result import TITLES, Comparison, Difference, LossPair, Point, Side

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from .model import Capture, Rank

_POINTS = 4000
_DIFFERENCES = 60


def compare(a: Path, b: Path, *, allow: Collection[str] = ()) -> Comparison:
    """Hold capture ``b`` (the migrated program) against ``a`` (the original).

    Args:
        allow: names of refusals to overrule, of :data:`refusals.ALLOWABLE`.

    Raises:
        Refused: the comparison would prove nothing.
        NpuifyError: one of them is no capture, or NumPy is missing.
    """
    return compare_captures(read(a), read(b), allow=allow)


def compare_captures(a: Capture, b: Capture, *, allow: Collection[str] = ()) -> Comparison:
    """As :func:`compare`, for captures that have been read."""
    remarks = refusals.before_matching(a, b, allow)
    differences: list[Difference] = []
    points: list[Point] = []
    losses: list[LossPair] = []
    matched, only = 0, (0, 0)
    theirs = dict(_numbered(b.ranks))
    for number, left in _numbered(a.ranks):
        right = theirs.get(number)
        if right is None or not left.calls or not right.calls:
            continue
        pairs = pair(left, right)
        found, own_points, own_losses = _rank(left, right, pairs, allow)
        explained = [expected.explained(one, a, b, (left, right)) for one in found]
        differences += [_of_rank(one, left.rank) for one in map(_softened, explained)]
        matched += len(pairs.calls)
        only = (only[0] + len(pairs.only_a), only[1] + len(pairs.only_b))
        if not points:
            points, losses = own_points, own_losses
    differences += _ended(a, b)
    order = {"error": 0, "warning": 1, "note": 2}
    differences.sort(key=lambda one: (one.step, one.at, order[one.severity], one.rank))
    errors = [one for one in differences if one.severity == "error"]
    first = errors[0] if errors else None
    forward = [point for point in points if point.direction == "forward"]
    return Comparison(
        agrees=first is None,
        verdict=_verdict(first, a, b),
        a=_side(a),
        b=_side(b),
        first=first,
        differences=tuple(differences[:_DIFFERENCES]),
        points=tuple(_thinned(points)),
        losses=tuple(losses),
        remarks=tuple(remarks + _remarks(a, b, points, only)),
        matched=matched,
        unmatched=only,
        worst=max((point.error for point in forward), default=0.0),
    )


def _ended(a: Capture, b: Capture) -> list[Difference]:
    """A program that failed before the other was done: what agrees up to there proves little."""
    steps = [max((call.step for rank in one.ranks for call in rank.calls), default=0) for one in (a, b)]
    failed = [(side, one, step) for side, one, step in (("A", a, steps[0]), ("B", b, steps[1])) if one.code]
    if len(failed) != 1:
        return []
    side, one, step = failed[0]
    how = (
        phrase("exited with code {code}", code=one.code)
        if one.code > 0
        else phrase("was killed by signal {value}", value=-one.code)
    )
    return [
        Difference(
            kind="ended",
            severity="error",
            name=PROGRAM,
            message=phrase(
                "{side}'s program {how} in step {step}; the other one's did not", side=side, how=how, step=step
            ),
            step=step,
            at=1 << 62,
        )
    ]


def _numbered(ranks: Sequence[Rank]) -> Iterator[tuple[tuple[int, int], Rank]]:
    """Processes by rank, and by which of that rank they are: a script may run one program after the other."""
    seen: dict[int, int] = {}
    for rank in ranks:
        seen[rank.rank] = seen.get(rank.rank, 0) + 1
        yield (rank.rank, seen[rank.rank]), rank


def _rank(
    a: Rank, b: Rank, pairs: Pairs, allow: Collection[str]
) -> tuple[list[Difference], list[Point], list[LossPair]]:
    meter = Meter(host=a.host and b.host)
    senseless = refusals.after_matching(a, b, pairs, meter, allow)
    if any(one.kind == "data-order" for one in senseless):
        return senseless, [], training.losses(a, b)[0]
    forward = Forward(pairs, meter, training.parameter_errors(pairs, meter))
    found = senseless + training.modes(pairs) + settings(pairs, a, b) + forward.walk()
    losses, of_loss = training.losses(a, b, forward)
    backward = Backward(a, b, pairs, meter, forward)
    found += backward.walk()
    found += training.frozen(pairs, a, b)
    found += optimizer_steps.optimizers(a, b)
    found += optimizer_steps.used_gradients(pairs, meter, a, b)
    found += optimizer_steps.updates(pairs, meter, a, b)
    found += training.buffers(pairs, meter, forward)
    found += of_loss
    found += expected.float64_lost(pairs, meter, b)
    found += _structure(pairs)
    points = sorted([*forward.points, *backward.points], key=lambda point: point.order)
    if not any(one.severity == "error" for one in found):
        found += _drift(forward.points, losses)
    return found, points, losses


_GROWN = 4.0
"""How many times its limit an error may become through many modules before it is told."""


def _drift(points: list[Point], losses: list[LossPair]) -> list[Difference]:
    """Errors that became large although none did so at once."""
    wide = [point for point in points if point.error > _GROWN * point.limit and point.error < 1e30]
    apart = max((loss.relative_error for loss in losses), default=0.0)
    if not wide and apart <= tolerances.limit("any", "loss", "mean_relative_error"):
        return []
    if not points:
        return []
    largest = max(points, key=lambda point: point.error if point.error < 1e30 else 0.0)
    begun = wide[0] if wide else largest
    return [
        Difference(
            kind="drift",
            severity="warning",
            name=begun.name,
            message=phrase(
                "errors grow from module to module, up to {error:.2g} at {name}, the loss's is "
                "{apart:.2g}; nowhere by a factor of ten at once, so no single module is to blame",
                error=largest.error,
                name=largest.name,
                apart=apart,
            ),
            step=begun.step,
            phase=begun.phase,
            at=begun.order,
            error=begun.error,
            before=begun.before,
            limit=begun.limit,
        )
    ]


def _structure(pairs: Pairs) -> list[Difference]:
    """Modules that only one side calls, where the other never does."""
    known_a = {call.name for call, _ in pairs.calls} | {call.name for call in pairs.only_a}
    known_b = {call.name for _, call in pairs.calls} | {call.name for call in pairs.only_b}
    found = []
    for calls, others, side in ((pairs.only_a, known_b, "A"), (pairs.only_b, known_a, "B")):
        names = list(dict.fromkeys(call.name for call in calls if call.name not in others and not call.operator))
        if names:
            more = phrase(" and {value} more", value=len(names) - 4) if len(names) > 4 else ""
            found.append(
                Difference(
                    kind="structure",
                    severity="warning",
                    name=names[0],
                    message=phrase("only {side} calls {names}{more}", side=side, names=commas(names[:4]), more=more),
                    at=calls[0].start,
                    step=calls[0].step,
                )
            )
    return found


def _softened(difference: Difference) -> Difference:
    """What the device explains is no error of the program."""
    import msgspec

    if difference.severity == "error" and any(one.expected for one in difference.explanations):
        return msgspec.structs.replace(difference, severity="warning")
    return difference


def _of_rank(difference: Difference, rank: int) -> Difference:
    import msgspec

    return msgspec.structs.replace(difference, rank=rank) if rank else difference


def _verdict(first: Difference | None, a: Capture, b: Capture) -> str:
    if first is None:
        return phrase(
            "{target} computes the same as {reference}, up to rounding",
            target=b.device or "B",
            reference=a.device or "A",
        )
    name = "" if first.name in TITLES[first.kind] else f"{first.name}: "
    return f"{name}{TITLES[first.kind]}"


def _side(capture: Capture) -> Side:
    first = capture.ranks[0]
    steps = {call.step for rank in capture.ranks for call in rank.calls}
    return Side(
        source=capture.source,
        form=capture.form,
        device=capture.device,
        device_name=capture.device_name,
        torch=str(first.process.get("torch", "")),
        torch_npu=str(first.process.get("torch_npu", "")),
        tensorflow=str(first.process.get("tensorflow", "")),
        simulated=bool(first.process.get("simulated", False)),
        ranks=len(capture.ranks),
        steps=len(steps),
        calls=sum(len(rank.calls) for rank in capture.ranks),
        gradients=sum(len(rank.gradients) for rank in capture.ranks),
        seed=capture.settings.get("seed"),
        notes=tuple(dict.fromkeys([*capture.notes, *(note for rank in capture.ranks for note in rank.notes)])),
    )


def _remarks(a: Capture, b: Capture, points: list[Point], only: tuple[int, int]) -> list[str]:
    found = []
    if "simulated" in a.device or "simulated" in b.device:
        found.append(
            "One side is simulated: its numbers are the CPU's. This shows that the migrated program computes the "
            "same, not an NPU's accuracy."
        )
    coarse = {point.limit for point in points if point.direction == "forward" and point.limit > module_limit("float32")}
    if coarse:
        found.append(
            phrase(
                "Half-precision types round: an error that changes a module's result by less than "
                "{coarse:.1g} cannot be told from that. Capture in float32 to see more.",
                coarse=max(coarse),
            )
        )
    single = module_limit("float32")
    if any(point.limit == single for point in points) and not (a.ranks[0].host and b.ranks[0].host):
        small = module_limit("float32", host=True)
        found.append(
            phrase(
                "Kernels of two devices may differ by {single:.1g}: a smaller error cannot be "
                "distinguished from that. Compare the migrated program on a simulated NPU with the "
                "original on the CPU to see errors from {small:.0e} up.",
                single=single,
                small=small,
            )
        )
    if expected.reduced_precision(a.ranks[0], b.ranks[0]):
        found.append(
            phrase(
                "One side multiplies float32 in TF32 or HF32, to about {spacing:.0e}: turn that off to see more.",
                spacing=spacing("hf32"),
            )
        )
    if any(only):
        found.append(
            phrase("{only} calls are only in A, {only2} only in B; they are not compared.", only=only[0], only2=only[1])
        )
    for side, capture in (("A", a), ("B", b)):
        found += [f"{side}: {note}." for rank in capture.ranks[:1] for note in rank.notes]
        found += [f"{side}: {note}." for note in capture.notes]
    if not any(rank.gradients for rank in a.ranks):
        found.append("No gradients were captured: only the forward was compared.")
    return list(dict.fromkeys(found))


def _thinned(points: list[Point]) -> list[Point]:
    """At most so many points, of the first steps, and always those that are amplified."""
    if len(points) <= _POINTS:
        return points
    every = math.ceil(len(points) / _POINTS)
    return [point for index, point in enumerate(points) if point.amplified or index % every == 0]
