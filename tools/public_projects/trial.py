"""One program: copied, given data, run as it is on the CPU, migrated, run on simulated NPUs, and compared."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from npuify.knowledge import releases
from tools.public_projects import verdict
from tools.public_projects.data import MAKERS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BESIDE = HERE / "beside"
STAND_INS = HERE.parent / "many_cards" / "stand_ins"
TOLERANCE = 1e-5
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*\d)")
DEVICE = re.compile(r"\b(?:cuda|npu|cpu)\b(?::\d+)?", re.IGNORECASE)
LOSS = re.compile(r"loss|ppl|perplexity|accuracy|acc@|dice", re.IGNORECASE)
"""A printed line that tells how training goes."""
MEASURED = re.compile(
    r"\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(?:ms|s|GB|MB|MiB|it/s|/s|img/s|batch/s|s/it|B)\b|\d+:\d+(?::\d+)?(?:\.\d+)?"
    r"|(?:Steps/Sec|ms/batch|time|data|mem|max mem|Time|Rate|Data)\W+\d+(?:\.\d+)?(?: ?\([\d., /s]*\))?|mfu -?\d+\.\d+%"
    r"|\d{4}-\d\d-\d\d"
)
"""Times, dates, speed and memory are those of a machine."""
LIMIT = 900.0
"""Seconds for one run."""


class TrialError(Exception):
    """A run failed, or the row of projects.toml does not fit the project."""


class RunError(TrialError):
    """A copy was run, and failed. ``said`` is all that it printed."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


@dataclass
class Trial:
    """A row of projects.toml, where the projects lie, and where it is tried."""

    program: dict[str, Any]
    corpus: Path
    work: Path
    style: str = "npu"

    def home(self, name: str) -> Path:
        """Where the program of a copy runs: beside its entry."""
        return (self.work / name / self.program["entry"]).parent


@dataclass
class Outcome:
    """What came of a program on some processes."""

    name: str
    processes: int
    style: str
    losses: int = 0
    """On so many numbers each process called backward."""
    apart: float = 0.0
    """The largest difference between them, relative to the CPU's."""
    lines: int = 0
    """Printed lines that tell how training goes, and hold numbers."""
    same_lines: int = 0
    """Of these, so many hold the same numbers, in all digits that are printed."""
    problem: str = ""
    verdict: str = ""
    """What scan said before the run."""
    whose: str = ""
    """Whose verdict that is: the "program"'s or the "project"'s."""
    contradicted: str = ""
    """How the run contradicts it, in words."""

    def line(self) -> str:
        told = f"scan: {self.verdict} ({self.whose})" + (
            f", CONTRADICTED: {self.contradicted}" * bool(self.contradicted)
        )
        if self.problem:
            return f"FAILS {self.name} on {self.processes} ({self.style}), {told}: {self.problem}"
        return (
            f"holds {self.name} on {self.processes} ({self.style}): {self.losses} losses apart {self.apart:.1e}, "
            f"{self.same_lines} of {self.lines} printed lines the same; {told}"
        )


def prepare(trial: Trial) -> None:
    """Copy the project, fit it to the machine, and migrate the copy.

    Raises:
        TrialError: a pattern is not in its file, or npuify failed.
    """
    program = trial.program
    shutil.rmtree(trial.work, ignore_errors=True)
    trial.work.mkdir(parents=True)
    source = trial.corpus / program["project"]
    if not source.is_dir():
        raise TrialError(f"{source} is not there")
    shutil.copytree(source, trial.work / "original", ignore=shutil.ignore_patterns(".git", "*.png", "*.gif", "*.jpg"))
    for file, pattern, replacement in program.get("shorten", ()):
        path = trial.work / "original" / file
        made, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
        if not count:
            raise TrialError(f"{pattern} is not in {file}")
        path.write_text(made, encoding="utf-8")
    for name in program.get("stand_ins", ()):
        shutil.copytree(STAND_INS / name, trial.work / "stand_ins" / name)
    command = [sys.executable, "-m", "npuify", "migrate", "original", "-o", "migrated", "--style", trial.style, *_aim()]
    done = _run([*command, *program.get("options", ())], trial.work, environment(trial), LIMIT)
    if done.returncode not in (0, 1):
        raise TrialError(f"migrate: {done.stdout[-1000:]}")


