"""Runs a program before and after its migration, and says where the two differ without a report that names the place.

python -m tests.fuzz.judge --count 20000 [--first 0] [--show 5]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.public_projects.places import how_far

from npuify.engine import prepare
from npuify.options import Options
from npuify.rewrite.plan import Draft
from npuify.rules.impact import Impact, impact_of
from npuify.simulator.launch import environment as simulated
from npuify.simulator.settings import Settings
from tests.simulator.conftest import environment
from tests.warm import ROOT, Program, warm

from .programs import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from npuify.model import Finding
    from tests.warm import Warm

STYLES = ("npu", "portable", "auto")
AT_ONCE = 80
"""Programs that one fork runs: making a fork takes ten times as long as a program."""
_TRANSFER = "transfer_to_npu"
_ELSEWHERE = ("NPU130", "NPU133")
"""Codes that stop nothing, and say that a program takes another branch: what it prints is told of, not that it stops."""


@dataclass
class Difference:
    """A program whose output is another after its migration."""

    seed: int
    style: str
    told: bool
    """Whether a finding of what is left, which the verdict counts, names the place."""
    reason: str
    by: str
    """The codes of the findings that name the place."""
    away: int
    """How many names lead from the place to the nearest of them; 0: it stands there, -1: there is none."""
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

    def add(self, other: Account) -> None:
        """Take those of another account, too."""
        self.programs += other.programs
        self.rejected += other.rejected
        self.differences += other.differences
        self.untouched += other.untouched

    @property
    def silent(self) -> list[Difference]:
        """Those of the differences that nothing tells of."""
        return [one for one in self.differences if not one.told]


class Ran(NamedTuple):
    """What a program did."""

    said: list[tuple[str, list[tuple[str, int]]]]
    """Each text that it printed, with file and line of the call, and of the calls that led there."""
    error: str = ""
    places: list[tuple[str, int]] = []  # noqa: RUF012 - read only
    """Where it stopped: file and line of each frame that is its own."""

    @property
    def plain(self) -> list[str]:
        """What is printed, whatever the kind of device is called."""
        return [text.replace("npu", "cuda") for text, _ in self.said]


class _Case(NamedTuple):
    """A program, migrated in one style."""

    seed: int
    style: str
    folder: Path
    texts: dict[str, str]
    left: list[Finding]
    defects: list[str]
    """What npuify says that it could not do, which is its own fault."""


class Machines:
    """The two processes that programs run in."""

    def __init__(self, cuda: Warm, npu: Warm, folder: Path, *, alone: bool = False) -> None:
        self.cuda, self.npu, self.folder = cuda, npu, folder
        self.alone = alone
        """Whether each program has a process of its own, which is slow: what the fast way is held against."""

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
        for case, after, by in self._after(cases, before):
            then = before[case.seed]
            if case.defects:
                reason = "; ".join(case.defects)
                account.differences.append(Difference(case.seed, case.style, False, reason, "", -1, sources[case.seed]))
                continue
            if not _differs(then, after):
                account.untouched[case.style] += 1
                continue
            difference = Difference(
                case.seed,
                case.style,
                bool(by),
                _reason(then, after),
                " ".join(sorted(by)),
                min(by.values(), default=-1),
                sources[case.seed],
            )
            account.differences.append(difference)
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _migrated(self, seed: int, files: dict[str, str], style: str) -> _Case:
        source, target = self.folder / f"p{seed}", self.folder / f"p{seed}-{style}"
        draft = Draft(source, Options(style=style, jobs=1, cache=False))
        changed = {name: raw.decode() for name, raw in draft.contents().items()}
        texts = {**files, **changed}
        _write(target, texts)
        left = [one for one in draft.left() if one.code in _ELSEWHERE or impact_of(one) is not Impact.GOES_ON]
        return _Case(seed, style, target, texts, left, [f"{one.file}: {one.message}" for one in draft.errors()])

    def _after(self, cases: list[_Case], before: dict[int, Ran]) -> Iterator[tuple[_Case, Ran, dict[str, int]]]:
        """What each does, and which codes tell of a difference.

        Where none does it runs again: apart from most, then alone.

        Others of its process may have to do with it.
        """
        ran = self._together(cases)
        by = {case.folder: _told(case, before[case.seed], ran[case.folder]) for case in cases}
        silent = [case for case in cases if _differs(before[case.seed], ran[case.folder]) and not by[case.folder]]
        again = self._together(silent)
        for case in cases:
            then, after = before[case.seed], again.get(case.folder, ran[case.folder])
            if case.folder not in again:
                yield case, after, by[case.folder]
                continue
            if _differs(then, after) and not _told(case, then, after):
                (after,) = self._run(self.npu, [case.folder])
            yield case, after, _told(case, then, after)

    def _together(self, cases: list[_Case]) -> dict[Path, Ran]:
        """What each does. Those that change torch for the process run apart from those that have to do without."""
        alike: dict[tuple[int, frozenset[tuple[str, str]]], list[Path]] = {}
        for case in cases:
            alike.setdefault((case.seed, frozenset(case.texts.items())), []).append(case.folder)
        found: dict[Path, Ran] = {}
        for chosen in _apart(alike):
            for first, ran in zip(chosen, self._run(self.npu, chosen), strict=True):
                found[first] = ran
        for folders in alike.values():
            found.update(dict.fromkeys(folders, found[folders[0]]))
        return found

    def _run(self, machine: Warm, folders: list[Path]) -> list[Ran]:
        if not folders:
            return []
        if self.alone and len(folders) > 1:
            return [one for folder in folders for one in self._run(machine, [folder])]
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


def _apart(alike: dict[tuple[int, frozenset[tuple[str, str]]], list[Path]]) -> Iterator[list[Path]]:
    """The first folder of each that is alike, in parts that one process may run."""
    plain, changing = [], []
    for (_, texts), (first, *_) in alike.items():
        whole = "".join(text for _, text in texts)
        (changing if _TRANSFER in whole else plain).append(first)
    yield plain
    yield changing


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _places(before: Ran, after: Ran) -> list[tuple[str, int]]:
    """Where it stops, or else prints something else."""
    if after.error:
        return after.places
    pairs = zip(before.plain, after.plain, after.said, strict=False)
    changed = [at for old, new, (_, at) in pairs if old != new][:1] or [at for _, at in after.said[-1:]]
    return [tuple(place) for at in changed for place in at]


def _differs(before: Ran, after: Ran) -> bool:
    return after.plain != before.plain or bool(after.error)


def _told(case: _Case, before: Ran, after: Ran) -> dict[str, int]:
    """The codes of the findings that name the place of a difference, with how many names lead from there to it."""
    if not _differs(before, after):
        return {}
    found: dict[str, set[tuple[str, int]]] = {}
    for one in case.left:
        if not after.error or one.code not in _ELSEWHERE:
            found.setdefault(one.code, set()).add((one.file, one.start.line))
    return how_far(_places(before, after), case.texts, found) if found else {}


def _no_matter(part: Sequence[int], account: Account) -> None:
    """Nobody asked."""


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
def machines(*, alone: bool = False) -> Iterator[Machines]:
    """A CUDA that is the CPU, and a simulated NPU."""
    base = environment()
    base["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
    device = simulated(Settings(cpu_random=True, policy="off", devices=2), base)
    with (
        tempfile.TemporaryDirectory() as folder,
        warm({**base, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, ["tests.fuzz.fake_cuda"]) as cuda,
        warm({**device, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, ["tests.fuzz.npu"]) as npu,
    ):
        place = Path(folder, "programs")
        place.mkdir()
        yield Machines(cuda, npu, place, alone=alone)


@contextmanager
def _collecting_by_hand() -> Iterator[None]:
    """Python's collector, which looks at all that is kept again and again, takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def run(
    seeds: Sequence[int],
    styles: Sequence[str] = STYLES,
    *,
    after: Callable[[Sequence[int], Account], None] = _no_matter,
    slowly: bool = False,
) -> Account:
    """What becomes of the programs of these seeds.

    Args:
        seeds: which.
        styles: which to migrate them to.
        after: told of each part of the seeds that was judged, with the account of that part.
        slowly: without what makes it fast: a process for each program, and each migration begins at nothing.
    """
    whole = Account()
    with ExitStack() as stack:
        if not slowly:
            stack.enter_context(_one_rule_set())
            stack.enter_context(_collecting_by_hand())
        made = stack.enter_context(machines(alone=slowly))
        for begin in range(0, len(seeds), AT_ONCE):
            account, part = Account(), seeds[begin : begin + AT_ONCE]
            made.judge(part, styles, account)
            gc.collect()
            after(part, account)
            whole.add(account)
    return whole


