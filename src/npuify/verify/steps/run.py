"""``npuify verify steps``: the whole acceptance, in order. After a step that fails, the later ones run all the same."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.model import NpuifyError
from npuify.verify.loss.points import counted

from . import captured, longer
from .bench import Bench, copy
from .machine import devices_of
from .model import AcceptanceReport, Status, StepResult, Where
from .plan import Plan, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.model import EntryPoint, MigrationResult

    from .captured import Seen
    from .model import Devices

VERSION: Final = 1
_SHOWN: Final = 5
TARGETS: Final = ("auto", "npu", "simulated")
NAMES: Final = ("forward", "backward", "compare", "iterations", "loss", "resume", "cards")


def accept(
    project: Path,
    *,
    migrated: Path | None = None,
    entry: str = "",
    reference_entry: str = "",
    resume: str = "",
    cards_entry: str = "",
    reference: Path | None = None,
    target: str = "auto",
    cards: int = 2,
    iterations: int = 20,
    timeout: float = 600,
    python: str = "",
    work: Path | None = None,
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
        reference: a capture of the original that was made elsewhere; the original is not run then.
        target: ``npu``, ``simulated``, or ``auto``: an NPU where there is one.
        cards: cards to try; iterations: steps whose loss is followed.
        timeout: seconds for each run.
        python: runs the programs; empty: this one if it has torch.
        work: where captures and logs are left; None: nowhere.
        progress: called with the name of each step before it runs.

    Raises:
        NpuifyError: wrong use, no torch, or the project cannot be migrated.
    """
    from npuify.simulator.launch import python_for

    _check(project, migrated, reference, target, work)
    devices = devices_of(python_for(python))
    if target == "npu" and not devices.npu:
        raise NpuifyError("torch_npu sees no NPU on this machine", advice="--target simulated runs without one")
    simulated = target == "simulated" or (target == "auto" and not devices.npu)
    if simulated and devices.torch_npu:
        raise NpuifyError(
            f"torch-npu {devices.torch_npu} is installed for {devices.python} but sees no NPU",
            advice="npuify doctor says why; or simulate with a Python without torch-npu: --python",
        )
    folder = Path(tempfile.mkdtemp(prefix="npuify-steps-")) if work is None else work
    folder.mkdir(parents=True, exist_ok=True)
    # Programs may print what they were started with, and write beside themselves: paths without links are compared.
    folder = folder.resolve()
    try:
        prepared, bench = _prepare(
            project,
            migrated,
            folder,
            devices,
            simulated,
            timeout,
            iterations,
            cards,
            reference,
            lambda points: make_plan(
                project,
                points,
                entry=entry,
                reference_entry=reference_entry,
                resume=resume,
                cards=cards_entry,
                count=cards,
            ),
        )
        _run(bench, progress or (lambda _: None))
        return AcceptanceReport(
            version=VERSION,
            project=str(project),
            entry=" ".join(bench.plan.entry),
            reference=f"capture {reference}" if reference is not None else bench.reference_device.upper(),
            target="simulated NPU" if simulated else "NPU",
            devices=devices,
            prepared=tuple(prepared),
            steps=tuple(bench.done),
            verdict=_verdict(bench.done, simulated),
            folder=str(work) if work is not None else "",
        )
    finally:
        if work is None:
            shutil.rmtree(folder, ignore_errors=True)


def _check(project: Path, migrated: Path | None, reference: Path | None, target: str, work: Path | None) -> None:
    for path in (project, migrated, reference):
        if path is not None and not path.exists():
            raise NpuifyError("no such file or folder", file=str(path))
    if target not in TARGETS:
        raise NpuifyError(f"there is no target {target!r}", advice=f"one of {', '.join(TARGETS)}")
    if reference is not None and not (reference / "capture.json").is_file():
        raise NpuifyError("is no capture", advice="npuify verify capture makes one", file=str(reference))
    if work is not None and work.exists() and any(work.iterdir()):
        raise NpuifyError("is not empty", advice="name a new folder with --work", file=str(work))


