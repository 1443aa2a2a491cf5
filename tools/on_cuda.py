"""Run public training programs on a CUDA device: as they are, in style portable, and held against a simulated NPU.

    python -m tools.on_cuda CORPUS --work FOLDER [--only NAME]… [--jobs 4] [--json FILE]

CORPUS holds the projects that many_cards/programs.toml names. Of each program, shortened and over made-up data:

- the original runs twice on CUDA, and once migrated with ``--style portable``: the losses, and the parameters after
  each step are compared bit by bit. What differs between the two runs of the original says nothing about the third.
- ``npuify verify capture`` records the original on CUDA and the migrated program on a simulated NPU, and ``verify
  compare`` has to find them in agreement.

Exit code 1 if anything else comes out, 2 where there is no CUDA device.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tomli

from tools.many_cards import trial as trials

DRIVER = Path(trials.__file__).with_name("driver.py")
PROGRAMS = DRIVER.with_name("programs.toml")
NPUIFY = [sys.executable, "-m", "npuify"]


@dataclass
class Outcome:
    """What came of one program."""

    name: str
    steps: int = 0
    repeats: bool = False
    """The original computes the same bits twice."""
    same: bool = False
    """The portable one computes the original's bits."""
    apart: float = 0.0
    """The largest difference between the losses of the original and the portable one."""
    agrees: bool | None = None
    """What ``verify compare`` says of CUDA and a simulated NPU; ``None`` where the program runs on one only."""
    worst: str = ""
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        bits = "same bits" if self.same else f"losses apart {self.apart:.1e}"
        verdict = "FAILS" if self.problems else "holds"
        return (
            f"{verdict} {self.name}: {self.steps} steps, portable {bits} (original again: "
            f"{'same bits' if self.repeats else 'other bits'}), CUDA against simulated: {self.agrees} {self.worst}"
        )


def _call(command: list[str], folder: Path, codes: tuple[int, ...] = (0,), path: Path | None = None) -> str:
    environment = {**trials.environment(), "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    if path is not None:
        environment["PYTHONPATH"] = f"{path}{os.pathsep}{environment['PYTHONPATH']}"
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    if done.returncode not in codes:
        raise RuntimeError(
            f"{' '.join(command[1:6])} … ended with {done.returncode}: {(done.stdout + done.stderr)[-1500:]}"
        )
    return done.stdout + done.stderr


def _trained(trial: trials.Trial, name: str, source: str) -> dict[str, Any]:
    trials.fresh(trial, name, source)
    job = {
        "program": str(trial.entry(name)),
        "arguments": trial.program.get("arguments", []),
        "log": str(trial.work / f"log-{name}"),
        "path": str(trial.folder(name) / trial.program.get("path", ".")),
    }
    jobs = trial.work / f"jobs-{name}.json"
    jobs.write_text(json.dumps([job]))
    _call([sys.executable, str(DRIVER), str(jobs)], trial.work)
    logged: dict[str, Any] = json.loads(Path(f"{job['log']}.0.json").read_text())
    return logged


def _compared(trial: trials.Trial, outcome: Outcome) -> None:
    for name, source, device in (("cuda", "source", "auto"), ("npu", "original", "simulated")):
        trials.fresh(trial, f"captured-{name}", source)
        entry = trial.entry(f"captured-{name}")
        command = [*NPUIFY, "verify", "capture", "-o", str(trial.work / name), "--steps", "3", "--device", device]
        path = trial.folder(f"captured-{name}") / trial.program.get("path", ".")
        _call([*command, entry.name, *trial.program.get("arguments", [])], entry.parent, path=path)
    report = trial.work / "compared.json"
    command = [*NPUIFY, "verify", "compare", "cuda", "npu", "--format", "json", "--output", str(report)]
    refused = _call(command, trial.work, (0, 1, 2))
    if not report.is_file():
        outcome.worst = f"({refused.strip().splitlines()[0]})" if refused.strip() else ""
        return
    said = json.loads(report.read_text())["comparison"]
    outcome.agrees, outcome.worst = said["agrees"], f"(largest error {said['worst']:.1e})"
    if not outcome.agrees:
        outcome.problems.append(f"CUDA against simulated: {json.dumps(said.get('first'))[:1500]}")


def tried(trial: trials.Trial) -> Outcome:
    """Run one program in all ways."""
    outcome = Outcome(trial.program["name"])
    try:
        trials.prepare(trial)
        trials.npuify(["migrate", "source", "-o", "portable", "--style", "portable", "--unsafe"], trial)
        runs = {name: _trained(trial, name, source) for name, source in (
            ("before", "source"), ("again", "source"), ("after", "portable"))}  # fmt: skip
        before, again, after = runs["before"], runs["again"], runs["after"]
        outcome.steps = len(before["parameters"])
        outcome.repeats = before["parameters"] == again["parameters"]
        outcome.same = before["parameters"] == after["parameters"] and before["losses"] == after["losses"]
        outcome.apart = _apart(before, after)
        if not outcome.steps or len(before["losses"]) != len(after["losses"]):
            outcome.problems.append(f"{len(before['losses'])} steps before, {len(after['losses'])} after")
        elif not outcome.same and (outcome.repeats or outcome.apart > 10 * _apart(before, again)):
            outcome.problems.append("the portable program computes other values")
        _compared(trial, outcome)
    except (RuntimeError, ValueError, subprocess.TimeoutExpired) as problem:
        outcome.problems.append(str(problem))
    return outcome


def _apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    return max((abs(a - b) for a, b in zip(one["losses"], other["losses"], strict=False)), default=0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("there is no CUDA device", file=sys.stderr)
        return 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}", flush=True)
    programs = [
        one
        for one in tomli.loads(PROGRAMS.read_text())["program"]
        if (not given.only or any(name in one["name"] for name in given.only))
        and (one.get("own") or (given.corpus / one["project"]).is_dir())
    ]
    outcomes = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for outcome in pool.map(
            lambda one: tried(trials.Trial(one, given.corpus, given.work / one["name"].replace(" ", "_"))), programs
        ):
            outcomes.append(outcome)
            print(outcome.line(), *outcome.problems, sep="\n    ", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    return int(any(one.problems for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