class Log:
    """A file with a line for each part that was judged, so that a run that was ended goes on where it was.

    Args:
        path: of that file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.account = Account()
        """What it says of the runs before."""
        self.seeds: set[int] = set()
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in lines:
            said = json.loads(line)
            self.seeds.update(range(said["first"], said["first"] + said["count"]))
            found = [Difference(**{"away": -1, **one}, files={}) for one in said["differences"]]
            self.account.add(Account(said["programs"], said["rejected"], found, Counter(said["untouched"])))

    def write(self, part: Sequence[int], account: Account) -> None:
        """Note what became of the programs of some seeds that follow each other."""
        differences = [
            {name: getattr(one, name) for name in ("seed", "style", "told", "reason", "by", "away")}
            for one in account.differences
        ]
        said = {
            "first": part[0],
            "count": len(part),
            "programs": account.programs,
            "rejected": account.rejected,
            "untouched": account.untouched,
            "differences": differences,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")


def main() -> int:
    """Run many, and print each kind of silent difference with programs that show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="programs to name for each kind")
    parser.add_argument("--style", action="append", choices=STYLES)
    parser.add_argument("--log", type=Path, help="a file that is added to, and says which seeds were judged before")
    parser.add_argument("--told", action="store_true", help="also by which codes differences are told of")
    given = parser.parse_args()
    styles = tuple(given.style or STYLES)
    log = Log(given.log) if given.log else None

    def after(part: Sequence[int], account: Account) -> None:
        for one in account.silent:
            print(f"{one.seed}/{one.style}: {one.reason}", flush=True)
        if log is not None:
            log.write(part, account)

    begun = time.process_time()
    account = log.account if log is not None else Account()
    seeds = [one for one in range(given.first, given.first + given.count) if log is None or one not in log.seeds]
    account.add(run(seeds, styles, after=after))
    for reason, count in Counter(one.reason for one in account.silent).most_common():
        shown = [f"{one.seed}/{one.style}" for one in account.silent if one.reason == reason][: given.show]
        print(f"{count:5} {reason}: {', '.join(shown)}")
    print(f"{account.programs} programs, and {account.rejected} that are none for CUDA either")
    spent = time.process_time() - begun + sum(os.times()[2:4])
    print(f"{spent:.0f} s of CPU time for {len(seeds)} of them")
    for style in styles:
        found = [one for one in account.differences if one.style == style]
        silent = sum(not one.told for one in found)
        print(
            f"{style}: {account.untouched[style]} do what they did, "
            f"{len(found) - silent} differ and are told of, {silent} silent"
        )
        for codes, count in Counter(one.by for one in found if one.told).most_common() if given.told else ():
            print(f"{count:9} {codes}")
    return 1 if account.silent else 0


if __name__ == "__main__":
    sys.exit(main())
