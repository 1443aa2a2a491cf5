"""The acceptance of a TensorFlow program: it runs, its loss is the original's, and it trains on several cards.

Layers of Keras are compared for TensorFlow 2.6; what a graph of TensorFlow 1 computes inside is not seen from outside.
Losses are read from what the programs print.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.process.python import answers, first_on_path, python_for
from npuify.project.frameworks.tensorflow_programs import averages, is_for_tensorflow, program_files
from npuify.verify.loss.model import Verdict
from npuify.verify.loss.read import read_curve
from npuify.verify.loss.run import compare_losses
from npuify.verify.loss.words import percent

from . import captured
from .bench import files, own_modules
from .model import Devices, Status, StepResult, Where
from .runner import Ran, npuify, run
from .start import split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .plan import Plan

_SEEDED: Final = Path(__file__).resolve().parent / "inside" / "seeded.py"
_QUESTION: Final = """
import importlib.util as u
import tensorflow as tf
print(tf.__version__)
print(' '.join(n for n in ('npu_bridge', 'npu_device') if u.find_spec(n)))
"""
_FALLS_APART: Final = ("nothing was reduced over the ranks", "no variables were broadcast")
"""How the simulation says that ranks train by themselves; see :mod:`npuify.simulator.tensorflow.summary`."""
_SHOWN: Final = 4
CAPTURED: Final = "2.6."
"""The version of TensorFlow whose programs are captured."""
NOTHING_DONE: Final = 2
"""What ``npuify verify capture`` exits with where nothing could be captured."""


def is_asked_for(project: Path, entry: str) -> bool:
    """Whether the program that is asked for, or else each that the project's folder holds, is for TensorFlow.

    Args:
        entry: the command; empty where none is named.
    """
    try:
        start = split(entry)
    except NpuifyError:
        # The plan says what is wrong with it.
        return False
    return _is_asked_for(project / start.folder, start.words)


def _is_asked_for(project: Path, entry: Sequence[str]) -> bool:
    if project.is_file():
        return is_for_tensorflow([str(project)])
    named = [project / word for word in entry if word.endswith(".py")]
    if not named and "-m" in entry[:-1]:
        name = entry[list(entry).index("-m") + 1].replace(".", "/")
        named = [project / f"{name}.py", project / name / "__main__.py"]
    chosen = [one for one in named if one.is_file()][:1]
    programs = chosen or ([] if named else sorted(project.glob("*.py")))
    judged = [one for one in programs if chosen or _imports_any(one)]
    return bool(judged) and all(is_for_tensorflow([str(one)]) for one in judged)


def _imports_any(program: Path) -> bool:
    tops = {name.partition(".")[0] for _, _, names in program_files(program) for name in names}
    return bool(tops & {"tensorflow", "torch"})


def chosen(python: str, target: str, reference: Path | None) -> tuple[Devices, bool]:
    """What the Python that runs the programs has, and whether the target is simulated.

    Raises:
        NpuifyError: it has no TensorFlow, or what is asked for is not there.
    """
    devices = _devices_of(python_for(python, needs=""))
    if reference is not None and not devices.tensorflow.startswith(CAPTURED):
        raise NpuifyError(
            phrase(
                "programs on TensorFlow 2.6 are captured: --reference has no meaning for {version}",
                version=devices.tensorflow,
            ),
            advice=phrase("leave it out; losses of another machine are compared by npuify verify loss"),
        )
    if target == "npu" and not devices.adapter:
        raise NpuifyError(
            phrase("{python} has no adapter for NPUs", python=devices.python),
            advice="--target simulated runs without one",
        )
    return devices, target == "simulated" or not devices.adapter


def adapter_for(version: str) -> str:
    """The adapter that a version of TensorFlow is for; empty for one that has none."""
    if version.startswith("1.15."):
        return "1.15"
    return "2.6.5" if version.startswith(CAPTURED) else ""


def planned(plan: Plan, target: Path, asked: str) -> Plan:
    """The plan with the command for several cards: as asked for, else the program's own where it averages gradients."""
    if asked:
        return plan
    program = next((word for word in plan.entry if word.endswith(".py")), "")
    place = target / plan.folder / program
    words = plan.entry if program and place.is_file() and averages(place) else ()
    return replace(plan, cards=words, guessed=plan.guessed[: 1 if plan.guessed else 0])