@cache
def _aim() -> tuple[str, ...]:
    """The release for the installed PyTorch, which runs what was migrated, whatever the project pins."""
    installed = metadata.version("torch").partition("+")[0]
    found = [row.torch_npu for row in releases() if row.torch == installed]
    return ("--torch-npu", found[0]) if found else ()


def environment(trial: Trial) -> dict[str, str]:
    """What the program's row asks for; one thread and one order of sets, to add in the same order."""
    made = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "TRIAL_SEED": "20",
    }
    if trial.program.get("steps"):
        made["TRIAL_STEPS"] = str(trial.program["steps"])
    made["TRIAL_OLD"] = " ".join(trial.program.get("old", ()))
    made.update(trial.program.get("variables", {}))
    path = [str(ROOT / "src")]
    if trial.program.get("stand_ins"):
        path.append(str(trial.work / "stand_ins"))
    made["PYTHONPATH"] = os.pathsep.join(path)
    made["CUDA_VISIBLE_DEVICES"] = ""
    return made


def try_program(trial: Trial, processes: int) -> Outcome:
    """Run a prepared program both ways.

    Arguments:
        trial: prepared.
        processes: on so many.

    Raises:
        TrialError: scan failed, or the original did on the CPU: that says nothing of npuify.
    """
    program = trial.program
    outcome = Outcome(program["name"], processes, trial.style)
    report = _scanned(trial)
    outcome.verdict, outcome.whose = report.level, report.whose
    cpu, said_on_cpu = run(trial, "original", processes)
    place = None
    try:
        npu, said_on_npu = run(trial, "migrated", processes)
    except RunError as error:
        outcome.problem = str(error)
        place = verdict.stops(error.said, trial.work / f"migrated-on-{processes}", trial.work / "original")
    else:
        compare(outcome, cpu, npu, program.get("tolerance", TOLERANCE))
        compare_lines(outcome, said_on_cpu, said_on_npu, every=_only_prints(program))
    outcome.contradicted = verdict.judge(report, outcome.problem, place, trial.work / "original")
    return outcome


def _only_prints(program: dict[str, Any]) -> bool:
    return bool(program.get("compare") == "printed")


def _scanned(trial: Trial) -> verdict.Report:
    command = [sys.executable, "-m", "npuify", "scan", "original", "--style", trial.style, *_aim()]
    try:
        return verdict.scan(
            [*command, *trial.program.get("options", ())], trial.work, trial.program["entry"], environment(trial)
        )
    except verdict.ScanError as error:
        raise TrialError(f"scan: {error}") from error


def run(trial: Trial, name: str, processes: int) -> tuple[list[list[float]], str]:
    """Run one of the two copies, with data and a folder of its own.

    Returns:
        for each rank, the numbers on which it called backward; and all that was printed.

    Raises:
        TrialError: it failed, with the end of what it said.
    """
    program = trial.program
    here = f"{name}-on-{processes}"
    shutil.rmtree(trial.work / here, ignore_errors=True)
    shutil.copytree(trial.work / name, trial.work / here)
    home = trial.home(here)
    if program.get("made"):
        MAKERS[program["made"]](home)
    for folder in program.get("folders", ()):
        (home / folder).mkdir(exist_ok=True)
    losses = trial.work / f"losses-{here}"
    for old in trial.work.glob(f"losses-{here}.*"):
        old.unlink()
    environ = {**environment(trial), "TRIAL_LOSSES": str(losses)}
    path = [str(BESIDE), *environ["PYTHONPATH"].split(os.pathsep)]
    path += [str(trial.work / here / folder) for folder in program.get("path", ())]
    environ["PYTHONPATH"] = os.pathsep.join(path)
    if name == "migrated":  # it is made for this PyTorch
        environ["TRIAL_OLD"] = environ["TRIAL_OLD"].replace("torch", "")
    if name == "original" and program.get("on_cpu") == "mapped":
        environ["TRIAL_CPU"] = str(processes)
    script = [str(trial.work / here / program["entry"]), *program.get("arguments", ())]
    if name == "migrated":
        script += program.get("on_npu", ())
    command = _command(program, script, processes, simulated=name == "migrated")
    done = _run(command, home, environ, LIMIT)
    (trial.work / f"said-{here}.txt").write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        last = _without_folders(done.stdout, trial.work).strip()[-1500:]
        raise RunError(f"{name} ended with {done.returncode}: {last}", done.stdout)
    if _only_prints(program):
        return [], done.stdout
    files = [losses.with_name(f"{losses.name}.{rank}") for rank in range(processes)]
    if not all(file.is_file() for file in files):
        raise RunError(f"{name} called backward on no number, on one of {processes} processes")
    return [[float(line) for line in file.read_text().splitlines()] for file in files], done.stdout


