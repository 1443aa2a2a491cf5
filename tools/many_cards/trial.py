"""One program: copied, converted, run, and compared with what it does on one card."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
WAYS = ("torchrun", "shell", "spawn", "launch")
TOLERANCE = 1e-4
SIMULATE = [sys.executable, "-m", "npuify", "simulate", "--cpu-random", "--policy=off"]
MEASURED = re.compile(r"\d+(\.\d+)? ?(m?s(\d+ms)?|MiB)\b")
"""Times and memory differ."""
NUMBER = re.compile(r"-?\d+\.\d+|-?\d+")


@dataclass
class Trial:
    """A row of programs.toml, where it is found, and where it is tried."""

    program: dict[str, Any]
    corpus: Path
    work: Path
    way: str = "torchrun"
    nodes: int = 1
    """So many launchers, as on several machines, share the cards."""

    def folder(self, name: str) -> Path:
        return self.work / name

    def entry(self, name: str) -> Path:
        return self.folder(name) / self.program["entry"]

    def home(self, name: str) -> Path:
        """Where the program runs: beside its entry."""
        return self.entry(name).parent


@dataclass
class Result:
    """What came of a program on some cards."""

    name: str
    cards: int
    way: str
    steps: int = 0
    apart: float | None = None
    """The largest difference between the losses and those of one card, relative where a loss is larger than 1."""
    parameters_apart: float | None = None
    samples: str = ""
    numbers: str = ""
    files: int = 0
    left: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        apart = "noise" if self.apart is None else f"{self.apart:.1e}"
        ends = "-" if self.parameters_apart is None else f"{self.parameters_apart:.1e}"
        verdict = "FAILS" if self.problems else "holds"
        return (
            f"{verdict} {self.name} on {self.cards} ({self.way}): {self.steps} steps, losses apart {apart}, "
            f"parameters apart {ends}, samples {self.samples or '-'}, numbers {self.numbers or '-'}, files "
            f"{self.files}, left {self.left}"
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def environment() -> dict[str, str]:
    """That of a run: stand-ins behind what is installed."""
    path = [str(SOURCE), str(HERE / "stand_ins")]
    programs = os.pathsep.join([str(HERE / "stand_ins" / "bin"), os.environ.get("PATH", "")])
    own = {"PYTHONPATH": os.pathsep.join(path), "PATH": programs, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return {**os.environ, **own}


def prepare(trial: Trial) -> list[str]:
    """Copy, shorten, migrate and convert; what the conversion left."""
    shutil.rmtree(trial.work, ignore_errors=True)
    trial.work.mkdir(parents=True)
    project = (HERE.parents[1] if trial.program.get("own") else trial.corpus) / trial.program["project"]
    shutil.copytree(project, trial.folder("source"), ignore=shutil.ignore_patterns(".git", "*.png", "*.gif", "*.jpg"))
    _replace(trial.entry("source"), trial.program.get("shorten", ()))
    npuify(["migrate", "source", "-o", "original", "--unsafe", "--format", "json", "--output", "migrate.json"], trial)
    options = ["--entry", trial.program["entry"], "--global-batch", "keep", *trial.program.get("options", ())]
    command = ["distribute", "source", "-o", "converted", "--unsafe", *options]
    npuify([*command, "--format", "json", "--output", "distribute.json"], trial)
    _replace(trial.entry("converted"), trial.program.get("by_hand", ()))
    findings = json.loads((trial.work / "distribute.json").read_text())["findings"]
    return sorted(
        {one["code"] for one in findings if one["severity"] != "info" and "NPU350" <= one["code"] <= "NPU399"}
    )


def _replace(file: Path, pairs: Iterable[tuple[str, str]]) -> None:
    text = file.read_text()
    for pattern, replacement in pairs:
        text, count = re.subn(pattern, replacement, text)
        if not count:
            raise ValueError(f"{pattern} is not in {file}")
    file.write_text(text)


def npuify(arguments: list[str], trial: Trial) -> None:
    """Run npuify in the trial's folder; findings that are left are no failure."""
    command = [sys.executable, "-m", "npuify", *arguments]
    done = subprocess.run(command, cwd=trial.work, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command[2:])}\n{done.stdout}{done.stderr}")