def _devices_of(python: str) -> Devices:
    """Ask ``python`` for TensorFlow and its adapter.

    Raises:
        NpuifyError: it does not run, or has no TensorFlow.
    """
    try:
        version, adapter = answers(python, _QUESTION, {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}, 2)
    except NpuifyError as error:
        raise NpuifyError(
            phrase("{python} has no TensorFlow, which the programs need", python=python),
            advice="choose a Python that has it with --python",
        ) from error
    return Devices(python, "", "", 0, 0, tensorflow=version, adapter=adapter)


@dataclass
class TensorFlowBench:
    """The two copies, and how programs run in them."""

    plan: Plan
    devices: Devices
    work: Path
    reference: Path
    target: Path
    simulated: bool
    timeout: float
    cards: int
    short: bool
    given: Path | None = None
    """A capture of the original that was made elsewhere."""
    done: list[StepResult] = field(default_factory=list)
    reference_device: Final = "cpu"

    @property
    def where(self) -> Where:
        """On what the migrated program runs."""
        return Where.SIMULATION if self.simulated else Where.HARDWARE

    def original(self) -> Ran:
        """The original, on the CPU, with seeds."""
        words = self.plan.reference_entry
        command = [self.devices.python, str(_SEEDED), *words]
        shown = f"python {' '.join(words)}"
        return self._run(command, self.reference, "reference", shown, {"CUDA_VISIBLE_DEVICES": ""})

    def migrated(self, name: str, words: Sequence[str], ranks: int = 0) -> Ran:
        """The migrated program with seeds; simulated, on this many ranks where it is more than none."""
        if not self.simulated:
            command = [self.devices.python, str(_SEEDED), *words]
            return self._run(command, self.target, name, f"python {' '.join(words)}", {})
        options = ["--framework", "tensorflow", "--python", self.devices.python]
        told = " ".join(["--framework", "tensorflow", *words])
        if ranks:
            options += ["--ranks", str(ranks)]
            told = f"--ranks {ranks} {told}"
        command = [*npuify(), "simulate", *options, str(_SEEDED), *words]
        return self._run(command, self.target, name, f"npuify simulate {told}", {})

    def capture(self, name: str, *, target: bool) -> tuple[Ran, Path]:
        """Run a program under ``npuify verify capture``, on the target or on the CPU."""
        folder = self.work / "captures" / name
        folder.parent.mkdir(exist_ok=True)
        words = self.plan.entry if target else self.plan.reference_entry
        kind = ("simulated" if self.simulated else "auto") if target else "cpu"
        command = ["verify", "capture", "-o", str(folder), "--device", kind, "--python", self.devices.python]
        value = " ".join(["--device", kind, *words])
        shown = phrase("npuify verify capture -o captures/{name} {value}", name=name, value=value)
        place = self.target if target else self.reference
        return self._run([*npuify(), *command, *words], place, name, shown, {}), folder

    def _run(self, command: Sequence[str], folder: Path, name: str, shown: str, added: dict[str, str]) -> Ran:
        environment = {
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_DETERMINISTIC_OPS": "1",
            "PYTHONHASHSEED": "0",
            # Losses are read from what is printed: nothing may be lost, or come late.
            "PYTHONUNBUFFERED": "1",
            "PATH": first_on_path(self.devices.python, os.environ.get("PATH", "")),
            **own_modules(folder),
            **added,
        }
        return run(
            command,
            folder / self.plan.folder,
            self.work / f"{name}.log",
            shown=shown,
            timeout=self.timeout,
            environment=environment,
        )


