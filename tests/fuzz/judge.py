"""Runs a program before and after its migration, and says where the two differ without a report that names the place.

python -m tests.fuzz.judge --count 20000 [--first 0] [--show 5]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import npuify
from npuify.model import Severity
from npuify.options import Options
from npuify.simulator.launch import environment as simulated
from npuify.simulator.settings import Settings
from tests.simulator.conftest import environment
from tests.warm import ROOT, Program, warm

from .programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from tests.warm import Done, Warm

STYLES = ("npu", "portable", "auto")
_WORD = re.compile(r"[A-Za-z_]\w+")
_COMMON = frozenset(
    "torch th compat cuda npu print float tensor to device ones main def return import if for in".split()
)
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass
class Difference:
    """A program whose output is another after its migration."""

    seed: int
    style: str
    told: bool
    """Whether a finding of what is left names the place, or the program's file where no place is known."""
    reason: str
    files: dict[str, str] = field(repr=False)


class Machines:
    """The two processes that programs run in."""

    def __init__(self, cuda: Warm, npu: Warm, folder: Path) -> None:
        self.cuda, self.npu, self.folder = cuda, npu, folder
        self.settings = Settings(cpu_random=True, policy="off").environment()
        self.rejected = 0

    def differences(self, seed: int, styles: tuple[str, ...] = STYLES) -> Iterator[Difference]:
        """Where a program's migrations do otherwise than it did; nothing where the program itself fails."""
        files = program(seed)
        source = self.folder / f"p{seed}"
        source.mkdir()
        for name, text in files.items():
            (source / name).write_text(text, encoding="utf-8")
        before = self._run(self.cuda, source, {"NPUIFY_FUZZ": "1"})
        if before.returncode:
            self.rejected += 1
            return
        seen: dict[tuple[str, ...], tuple[Done, Path]] = {}
        for style in styles:
            target = self.folder / f"p{seed}-{style}"
            result = npuify.migrate(source, target, Options(style=style))
            texts = tuple((target / name).read_text(encoding="utf-8") for name in sorted(files))
            if texts not in seen:
                seen[texts] = self._run(self.npu, target, self.settings), target
            after, where = seen[texts]
            if _plain(after.stdout) == _plain(before.stdout) and not after.returncode:
                continue
            left = [one for one in result.left if one.severity is not Severity.INFO]
            yield Difference(seed, style, _is_told(after, where, left), _reason(before, after), files)

    def _run(self, machine: Warm, folder: Path, environ: dict[str, str]) -> Done:
        (done,) = machine.run(Program(["main.py"], folder, environ))
        return done


def _plain(output: str) -> str:
    """What is printed, whatever the kind of device is called."""
    return output.replace("npu", "cuda")


def _is_told(after: Done, folder: Path, left: list[Finding]) -> bool:
    """Whether a warning or error of what is left names the place: it stands on a line of the traceback, or on the line
    that a name used there comes from. A program that does not stop shows no place; then any of them in it counts."""
    places = [
        (folder / file, int(line))
        for file, line in _PLACE.findall(after.stderr)
        if Path(file).parent.name == folder.name or not Path(file).is_absolute()
    ]
    if not after.returncode or not places:
        return bool(left)
    words = {word for file, line in places for word in _WORD.findall(_line(file, line))} - _COMMON | (
        {"device"} if '["device"]' in after.stderr else set()
    )
    return any(
        (folder / one.file, one.start.line) in places
        or words & set(_WORD.findall(_line(folder / one.file, one.start.line)))
        for one in left
    )


def _line(file: Path, line: int) -> str:
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return lines[line - 1] if line <= len(lines) else ""


def _reason(before: Done, after: Done) -> str:
    if after.returncode:
        return after.stderr.strip().rpartition("\n")[2][:200]
    one = zip(_plain(before.stdout).splitlines(), _plain(after.stdout).splitlines(), strict=False)
    return next((f"{a!r} became {b!r}" for a, b in one if a != b), "fewer or more lines")


def run(seeds: range, styles: tuple[str, ...] = STYLES) -> tuple[list[Difference], int]:
    """The differences of the programs of these seeds, and how many programs were none for CUDA either."""
    found: list[Difference] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base = environment()
        base["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
        cuda = stack.enter_context(warm(base, ["tests.fuzz.fake_cuda"]))
        device = simulated(Settings(cpu_random=True, policy="off"), base)
        npu = stack.enter_context(warm({**device, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, ["tests.fuzz.npu"]))
        machines = Machines(cuda, npu, folder)
        for seed in seeds:
            found += machines.differences(seed, styles)
            for made in folder.glob(f"p{seed}*"):
                _remove(made)
        return found, machines.rejected


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run many, and print each kind of silent difference with programs that show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="programs to print for each kind")
    parser.add_argument("--style", action="append", choices=STYLES)
    given = parser.parse_args()
    begun = time.monotonic()
    found, rejected = run(range(given.first, given.first + given.count), tuple(given.style or STYLES))
    silent = [one for one in found if not one.told]
    kinds = Counter(one.reason for one in silent)
    for reason, count in kinds.most_common():
        seeds = [f"{one.seed}/{one.style}" for one in silent if one.reason == reason][: given.show]
        print(f"{count:5} {reason}: {', '.join(seeds)}")
    print(
        f"{given.count} programs, {rejected} of them none for CUDA either, {len(found) - len(silent)} differences told of, "
        f"{len(silent)} silent; {time.monotonic() - begun:.0f} s"
    )
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
