"""The steps that take longer: some iterations, the trend of the loss, going on from a checkpoint, several cards."""

from __future__ import annotations

import math
import os
import re
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase
from npuify.model import NpuifyError
from npuify.verify.loss.model import Verdict
from npuify.verify.loss.read import read_curve
from npuify.verify.loss.run import compare_losses
from npuify.verify.loss.words import percent
from npuify.verify.steps.captured import CaptureSummary, summarize
from npuify.verify.steps.model import Status, StepResult, Where
from npuify.verify.steps.plan import checkpoints, longer, resume_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.verify.steps.bench import Bench
    from npuify.verify.steps.runner import Ran

_FALLBACK: Final = re.compile(r"^\s*(\d+) × (aten::\S+)")
_FEWEST: Final = 8
"""Steps from which on a trend can be told."""
_SAMPLES: Final = 16
_SHOWN: Final = 4
_FROM_START_TO_END: Final = "The migrated program from start to end"
_RESUME: Final = "Resuming from a checkpoint"
_HOW: Final = 'Specify the command: --resume "train.py --resume=FILE".'


def left_out(bench: Bench) -> list[StepResult]:
    """What a short acceptance does not run."""
    titles = {
        "iterations": _FROM_START_TO_END,
        "loss": phrase("The loss over {iterations} steps", iterations=bench.iterations),
        "resume": _RESUME,
        "cards": phrase("Training on {cards} cards", cards=bench.cards),
    }
    message, advice = "Not part of a short acceptance.", "npuify verify steps without --short runs it."
    return [
        StepResult(name, title, Status.NOT_RUN, Where.NOWHERE, message, advice=advice) for name, title in titles.items()
    ]


def iterations(bench: Bench) -> tuple[StepResult, float]:
    """The migrated program as it is, without anything of ours in it, from start to end.

    Returns:
        The result, and the time before the run, for finding what it wrote.
    """
    title = _FROM_START_TO_END
    begun = time.time()
    ran = bench.program("iterations", bench.plan.entry)
    log = Path(ran.log).read_text(encoding="utf-8", errors="replace")
    fallbacks = [f"{match[2]} ({match[1]} times)" for line in log.splitlines() if (match := _FALLBACK.match(line))]
    evidence = [phrase("exit code {code} after {seconds:.1f} s", code=ran.code, seconds=ran.seconds)]
    if fallbacks:
        evidence.append(
            phrase(
                "without a kernel in this torch_npu, run on the host's CPU: {fallbacks}",
                fallbacks=commas(fallbacks[:6]),
            )
        )
    written = checkpoints(bench.target, begun)
    if written:
        names = commas(str(path.relative_to(bench.target)) for path in written[-_SHOWN:])
        evidence.append(phrase("wrote {names}", names=names))
    if not ran.fine:
        return (
            StepResult(
                "iterations",
                title,
                Status.FAILED,
                bench.where,
                ran.in_a_sentence(),
                (*evidence, *ran.seen()),
                ran.advice(),
                (ran.shown,),
                ran.seconds,
            ),
            begun,
        )
    return (
        StepResult(
            "iterations",
            title,
            Status.PASSED,
            bench.where,
            "It ran to the end.",
            (*evidence, *ran.tail()[-_SHOWN:]),
            "",
            (ran.shown,),
            ran.seconds,
        ),
        begun,
    )