def _prepare(
    project: Path,
    migrated: Path | None,
    folder: Path,
    devices: Devices,
    simulated: bool,
    timeout: float,
    iterations: int,
    cards: int,
    given: Path | None,
    planned: Callable[..., Plan],
) -> tuple[list[str], Bench]:
    from npuify.api import migrate
    from npuify.options import Options

    prepared: list[str] = []
    target, original = folder / "target", folder / "original"
    points: tuple[EntryPoint, ...] = ()
    if migrated is not None:
        from npuify import scan

        points = scan([project], Options(jobs=1, cache=False)).survey.entry_points
        copy(migrated, target)
        prepared.append(f"the migrated program is {migrated}")
    else:
        result: MigrationResult = migrate(project, target, Options(unsafe=True, jobs=1, cache=False))
        points = result.scan.survey.entry_points
        left = [one for one in result.left if one.severity.value == "error"]
        prepared.append(
            f"migrated by npuify: {len(result.changes)} changes in {len(result.changed_files)} files"
            + (f"; {counted(len(left), 'finding')} that may stop a program left" if left else "")
        )
        prepared += [f"left: {one.file}:{one.start.line}: {one.message}" for one in left[:_SHOWN]]
    copy(project, original)
    plan = planned(points)
    prepared += plan.guessed
    bench = Bench(
        plan=plan,
        devices=devices,
        work=folder,
        reference=original,
        target=target,
        reference_device="cuda" if devices.cuda else "cpu",
        simulated=simulated,
        timeout=timeout,
        iterations=iterations,
        cards=cards,
        given=given.resolve() if given is not None else None,
    )
    return prepared, bench


def _run(bench: Bench, progress: Callable[[str], None]) -> None:
    progress("forward and backward")
    ran, target = bench.capture("target", target=True, words=bench.plan.entry, steps=2)
    seen = _looked(target)
    bench.done += [captured.forward(bench, ran, seen), captured.backward(bench, ran, seen)]
    progress("compare")
    reference, why = bench.given, ""
    if seen is None or not seen.calls:
        reference, why = None, "The migrated program gave nothing that could be compared."
    elif reference is None:
        other, reference = bench.capture("reference", target=False, words=bench.plan.reference_entry, steps=2)
        if _looked(reference) is None:
            why = f"On {bench.reference_device.upper()} the original {other.why()}"
            reference = None
    bench.done.append(captured.compare(bench, reference, target, why))
    # In another order than they are told: nothing may be left for a later run to go on from, but for the last but one.
    progress("loss")
    bench.tidy()
    told = longer.loss(bench, bool(seen is not None and seen.losses))
    progress("iterations")
    bench.tidy()
    result, begun = longer.iterations(bench)
    progress("resume")
    fresh = seen.losses[0] if seen is not None and seen.losses else None
    resumed = longer.resume(bench, begun, result.status is Status.PASSED, fresh)
    progress("cards")
    bench.tidy()
    bench.done += [result, told, resumed, longer.cards(bench)]


def _looked(folder: Path) -> Seen | None:
    if not (folder / "capture.json").is_file():
        return None
    return captured.look(folder)


def _verdict(steps: list[StepResult], simulated: bool) -> str:
    failed = [one.name for one in steps if one.status is Status.FAILED]
    missing = [one.name for one in steps if one.status is Status.NOT_RUN]
    where = "in simulation" if simulated else "on the NPU"
    if failed:
        return f"Not accepted: {', '.join(failed)} failed {where}."
    passed = [one.name for one in steps if one.status is Status.PASSED]
    if not passed:
        return "Nothing could be run."
    told = "All steps passed" if not missing else f"{len(passed)} of {len(steps)} steps passed"
    rest = f"; not run: {', '.join(missing)}" if missing else ""
    claim = " Nothing of this says anything of a real card's numbers, speed or limits." if simulated else ""
    return f"{told} {where}{rest}.{claim}"


def worst(report: AcceptanceReport) -> Status:
    """``failed`` where any step did, else ``passed`` where any did, else ``not run``."""
    found = {one.status for one in report.steps}
    return next(one for one in (Status.FAILED, Status.PASSED, Status.NOT_RUN) if one in found or one is Status.NOT_RUN)


__all__ = ["NAMES", "AcceptanceReport", "Where", "accept", "worst"]