def run_steps(bench: TensorFlowBench, progress: Callable[[str], None]) -> None:
    """All steps, in order, into ``bench.done``."""
    progress("forward and backward")
    if bench.devices.tensorflow.startswith(CAPTURED):
        bench.done += _captured(bench, progress)
    else:
        told = phrase(
            "Programs on TensorFlow 2.6 are captured; of {version} the losses are compared.",
            version=bench.devices.tensorflow,
        )
        bench.done += _not_captured(told)
    progress("iterations")
    first = frozenset(files(bench.target))
    ran = bench.migrated("iterations", bench.plan.entry)
    bench.done.append(_iterations(bench, ran))
    progress("loss")
    bench.done.append(_loss(bench, ran))
    progress("resume")
    bench.done.append(_resume(bench, ran))
    progress("cards")
    for path in set(files(bench.target)) - first:
        # A program that goes on from what it finds would not train on several cards.
        path.unlink(missing_ok=True)
    bench.done.append(_cards(bench))


def _not_captured(message: str) -> list[StepResult]:
    """The steps that take captures, where there are none."""
    titles = (
        ("forward", "A forward pass"),
        ("backward", "A backward pass"),
        ("compare", "Modules against the original"),
    )
    return [StepResult(name, phrase(title), Status.NOT_RUN, Where.NOWHERE, message) for name, title in titles]


def _captured(bench: TensorFlowBench, progress: Callable[[str], None]) -> list[StepResult]:
    """What captures of both programs show."""
    first = frozenset(files(bench.target))
    ran, target = bench.capture("target", target=True)
    for path in set(files(bench.target)) - first:
        path.unlink(missing_ok=True)
    seen = captured.summarize(target) if target.is_dir() else None
    if seen is None and ran.code == NOTHING_DONE:
        # As for a program without Keras. Whether it runs at all, the next step shows.
        return _not_captured(phrase("No call of a Keras layer was captured; the losses are compared."))
    forward = captured.forward(bench, ran, seen)
    if forward.where is Where.CPU:
        advice = phrase(
            "Open the NPU before the model is made, and make the step a tf.function: only functions run there."
        )
        forward = msgspec.structs.replace(forward, advice=advice)
    progress("compare")
    reference, why = bench.given, ""
    if seen is None or not seen.calls:
        reference, why = None, phrase("The migrated program produced nothing to compare.")
    elif reference is None:
        other, made = bench.capture("reference", target=False)
        reference = made if made.is_dir() else None
        why = phrase("On the CPU the original {why}", why=other.why())
    return [forward, captured.backward(bench, ran, seen), captured.compare(bench, reference, target, why)]


def _iterations(bench: TensorFlowBench, ran: Ran) -> StepResult:
    title = phrase("The migrated program from start to end")
    evidence = [phrase("exit code {code} after {seconds:.1f} s", code=ran.code, seconds=ran.seconds)]
    if not ran.fine:
        seen = (*evidence, *ran.seen())
        advice = ran.advice()
        why = phrase("It {why}", why=ran.why())
        return StepResult("iterations", title, Status.FAILED, bench.where, why, seen, advice, (ran.shown,), ran.seconds)
    shown = (*evidence, *[one for one in ran.tail() if not one.startswith("npuify:")][-_SHOWN:])
    message = phrase("It ran to the end.")
    return StepResult("iterations", title, Status.PASSED, bench.where, message, shown, "", (ran.shown,), ran.seconds)