def fresh(trial: Trial, name: str, source: str) -> None:
    """A copy of a converted program with its data, so that what it writes is its own."""
    from tools.many_cards.data import MAKERS

    shutil.copytree(trial.folder(source), trial.folder(name))
    for path, made_by in trial.program.get("data", {}).items():
        target = trial.home(name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        MAKERS[made_by](target)
    for folder in trial.program.get("folders", ()):
        (trial.home(name) / folder).mkdir(exist_ok=True)


def run(trial: Trial, copies: dict[str, str], cards: int) -> list[dict[str, Any]]:
    """Run copies one after the other in the same processes; what each did on each rank.

    Args:
        copies: the name of each copy, and what it is a copy of. The original takes its order of samples from the first.

    Raises:
        RuntimeError: one failed, with the end of what it said.
    """
    jobs: list[dict[str, Any]] = []
    for name, source in copies.items():
        fresh(trial, name, source)
        job = {
            "program": str(trial.entry(name)),
            "arguments": trial.program.get("arguments", []),
            "log": str(trial.work / f"log-{name}"),
            "path": str(trial.folder(name) / trial.program.get("path", ".")),
            "sgd": True,
            "no_dropout": True,
            "replay": f"{jobs[0]['log']}.0.json" if source == "original" else "",
        }
        jobs.append(job)
    first = next(iter(copies))
    file = trial.work / f"jobs-{first}.json"
    file.write_text(json.dumps(jobs))
    nodes = trial.nodes if cards > 1 else 1
    env = {**environment(), "MASTER_PORT": str(_free_port())}
    command = [*SIMULATE, *_launcher(trial, first, cards), str(file)]
    started = [
        subprocess.Popen(
            command,
            cwd=trial.work,
            env={**env, "NODE_RANK": str(node)} if nodes > 1 else env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for node in range(nodes)
    ]
    for process in started:
        try:
            said, _ = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            for other in started:
                other.kill()
            raise RuntimeError(f"{first} did not end") from None
        if process.returncode:
            raise RuntimeError(f"{first} failed with {process.returncode}: {said[-3000:]}")
    return [json.loads(Path(f"{job['log']}.{rank}.json").read_text()) for job in jobs for rank in range(cards)]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _launcher(trial: Trial, name: str, cards: int) -> list[str]:
    """What starts the driver: Python, torchrun, or a script that ``npuify launch`` writes."""
    driver = str(HERE / "driver.py")
    if cards == 1:
        return [driver]
    if trial.way == "torchrun" and trial.nodes == 1:
        return ["torchrun", "--standalone", f"--nproc_per_node={cards}", driver]
    target = trial.work / f"launch-{name}"
    command = [
        sys.executable,
        "-m",
        "npuify",
        "launch",
        driver,
        "--cards",
        str(cards // trial.nodes),
        "--method",
        trial.way,
    ]
    if trial.nodes > 1:
        command += ["--nodes", str(trial.nodes), "--master", "127.0.0.1"]
    done = subprocess.run(
        [*command, "-o", str(target)], cwd=trial.work, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return ["bash", str(target / "run.sh")]


def try_program(trial: Trial, cards: list[int]) -> list[Result]:
    """Run a program on one card, as it was and converted, and on several."""
    name = trial.program["name"]
    try:
        left = prepare(trial)
        copies = {"one": "converted", "before": "original"}
        if not trial.program.get("runs", True):
            del copies["before"]
        original = run(trial, copies, 1)[-1]
    except (RuntimeError, ValueError) as problem:
        return [Result(name, 1, trial.way, problems=[str(problem)])]
    found = []
    for count in cards:
        result = Result(name, count, trial.way, left=left)
        found.append(result)
        try:
            compare(trial, result, original, run(trial, {f"on{count}": "converted"}, count))
        except RuntimeError as problem:
            result.problems.append(str(problem))
    return found


def compare(trial: Trial, result: Result, original: dict[str, Any], ranks: list[dict[str, Any]]) -> None:
    """Fill in the numbers, and what is wrong."""
    say = result.problems.append
    noise = trial.program.get("noise")
    first = ranks[0]
    result.steps = len(first["parameters"])
    if not result.steps:
        say("no step was taken")
    for number, rank in enumerate(ranks):
        if rank["parameters"] != first["parameters"]:
            say(f"rank {number} has other parameters than rank 0")
    if len(original["losses"]) != len(first["losses"]) or any(len(r["losses"]) != len(first["losses"]) for r in ranks):
        say(f"{[len(rank['losses']) for rank in ranks]} steps, {len(original['losses'])} on one card")
    elif not noise:
        curve = [sum(losses) / len(losses) for losses in zip(*(rank["losses"] for rank in ranks), strict=True)]
        pairs = list(zip(original["losses"], curve, strict=True))
        result.apart = max((abs(a - b) / max(1, abs(a)) for a, b in pairs), default=0.0)
        if result.apart > TOLERANCE:
            place = max(range(len(pairs)), key=lambda at: abs(pairs[at][0] - pairs[at][1]))
            say(f"the losses differ by {result.apart:.2e}; step {place}: {pairs[place]}")
        ends = [(original["last"].get(size, []), values) for size, values in first["last"].items()]
        result.parameters_apart = max(
            (abs(a - b) / max(1, abs(a)) for one, other in ends for a, b in zip(one, other, strict=False)), default=0.0
        )
        if result.parameters_apart > 10 * TOLERANCE:
            say(f"the parameters differ by {result.parameters_apart:.2e} in the end")
    _samples(trial, result, ranks)
    _numbers(result, original, ranks, compare=not noise)
    _files(trial, result, compare=not noise)


def _samples(trial: Trial, result: Result, ranks: list[dict[str, Any]]) -> None:
    epochs, size = trial.program.get("epochs"), trial.program.get("samples", 64)
    if not epochs:
        return
    seen = Counter(index for rank in ranks for index in rank["samples"].get(str(size), ()))
    result.samples = f"{len(seen)} × {sorted(set(seen.values()))}"
    if seen != dict.fromkeys(range(size), epochs):
        result.problems.append(
            f"of {size} samples, {len(seen)} were seen, {sorted(set(seen.values()))} times, not {epochs}"
        )


def _numbers(result: Result, original: dict[str, Any], ranks: list[dict[str, Any]], *, compare: bool) -> None:
    for number, rank in enumerate(ranks[1:], 1):
        if rank["said"].strip():
            result.problems.append(f"rank {number} prints {rank['said'].strip()[:200]!r}")
    if not compare:
        return
    said = ([MEASURED.sub("", line) for line in log["said"].splitlines()] for log in (original, ranks[0]))
    one, many = ([line for line in lines if NUMBER.search(line)] for lines in said)
    other = []
    for before, after in zip(one, many, strict=False):
        pairs = list(zip(NUMBER.findall(before), NUMBER.findall(after), strict=False))
        if any(abs(float(a) - float(b)) > 1.01e-4 * max(1, abs(float(a))) for a, b in pairs):
            other.append(f"{before.strip()!r} is {after.strip()!r}")
    result.numbers = f"{len(one) - len(other)} of {len(one)} lines"
    if len(one) != len(many):
        result.problems.append(f"{len(many)} lines with numbers are printed, {len(one)} on one card")
    result.problems += [f"printed on one card: {line}" for line in other[:4]]


def _files(trial: Trial, result: Result, *, compare: bool) -> None:
    """The files with tensors that the original wrote: with the same names and values, and readable by one process."""
    import torch

    def written(name: str) -> dict[str, Path]:
        return {
            path.relative_to(trial.folder(name)).as_posix(): path
            for path in trial.folder(name).rglob("*")
            if path.suffix in (".pt", ".pth", ".ckpt") and path.is_file()
        }

    before, after = written("before" if trial.program.get("runs", True) else "one"), written(f"on{result.cards}")
    result.files = len(after)
    if before.keys() != after.keys():
        result.problems.append(f"files written: {sorted(after)}, on one card {sorted(before)}")
    for name in before.keys() & after.keys():
        one, many = (
            _tensors(torch.load(path, map_location="cpu", weights_only=False)) for path in (before[name], after[name])
        )
        if one.keys() != many.keys():
            result.problems.append(f"{name} has {sorted(many.keys() ^ one.keys())[:4]} more or less than on one card")
        elif compare:
            for key, tensor in one.items():
                if tensor.shape != many[key].shape or not torch.allclose(
                    tensor.float(), many[key].float(), atol=1e-3, rtol=1e-3
                ):
                    result.problems.append(f"{name}: {key} is another one than on one card")


def _tensors(value: Any, prefix: str = "") -> dict[str, Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return {prefix: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return {name: tensor for key, one in items for name, tensor in _tensors(one, f"{prefix}.{key}").items()}