def loss(bench: Bench, has_loss: bool) -> StepResult:
    """The loss of both programs over some steps, from captures with the same seeds and without dropout."""
    title = phrase("The loss over {iterations} steps", iterations=bench.iterations)
    if not has_loss:
        message = "No loss was seen in the first steps: the program does not train, or failed."
        return StepResult("loss", title, Status.NOT_RUN, Where.NOWHERE, message)
    words, count = bench.plan.entry, bench.iterations
    ran, target = bench.capture("loss-target", target=True, words=words, steps=count, samples=_SAMPLES)
    commands, seconds, evidence = [ran.shown], ran.seconds, list[str]()

    def made(status: Status, message: str, advice: str = "") -> StepResult:
        return StepResult(
            "loss", title, status, bench.where, message, tuple(evidence), advice, tuple(commands), seconds
        )

    if not (target / "capture.json").is_file():
        evidence += ran.seen()
        return made(Status.FAILED, ran.in_a_sentence(), ran.advice())
    try:
        curve = read_curve(target)
    except NpuifyError as error:
        evidence += ran.seen()
        return made(Status.FAILED, phrase("Its loss is unknown: {message}", message=error.message), error.advice)
    trend, numbers = _trend(curve.values)
    shown = ", ".join(f"{value:.4g}" for value in curve.values[:3])
    evidence += [phrase("the target's loss: {shown} … {values:.4g}", shown=shown, values=curve.values[-1]), numbers]
    if trend == "broken":
        return made(Status.FAILED, "The loss is not finite.")
    reference = bench.given
    if reference is None:
        other, reference = bench.capture(
            "loss-reference", target=False, words=bench.plan.reference_entry, steps=count, samples=_SAMPLES
        )
        commands.append(other.shown)
        seconds += other.seconds
    return _against(bench, reference, target, evidence, trend, made)


def _against(
    bench: Bench,
    reference: Path,
    target: Path,
    evidence: list[str],
    trend: str,
    made: Callable[..., StepResult],
) -> StepResult:
    """The target's curve held against the reference's."""
    if not (reference / "capture.json").is_file():
        return made(
            Status.FAILED if trend == "rises" else Status.NOT_RUN,
            "The original could not be run here, so its loss is unknown.",
            "Pass a capture of it, from a CUDA machine, with --reference.",
        )
    try:
        report = compare_losses(reference, target, common=bench.given is not None)
    except NpuifyError as error:
        if "too-short" in error.message:
            evidence.append("too few steps to compare curves; the module comparison contains their loss")
            return made(Status.PASSED if trend != "rises" else Status.FAILED, "The few steps available have a loss.")
        return made(Status.FAILED, error.message, error.advice)
    evidence.append(
        phrase(
            "mean relative error {percent} over {points} first steps",
            percent=percent(report.first.mean_error),
            points=report.first.points,
        )
        + (
            phrase(
                ", {percent} over {points} more",
                percent=percent(report.long_run.mean_error),
                points=report.long_run.points,
            )
            if report.long_run
            else ""
        )
    )
    if report.verdict is not Verdict.ALIGNED:
        before = any(one.name == "compare" and one.status is Status.FAILED for one in bench.done)
        advice = report.advice[0] if report.advice else ""
        return made(
            Status.FAILED,
            report.said[0],
            "The modules do not agree in the first steps: check that comparison first." if before else advice,
        )
    other = _trend(report.reference.values)[0]
    if trend == "rises" and other != "rises":
        return made(Status.FAILED, "It follows the original's for a while, then rises where the original's falls.")
    word = {
        "falls": "and falls",
        "rises": "and, like the original's, does not fall",
        "short": "too few steps for a trend",
    }
    return made(
        Status.PASSED,
        phrase(
            "It follows the original's within {percent}, {word}.", percent=percent(report.tolerance), word=word[trend]
        ),
    )


