"""Runs a program before and after its migration, and says where the two differ without a report that names the place.

python -m tests.fuzz.judge --count 20000 [--first 0] [--show 5]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.public_projects.places import is_named

from npuify.engine import prepare
from npuify.options import Options
from npuify.rewrite.plan import plan
from npuify.rules.impact import Impact, impact_of
from npuify.simulator.launch import environment as simulated
from npuify.simulator.settings import Settings
from tests.simulator.conftest import environment
from tests.warm import ROOT, Program, warm

from .programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from tests.warm import Warm

STYLES = ("npu", "portable", "auto")
AT_ONCE = 80
"""Programs that one fork runs: making a fork takes ten times as long as a program."""
_TRANSFER = "transfer_to_npu"


@dataclass
class Difference:
    """A program whose output is another after its migration."""

    seed: int
    style: str
    told: bool
    """Whether a finding of what is left, which the verdict counts, names the place."""
    reason: str
    files: dict[str, str] = field(repr=False)


@dataclass
class Account:
    """What became of a number of programs."""

    programs: int = 0
    rejected: int = 0
    """Those that fail on CUDA as well."""
    differences: list[Difference] = field(default_factory=list)
    untouched: Counter[str] = field(default_factory=Counter)
    """By style, the programs that do after the migration what they did before."""

    @property
    def silent(self) -> list[Difference]:
        """Those of the differences that nothing tells of."""
        return [one for one in self.differences if not one.told]


class Ran(NamedTuple):
    """What a program did."""

    said: list[tuple[str, str, int]]
    """Each text that it printed, with the file and line of the call."""
    error: str = ""
    places: list[tuple[str, int]] = []  # noqa: RUF012 - read only
    """Where it stopped: file and line of each frame that is its own."""

    @property
    def plain(self) -> list[str]:
        """What is printed, whatever the kind of device is called."""
        return [text.replace("npu", "cuda") for text, _, _ in self.said]


class _Case(NamedTuple):
    """A program, migrated in one style."""

    seed: int
    style: str
    folder: Path
    texts: dict[str, str]
    left: list[Finding]


class Machines:
    """The two processes that programs run in."""

    def __init__(self, cuda: Warm, npu: Warm, folder: Path) -> None:
        self.cuda, self.npu, self.folder = cuda, npu, folder

    def judge(self, seeds: Sequence[int], styles: Sequence[str], account: Account) -> None:
        """Take the programs of these seeds into account."""
        sources = {}
        for seed in seeds:
            sources[seed] = program(seed)
            _write(self.folder / f"p{seed}", sources[seed])
        before = dict(zip(seeds, self._run(self.cuda, [self.folder / f"p{seed}" for seed in seeds]), strict=True))
        good = [seed for seed in seeds if not before[seed].error]
        account.programs += len(good)
        account.rejected += len(seeds) - len(good)
        cases = [self._migrated(seed, sources[seed], style) for seed in good for style in styles]
        for case, after in self._after(cases, before):
            then = before[case.seed]
            if not _differs(then, after):
                account.untouched[case.style] += 1
                continue
            difference = Difference(
                case.seed, case.style, _told(case, then, after), _reason(then, after), sources[case.seed]
            )
            account.differences.append(difference)
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _migrated(self, seed: int, files: dict[str, str], style: str) -> _Case:
        source, target = self.folder / f"p{seed}", self.folder / f"p{seed}-{style}"
        result, contents = plan(source, Options(style=style, jobs=1, cache=False))
        assert not result.scan.errors, (seed, style, result.scan.errors)
        changed = {name: raw.decode() for name, raw in contents.items()}
        texts = {**files, **changed}
        _write(target, texts)
        left = [one for one in result.left if impact_of(one) is not Impact.GOES_ON]
        return _Case(seed, style, target, texts, left)

    def _after(self, cases: list[_Case], before: dict[int, Ran]) -> Iterator[tuple[_Case, Ran]]:
        """What each does. What others of its process may have to do with is run again: apart from most, then alone."""
        ran = self._together(cases)
        again = self._together([case for case in cases if _differs(before[case.seed], ran[case.folder])])
        for case in cases:
            then, after = before[case.seed], again.get(case.folder, ran[case.folder])
            if _differs(then, after) and not _told(case, then, after):
                (after,) = self._run(self.npu, [case.folder])
            yield case, after

    def _together(self, cases: list[_Case]) -> dict[Path, Ran]:
        """What each does. Those that change torch for the process run apart from those that have to do without."""
        changing = [case.folder for case in cases if any(_TRANSFER in text for text in case.texts.values())]
        plain = [case.folder for case in cases if case.folder not in set(changing)]
        found: dict[Path, Ran] = {}
        for folders in (plain, changing):
            found.update(zip(folders, self._run(self.npu, folders), strict=True))
        return found

    def _run(self, machine: Warm, folders: list[Path]) -> list[Ran]:
        if not folders:
            return []
        output = self.folder / "ran.json"
        output.unlink(missing_ok=True)
        arguments = [ROOT / "tests/fuzz/many.py", output, *folders]
        (done,) = machine.run(Program([str(one) for one in arguments], self.folder))
        ran = [Ran(**json.loads(line)) for line in output.read_text("utf-8").splitlines()] if output.exists() else []
        if len(ran) == len(folders):
            return ran
        if len(folders) == 1:
            return [Ran([], f"the process ended: {done.stderr.strip()[-200:]}")]
        return [one for folder in folders for one in self._run(machine, [folder])]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _places(before: Ran, after: Ran) -> list[tuple[str, int]]:
    """Where it stops, or else prints something else."""
    if after.error:
        return after.places
    pairs = zip(before.plain, after.plain, after.said, strict=False)
    return [(file, line) for old, new, (_, file, line) in pairs if old != new][:1] or [
        (file, line) for _, file, line in after.said[-1:]
    ]


def _differs(before: Ran, after: Ran) -> bool:
    return after.plain != before.plain or bool(after.error)


def _told(case: _Case, before: Ran, after: Ran) -> bool:
    return is_named(_places(before, after), case.texts, {(one.file, one.start.line) for one in case.left})


def _reason(before: Ran, after: Ran) -> str:
    if after.error:
        return after.error.partition("\n")[0][:200]
    pairs = zip(before.plain, after.plain, strict=False)
    return next((f"{a!r} became {b!r}" for a, b in pairs if a != b), "fewer or more lines")


@contextmanager
def _one_rule_set() -> Iterator[None]:
    """Preparing the rules takes a fifth of the time of migrating a small program, and all programs have the same."""
    made = prepare.RuleSet
    prepare.RuleSet = cache(made)  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        prepare.RuleSet = made  # type: ignore[misc]


@contextmanager
def machines() -> Iterator[Machines]:
    """A CUDA that is the CPU, and a simulated NPU."""
    base = environment()
    base["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
    device = simulated(Settings(cpu_random=True, policy="off"), base)
    with (
        tempfile.TemporaryDirectory() as folder,
        warm({**base, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, ["tests.fuzz.fake_cuda"]) as cuda,
        warm({**device, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, ["tests.fuzz.npu"]) as npu,
    ):
        place = Path(folder, "programs")
        place.mkdir()
        yield Machines(cuda, npu, place)


def run(seeds: Sequence[int], styles: Sequence[str] = STYLES, *, show: bool = False) -> Account:
    """What becomes of the programs of these seeds."""
    account = Account()
    with _one_rule_set(), machines() as made:
        for begin in range(0, len(seeds), AT_ONCE):
            shown = len(account.silent)
            made.judge(seeds[begin : begin + AT_ONCE], styles, account)
            for one in account.silent[shown:] if show else ():
                print(f"{one.seed}/{one.style}: {one.reason}", flush=True)
    return account


def main() -> int:
    """Run many, and print each kind of silent difference with programs that show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="programs to name for each kind")
    parser.add_argument("--style", action="append", choices=STYLES)
    given = parser.parse_args()
    styles = tuple(given.style or STYLES)
    begun = time.monotonic()
    account = run(range(given.first, given.first + given.count), styles, show=True)
    for reason, count in Counter(one.reason for one in account.silent).most_common():
        seeds = [f"{one.seed}/{one.style}" for one in account.silent if one.reason == reason][: given.show]
        print(f"{count:5} {reason}: {', '.join(seeds)}")
    print(
        f"{account.programs} programs, and {account.rejected} that are none for CUDA either; "
        f"{time.monotonic() - begun:.0f} s"
    )
    for style in styles:
        found = [one for one in account.differences if one.style == style]
        silent = sum(not one.told for one in found)
        print(
            f"{style}: {account.untouched[style]} do what they did, "
            f"{len(found) - silent} differ and are told of, {silent} silent"
        )
    return 1 if account.silent else 0


if __name__ == "__main__":
    sys.exit(main())