def _without_folders(said: str, work: Path) -> str:
    """Output without the folders of this machine, since it is kept with the results."""
    for folder in (str(work), sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(ROOT)):
        said = said.replace(f"{folder}/", "")
    return said


def _command(program: dict[str, Any], script: list[str], processes: int, *, simulated: bool) -> list[str]:
    simulate = [sys.executable, "-m", "npuify", "simulate", "--cpu-random", "--policy=off", f"--devices={processes}"]
    launcher = program.get("launcher", "")
    if launcher == "mpiexec":
        found = Path(sys.executable).with_name("mpiexec")
        return [*(simulate if simulated else []), str(found), "-n", str(processes), sys.executable, *script]
    if launcher == "torchrun" or (processes > 1 and launcher != "plain"):
        options = ["--standalone", f"--nproc_per_node={processes}", *script]
        return (
            [*simulate, "torchrun", *options]
            if simulated
            else [sys.executable, "-m", "torch.distributed.run", *options]
        )
    return [*simulate, *script] if simulated else [sys.executable, *script]


def _run(command: list[str], home: Path, environ: dict[str, str], limit: float) -> subprocess.CompletedProcess[str]:
    started = subprocess.Popen(
        command,
        cwd=home,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = started.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        # A launcher's workers would outlive it.
        os.killpg(started.pid, signal.SIGKILL)
        said, _ = started.communicate()
        ended = f"did not end within {limit:.0f} s: {' '.join(command[:6])}\n{said.strip()[-1500:]}"
        raise RunError(ended, said) from error
    return subprocess.CompletedProcess(command, started.returncode, said, "")


def compare(outcome: Outcome, cpu: list[list[float]], npu: list[list[float]], tolerance: float = TOLERANCE) -> None:
    """Hold the losses of each rank against those of the CPU's; a number that is not finite has to be the same."""
    if not cpu:
        return
    outcome.losses = len(cpu[0])
    if len({one for ours in cpu for one in ours}) == 1:
        outcome.problem = "every loss is the same number, which tells nothing"
        return
    for rank, (ours, theirs) in enumerate(zip(cpu, npu, strict=True)):
        if len(ours) != len(theirs):
            outcome.problem = f"rank {rank} called backward {len(theirs)} times, {len(ours)} times on the CPU"
            return
        for step, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one == other or (one != one and other != other):
                continue
            apart = abs(one - other) / max(abs(one), 1e-30)
            outcome.apart = max(outcome.apart, apart)
            if not apart <= tolerance and not outcome.problem:
                outcome.problem = f"rank {rank}, backward {step}: {other!r}, on the CPU {one!r} ({apart:.1e} apart)"


def told(said: str, *, every: bool = False) -> list[tuple[float | str, ...]]:
    """The numbers of each printed line that tells how training goes, less what is measured of the machine.

    Arguments:
        every: each line as it is, but for names of devices and what npuify says; for programs that train nothing.
    """
    lines = re.split(r"[\r\n]+", said)
    if every:
        kept = (" ".join(DEVICE.sub("device", MEASURED.sub(" ", line)).split()) for line in lines)
        return [(line,) for line in kept if line and not line.startswith("npuify: ")]
    rows = (tuple(float(one) for one in NUMBER.findall(MEASURED.sub(" ", line))) for line in lines if LOSS.search(line))
    return [row for row in rows if row]


def compare_lines(outcome: Outcome, on_cpu: str, on_npu: str, *, every: bool = False) -> None:
    """Count the lines that are the same in both; processes may print in another order.

    Arguments:
        every: the lines are all there is to compare, and have to be the same.
    """
    ours, theirs = sorted(told(on_cpu, every=every)), sorted(told(on_npu, every=every))
    outcome.lines = len(ours)
    left = list(theirs)
    for row in ours:
        if row in left:
            left.remove(row)
            outcome.same_lines += 1
    if every and (not ours or ours != theirs):
        outcome.problem = f"{outcome.same_lines} of {outcome.lines} printed lines are the same"
