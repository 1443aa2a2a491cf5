"""``npuify verify steps``: the whole acceptance, in order. After a step that fails, the later ones run all the same."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.language import commas, mark, phrase, sentences
from npuify.model import NpuifyError

from . import captured, long_runs, tensorflow
from .bench import Bench
from .machine import devices_for
from .model import VERSION, AcceptanceReport, Devices, Status, StepResult
from .plan import make_plan, with_data
from .prepare import copies, data_path, made_first, put_data
from .start import in_a_line
from .switches import without_cuda
from .tensorflow import TensorFlowBench

if TYPE_CHECKING:
    from collections.abc import Callable

    from .captured import CaptureSummary
    from .plan import Plan
    from .runner import Ran

CARDS: Final = 2
ITERATIONS: Final = 20
TARGETS: Final = ("auto", "npu", "simulated")


def accept(
    project: Path,
    *,
    migrated: Path | None = None,
    entry: str = "",
    reference_entry: str = "",
    resume: str = "",
    cards_entry: str = "",
    prepare: str = "",
    data: str = "",
    reference: Path | None = None,
    target: str = "auto",
    cards: int = CARDS,
    iterations: int = ITERATIONS,
    timeout: float = 600,
    python: str = "",
    work: Path | None = None,
    short: bool = False,
    progress: Callable[[str], None] | None = None,
) -> AcceptanceReport:
    """Run the acceptance of a project. It runs the project's code, in copies: the project itself stays as it is.

    Args:
        project: the original, for CUDA; its folder, or one program.
        migrated: the migrated copy; None: npuify migrates it, with edits that need a look.
        entry: the program that trains, with arguments for a short run; ``{device}`` and ``{backend}`` in it become
            ``npu`` and ``hccl`` for the target, ``cpu`` and ``gloo``, or ``cuda`` and ``nccl``, for the reference.
        reference_entry: the same for the original, where it differs in more.
        resume: how the program goes on from a checkpoint; ``cards_entry``: how it is started on several cards.
        prepare: a program that makes what the others need, such as data or weights; it runs once, on the reference.
        data: ``PATH`` or ``NAME=PATH``: both programs find it as NAME; ``{data}`` in commands is its path.
        reference: a capture of the original that was made elsewhere; the original is not run then.
        target: ``npu``, ``simulated``, or ``auto``: an NPU where there is one.
        cards: cards to try; iterations: steps whose loss is followed.
        timeout: seconds for each run.
        python: runs the programs; empty: this one if it has torch, and for TensorFlow the first on the path.
        short: only forward, backward and their comparison, which take two steps of each program.
        work: where captures and logs are left; None: nowhere.
        progress: called with the name of each step before it runs.

    Raises:
        NpuifyError: wrong use, no torch, or the project cannot be migrated.
    """
    _check(project, migrated, reference, target, work)
    asked = {
        "--prepare": prepare,
        "--data": data,
        "--entry": entry,
        "--reference-entry": reference_entry,
        "--resume": resume,
        "--cards-entry": cards_entry,
        "--cards": str(cards) if cards != CARDS else "",
        "--iterations": str(iterations) if iterations != ITERATIONS else "",
    }
    machine = _machine(project, entry, python, target, reference)
    folder = Path(tempfile.mkdtemp(prefix="npuify-steps-")) if work is None else work
    folder.mkdir(parents=True, exist_ok=True)
    # Programs may print what they were started with, and write beside themselves: paths without links are compared.
    folder = folder.resolve()
    try:
        original, copied = folder / "original", folder / "target"
        adapter = tensorflow.adapter_for(machine.devices.tensorflow) if machine.for_tensorflow else ""
        prepared, points = copies(project, migrated, original, copied, adapter)
        if not data and "{data}" in entry + reference_entry + prepare:
            raise NpuifyError(
                "{data} in a command stands for what --data names, and nothing is named",
                advice="give --data PATH, or write the path itself",
            )
        place = data_path(data)[1] if data else None
        plan = make_plan(
            project,
            points,
            entry=entry,
            reference_entry=reference_entry,
            resume=resume,
            cards=cards_entry,
            count=cards,
            migrated=copied,
            short=short,
        )
        if place is not None:
            prepared.append(put_data(data, (original, copied), plan.folder))
            plan, prepare = with_data(plan, str(place)), prepare.replace("{data}", shlex.quote(str(place)))
        if machine.for_tensorflow:
            plan = tensorflow.planned(plan, copied, cards_entry)
        bench = _bench(plan, machine, folder, reference, timeout, iterations=iterations, cards=cards, short=short)
        prepared += bench.plan.guessed
        if prepare:
            log = folder / "prepare.log"
            device = bench.reference_device
            prepared.append(made_first(prepare, original, copied, log, machine.devices, device, timeout))
        told_of = progress or (lambda _: None)
        if isinstance(bench, TensorFlowBench):
            tensorflow.run_steps(bench, told_of)
        else:
            _run(bench, told_of)
        return _report(bench, project, prepared, asked, capture=reference, kept=work)
    finally:
        if work is None:
            shutil.rmtree(folder, ignore_errors=True)


class _Machine(NamedTuple):
    """On what the programs run."""

    devices: Devices
    simulated: bool
    for_tensorflow: bool


def _machine(project: Path, entry: str, python: str, target: str, reference: Path | None) -> _Machine:
    if tensorflow.is_asked_for(project, entry):
        return _Machine(*tensorflow.chosen(python, target, reference), for_tensorflow=True)
    devices = devices_for(python)
    return _Machine(devices, _is_simulated(target, devices), for_tensorflow=False)


def _bench(
    plan: Plan,
    machine: _Machine,
    folder: Path,
    reference: Path | None,
    timeout: float,
    *,
    iterations: int,
    cards: int,
    short: bool,
) -> Bench | TensorFlowBench:
    """The two copies in ``folder``, with all that a step needs; ``reference`` is a capture that was made elsewhere."""
    given = reference.resolve() if reference is not None else None
    original, copied = folder / "original", folder / "target"
    if machine.for_tensorflow:
        return TensorFlowBench(
            plan=plan,
            devices=machine.devices,
            work=folder,
            reference=original,
            target=copied,
            simulated=machine.simulated,
            timeout=timeout,
            cards=cards,
            short=short,
            given=given,
        )
    return Bench(
        plan=plan,
        devices=machine.devices,
        work=folder,
        reference=original,
        target=copied,
        reference_device="cuda" if machine.devices.cuda else "cpu",
        simulated=machine.simulated,
        timeout=timeout,
        iterations=iterations,
        cards=cards,
        given=given,
        short=short,
    )


def _report(
    bench: Bench | TensorFlowBench,
    project: Path,
    prepared: list[str],
    asked: dict[str, str],
    *,
    capture: Path | None,
    kept: Path | None,
) -> AcceptanceReport:
    """What the acceptance found; ``capture`` was given as the reference, ``kept`` is the folder that stays."""
    return AcceptanceReport(
        version=VERSION,
        project=str(project),
        entry=in_a_line(bench.plan.entry, bench.plan.folder),
        reference=f"capture {capture}" if capture is not None else bench.reference_device.upper(),
        target=mark("simulated NPU") if bench.simulated else "NPU",
        devices=bench.devices,
        prepared=tuple(prepared),
        steps=tuple(bench.done),
        verdict=_verdict(bench.done, bench.simulated),
        folder=str(kept) if kept is not None else "",
        asked=tuple(word for name, value in asked.items() if value for word in (name, value)),
        original_fails_too=isinstance(bench, Bench) and bench.original_fails_too,
        original_failed=bench.original_failed if isinstance(bench, Bench) else "",
    )


def _is_simulated(target: str, devices: Devices) -> bool:
    """Whether the target is simulated: as asked, or for want of an NPU."""
    if target == "npu" and not devices.npu:
        raise NpuifyError("torch_npu sees no NPU on this machine", advice="--target simulated runs without one")
    simulated = target == "simulated" or (target == "auto" and not devices.npu)
    if simulated and devices.torch_npu:
        raise NpuifyError(
            phrase(
                "torch-npu {torch_npu} is installed for {python} but sees no NPU",
                torch_npu=devices.torch_npu,
                python=devices.python,
            ),
            advice="npuify doctor explains why; or simulate with a Python without torch-npu: --python",
        )
    return simulated


def _check(project: Path, migrated: Path | None, reference: Path | None, target: str, work: Path | None) -> None:
    for path in (project, migrated, reference):
        if path is not None and not path.exists():
            raise NpuifyError("no such file or folder", file=str(path))
    if target not in TARGETS:
        raise NpuifyError(
            phrase("unknown target {target!r}", target=target),
            advice=phrase("one of {TARGETS}", TARGETS=commas(TARGETS)),
        )
    if reference is not None and not (reference / "capture.json").is_file():
        raise NpuifyError("is not a capture", advice="npuify verify capture creates one", file=str(reference))
    if work is not None and work.exists() and any(work.iterdir()):
        raise NpuifyError("is not empty", advice="specify a new folder with --work", file=str(work))


def _run(bench: Bench, progress: Callable[[str], None]) -> None:
    progress("forward and backward")
    ran, target = bench.capture("target", target=True, words=bench.plan.entry, steps=2)
    seen = _looked(target)
    bench.done += [captured.forward(bench, ran, seen), captured.backward(bench, ran, seen)]
    progress("compare")
    reference, why = bench.given, ""
    if seen is None or not seen.calls:
        reference, why = None, _alone(bench, ran)
    elif reference is None:
        other, reference = _original(bench)
        bench.original_fails_too = _ends_alike(bench, ran, other)
        bench.original_failed = other.why() if ran.fine and not other.fine else ""
        if _looked(reference) is None:
            bench.original_failed = ""
            why = phrase(
                "On {reference_device} the original {why}",
                reference_device=bench.reference_device.upper(),
                why=other.why(),
            )
            reference = None
    compared = captured.compare(bench, reference, target, why, bench.original_failed)
    if compared.status is not Status.NOT_RUN:
        bench.original_failed = ""
    if reference is None and bench.original_fails_too:
        # Neither runs as it was started: a capture from elsewhere would not help.
        compared = msgspec.structs.replace(compared, advice="")
    if bench.cpu_entry:
        started = phrase(
            "the original was started as {command}, since it asked for CUDA",
            command=in_a_line(bench.cpu_entry, bench.plan.folder),
        )
        compared = msgspec.structs.replace(compared, evidence=(*compared.evidence, started))
    bench.done.append(compared)
    if bench.short:
        bench.done += long_runs.left_out(bench)
        return
    # In another order than they are told: nothing may be left for a later run to go on from, but for the last but one.
    progress("loss")
    bench.tidy()
    told = long_runs.loss(bench, bool(seen is not None and seen.losses))
    progress("iterations")
    bench.tidy()
    result, begun = long_runs.iterations(bench)
    progress("resume")
    fresh = seen.losses[0] if seen is not None and seen.losses else None
    resumed = long_runs.resume(bench, begun, result.status is Status.PASSED, fresh)
    progress("cards")
    bench.tidy()
    bench.done += [result, told, resumed, long_runs.cards(bench)]


def _alone(bench: Bench, ran: Ran) -> str:
    """Why nothing can be compared where the migrated program came to no result; the original is tried, too."""
    nothing = phrase("The migrated program produced nothing to compare.")
    if bench.given is not None or ran.fine or ran.timed_out:
        return nothing
    other, folder = _original(bench)
    on = bench.reference_device.upper()
    seen = _looked(folder)
    if seen is not None and seen.calls:
        return sentences(nothing, phrase("The original runs on {on}.", on=on))
    bench.original_fails_too = _ends_alike(bench, ran, other)
    if bench.original_fails_too:
        return phrase(
            "The original ends in the same way on {on}: the cause is the program, how it was started, or this machine, "
            "and not the migration.",
            on=on,
        )
    return sentences(nothing, phrase("On {reference_device} the original {why}", reference_device=on, why=other.why()))


def _original(bench: Bench) -> tuple[Ran, Path]:
    """Capture the original; once more with what turns CUDA off, where it asks for CUDA and there is none."""
    other, folder = bench.capture("reference", target=False, words=bench.plan.reference_entry, steps=2)
    if other.fine or bench.reference_device != "cpu" or not captured.NEEDS_CUDA.search(other.why()):
        return other, folder
    words = without_cuda(bench.place(target=False), bench.plan.reference_entry)
    if words == bench.plan.reference_entry:
        return other, folder
    bench.cpu_entry = words
    bench.plan = replace(bench.plan, reference_entry=words)
    shutil.rmtree(folder, ignore_errors=True)
    return bench.capture("reference", target=False, words=words, steps=2)


def _ends_alike(bench: Bench, ran: Ran, other: Ran) -> bool:
    """Whether both programs failed, and for the same cause."""
    if ran.fine or other.fine or ran.timed_out or other.timed_out:
        return False
    return bench.without_folders(other.why()) == bench.without_folders(ran.why())


def _looked(folder: Path) -> CaptureSummary | None:
    if not (folder / "capture.json").is_file():
        return None
    return captured.summarize(folder)


def _verdict(steps: list[StepResult], simulated: bool) -> str:
    failed = [one.name for one in steps if one.status is Status.FAILED]
    missing = [one.name for one in steps if one.status is Status.NOT_RUN]
    where = phrase("in simulation") if simulated else phrase("on the NPU")
    if failed:
        return phrase("Not accepted: {failed} failed {where}.", failed=commas(map(phrase, failed)), where=where)
    passed = [one.name for one in steps if one.status is Status.PASSED]
    if not passed:
        return phrase("Nothing could be run.")
    if not missing:
        told = phrase("All steps passed {where}.", where=where)
    else:
        told = phrase(
            "{number} of {number2} steps passed {where}; not run: {missing}.",
            number=len(passed),
            number2=len(steps),
            where=where,
            missing=commas(map(phrase, missing)),
        )
    return sentences(told, "This says nothing about a real card's results, speed or limits." if simulated else "")


def worst(report: AcceptanceReport) -> Status:
    """``failed`` where any step did, else ``passed`` where any did, else ``not run``."""
    found = {one.status for one in report.steps}
    return next(one for one in (Status.FAILED, Status.PASSED, Status.NOT_RUN) if one in found or one is Status.NOT_RUN)