def _trend(values: tuple[float, ...]) -> tuple[str, str]:
    """``falls``, ``rises``, ``short`` or ``broken``, and the numbers."""
    if not all(map(math.isfinite, values)):
        return "broken", "not all are numbers"
    if len(values) < _FEWEST:
        return "short", phrase("{number} steps, too few for a trend", number=len(values))
    quarter = max(len(values) // 4, 2)
    first, last = fmean(values[:quarter]), fmean(values[-quarter:])
    return ("falls" if last < first else "rises"), phrase(
        "mean of the first {quarter} {first:.4g}, of the last {last:.4g}", quarter=quarter, first=first, last=last
    )


def resume(bench: Bench, begun: float, ran_to_end: bool, fresh: float | None) -> StepResult:
    """Whether the migrated program goes on from a checkpoint that it wrote itself.

    Args:
        begun: the time before the run that wrote it.
        fresh: the first loss of a run that starts anew, under the same capture.
    """
    words, by_itself, why = _resuming(bench, begun, ran_to_end)
    if why:
        return _resumed(Status.NOT_RUN, why, where=Where.NOWHERE, advice=_HOW)
    ran, folder = bench.capture("resume", target=True, words=words, steps=1, samples=_SAMPLES)
    seen = summarize(folder)
    further = longer(words) if not bench.plan.resume else []
    if not seen.losses and further and (ran.fine or _nothing_to_do(ran)):
        words = further
        ran, folder = bench.capture("resume-longer", target=True, words=words, steps=1, samples=_SAMPLES)
        seen = summarize(folder)
    if not seen.losses:
        if ran.fine or _nothing_to_do(ran):
            return _resumed(
                Status.NOT_RUN,
                "It restarted and had nothing left to train.",
                ran,
                where=bench.where,
                evidence=ran.tail()[-_SHOWN:],
                advice='Specify a command with more to do: --resume "train.py --resume=FILE --epochs=9".',
            )
        return _resumed(
            Status.FAILED, ran.in_a_sentence(), ran, where=bench.where, evidence=ran.seen(), advice=ran.advice()
        )
    evidence = (
        phrase("its first loss is {losses:.5g}", losses=seen.losses[0])
        + (phrase(", a fresh start's {fresh:.5g}", fresh=fresh) if fresh is not None else ""),
    )
    if fresh is None or math.isclose(seen.losses[0], fresh, rel_tol=1e-6):
        if by_itself or fresh is None:
            return _resumed(
                Status.NOT_RUN,
                "Restarted next to its output it starts over, and it is unclear how to make it resume."
                if fresh is not None
                else "The loss of a fresh start is unknown, so it is unclear whether it resumes.",
                ran,
                where=bench.where,
                evidence=evidence,
                advice=_HOW,
            )
        return _resumed(
            Status.FAILED,
            "It starts with exactly the loss of a fresh start: the checkpoint was not used.",
            ran,
            where=bench.where,
            evidence=evidence,
        )
    told = "It resumes by itself" if by_itself else "It resumes"
    return _resumed(
        Status.PASSED,
        phrase("{told} from its checkpoint with different weights than at the start.", told=told),
        ran,
        where=bench.where,
        evidence=evidence,
    )


def _resuming(bench: Bench, begun: float, ran_to_end: bool) -> tuple[list[str], bool, str]:
    """The command that goes on, whether it is the very one of the first run, and why there is none."""
    if not ran_to_end:
        return [], False, "The run that should have written a checkpoint failed."
    if bench.plan.resume:
        return list(bench.plan.resume), False, ""
    written = checkpoints(bench.target, begun)
    if not written:
        return [], False, "The program wrote nothing that looks like a checkpoint."
    option = resume_option(bench.place(target=True), bench.plan.entry)
    if not option:
        return list(bench.plan.entry), True, ""
    return (
        [*bench.plan.entry, f"{option}={Path(os.path.relpath(written[-1], bench.place(target=True))).as_posix()}"],
        False,
        "",
    )


def _resumed(
    status: Status,
    message: str,
    ran: Ran | None = None,
    *,
    where: Where,
    evidence: Sequence[str] = (),
    advice: str = "",
) -> StepResult:
    command, seconds = ((ran.shown,), ran.seconds) if ran is not None else ((), 0.0)
    return StepResult("resume", _RESUME, status, where, message, tuple(evidence), advice, command, seconds)


def _nothing_to_do(ran: Ran) -> bool:
    """Whether the program came to its end without calling a model, which a capture takes for wrong use."""
    return not ran.timed_out and not ran.cause() and any("nothing was captured" in line for line in ran.tail())


def cards(bench: Bench) -> StepResult:
    """Whether the migrated program runs on several cards, and its parameters stay the same on all."""
    words = bench.plan.cards
    if not words:
        return _on_cards(
            bench,
            Status.NOT_RUN,
            bench.plan.why_no_cards.capitalize() + ".",
            advice="npuify distribute converts a program to many cards; "
            'or specify the command: --cards-entry "torchrun --nproc_per_node=2 train.py".',
        )
    if not bench.simulated and bench.devices.npu < bench.cards:
        message = phrase(
            "{cards} cards were requested, but this machine has {npu}.", cards=bench.cards, npu=bench.devices.npu
        )
        return _on_cards(bench, Status.NOT_RUN, message)
    ran, folder = bench.capture("cards", target=True, words=words, steps=2, samples=_SAMPLES)
    if not (folder / "capture.json").is_file() or not ran.fine:
        guessed = "If the program needs different arguments for several cards, specify them with --cards-entry. "
        advice = (guessed if bench.plan.cards_guessed else "") + ran.advice()
        return _on_cards(bench, Status.FAILED, ran.in_a_sentence(), ran, ran.seen(), advice)
    return _same_on_cards(bench, ran, summarize(folder))


def _same_on_cards(bench: Bench, ran: Ran, seen: CaptureSummary) -> StepResult:
    """Whether all processes ran a model, and have the same parameters after a step."""
    evidence = [
        phrase(
            "{ranks} processes, {value} parameters seen after a step in the first",
            ranks=seen.ranks,
            value=len(seen.after[0]) if seen.after else 0,
        )
    ]
    if seen.ranks < bench.cards:
        message = phrase("{ranks} of {cards} processes ran a model.", ranks=seen.ranks, cards=bench.cards)
        return _on_cards(bench, Status.FAILED, message, ran, (*evidence, *ran.tail()[-_SHOWN:]))
    apart = _apart(seen)
    if apart:
        return _on_cards(
            bench,
            Status.FAILED,
            phrase("After a step the processes have different values of {apart}.", apart=commas(apart[:5])),
            ran,
            evidence,
            "Gradients are not averaged: is the model wrapped in DistributedDataParallel, and called through it? An "
            "intentionally sharded model (FSDP, tensor parallel) also looks like this.",
        )
    same = any(seen.after[0].keys() & other.keys() for other in seen.after[1:])
    told = "and have the same parameters after each step" if same else "but no parameters were seen after a step"
    return _on_cards(
        bench, Status.PASSED, phrase("{ranks} processes train {told}.", ranks=seen.ranks, told=told), ran, evidence
    )


def _on_cards(
    bench: Bench,
    status: Status,
    message: str,
    ran: Ran | None = None,
    evidence: Sequence[str] = (),
    advice: str = "",
) -> StepResult:
    """The result of the step on several cards; ``ran`` is None where nothing was run."""
    title = phrase("Training on {cards} cards", cards=bench.cards)
    where, command, seconds = (bench.where, (ran.shown,), ran.seconds) if ran else (Where.NOWHERE, (), 0.0)
    return StepResult("cards", title, status, where, message, tuple(evidence), advice, command, seconds)


def _apart(seen: CaptureSummary) -> list[str]:
    """Parameters that differ between processes after a step."""
    found = []
    for name, mine in (seen.after[0] if seen.after else {}).items():
        for other in seen.after[1:]:
            theirs = other.get(name)
            if theirs is not None and not all(
                one == two
                or (one is not None and two is not None and math.isclose(one, two, rel_tol=1e-5, abs_tol=1e-9))
                for one, two in zip(mine, theirs, strict=True)
            ):
                found.append(name[0])
                break
    return list(dict.fromkeys(found))