def _loss(bench: TensorFlowBench, target: Ran) -> StepResult:
    title = phrase("The loss that the programs print")
    if not target.fine:
        message = phrase("The migrated program did not run to its end.")
        return StepResult("loss", title, Status.NOT_RUN, Where.NOWHERE, message)
    other = bench.original()
    commands, seconds = (other.shown, target.shown), other.seconds + target.seconds

    def made(status: Status, message: str, evidence: Sequence[str] = (), advice: str = "") -> StepResult:
        return StepResult("loss", title, status, bench.where, message, tuple(evidence), advice, commands, seconds)

    if not other.fine:
        why = phrase("On the CPU the original {why}", why=other.why())
        return made(Status.NOT_RUN, why, other.seen())
    try:
        curve = read_curve(Path(target.log))
        if not all(map(math.isfinite, curve.values)):
            return made(Status.FAILED, phrase("The loss is not finite."))
        report = compare_losses(Path(other.log), Path(target.log), allow_identical=True)
    except NpuifyError as error:
        advice = phrase("have the program print its loss for each step, or compare event files: npuify verify loss A B")
        return made(Status.NOT_RUN, phrase("No loss can be compared: {message}", message=error.message), (), advice)
    number = len(report.target.values)
    shown = percent(report.first.mean_error)
    seen = [phrase("mean relative error {error} over {number} points", error=shown, number=number)]
    if report.verdict is not Verdict.ALIGNED:
        return made(Status.FAILED, report.said[0], seen, report.advice[0] if report.advice else "")
    told = phrase("It follows the original's within {percent}.", percent=percent(report.tolerance))
    return made(Status.PASSED, told, seen)


def _resume(bench: TensorFlowBench, first: Ran) -> StepResult:
    title = phrase("Resuming from a checkpoint")
    words = bench.plan.resume
    if not words or not first.fine or bench.short:
        message = phrase("No command that resumes was named.") if not words else phrase("There is no run to resume.")
        advice = phrase('Specify the command: --resume "train.py --resume=FILE".') if not words else ""
        return StepResult("resume", title, Status.NOT_RUN, Where.NOWHERE, message, (), advice)
    ran = bench.migrated("resume", words)

    def made(status: Status, message: str, evidence: Sequence[str] = ()) -> StepResult:
        return StepResult("resume", title, status, bench.where, message, tuple(evidence), "", (ran.shown,), ran.seconds)

    if not ran.fine:
        return made(Status.FAILED, phrase("It {why}", why=ran.why()), ran.seen())
    try:
        fresh, now = (read_curve(Path(one.log)).values[0] for one in (first, ran))
    except NpuifyError as error:
        return made(Status.NOT_RUN, phrase("It ran, and no loss tells from where: {message}", message=error.message))
    seen = [phrase("its first loss is {now:.5g}, a fresh start's {fresh:.5g}", now=now, fresh=fresh)]
    if math.isclose(now, fresh, rel_tol=1e-6):
        told = phrase("It starts with exactly the loss of a fresh start: the checkpoint was not used.")
        return made(Status.FAILED, told, seen)
    return made(Status.PASSED, phrase("It resumes with different weights than at the start."), seen)


def _cards(bench: TensorFlowBench) -> StepResult:
    title = phrase("Training on {cards} cards", cards=bench.cards)

    def not_run(message: str, advice: str = "") -> StepResult:
        return StepResult("cards", title, Status.NOT_RUN, Where.NOWHERE, message, (), advice)

    words = bench.plan.cards
    if bench.short:
        return not_run(phrase("Not part of a short acceptance."), "npuify verify steps without --short runs it.")
    if not words:
        advice = phrase("npuify distribute converts the program; then verify that copy with --migrated.")
        return not_run(phrase("Nothing in the program averages gradients: it runs on one card only."), advice)
    if not bench.simulated:
        return not_run(phrase("On NPUs its processes are started by a script."), "npuify launch writes it.")
    ran = bench.migrated("cards", words, bench.cards)

    def made(status: Status, message: str, evidence: Sequence[str]) -> StepResult:
        return StepResult("cards", title, status, bench.where, message, tuple(evidence), "", (ran.shown,), ran.seconds)

    if not ran.fine:
        return made(Status.FAILED, phrase("It {why}", why=ran.why()), ran.seen())
    lines = Path(ran.log).read_text(encoding="utf-8", errors="replace").splitlines()
    apart = [line.strip() for line in lines if any(one in line for one in _FALLS_APART)]
    seen = [line.strip() for line in lines if line.startswith("  rank ")]
    if apart:
        return made(Status.FAILED, phrase("The processes do not train one model."), [*apart[:_SHOWN], *seen])
    return made(Status.PASSED, phrase("{cards} processes train one model.", cards=bench.cards), seen)
