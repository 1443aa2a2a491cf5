"""``python -m tools.tensorflow_programs ORIGINAL MIGRATED --python TF_PYTHON --only 'examples/*/*.py'``.

Each program runs as it was, on the CPU, and after migration under ``npuify simulate``; a line says whether both ended
and printed the same, times left out. A program that differs is run again as it was: some differ from run to run.

With ``--ranks 2``, MIGRATED was converted by ``npuify distribute``: the program runs on so many simulated NPUs, each
with its share of the batches, and each number that it prints, averaged over the ranks, has to be that of the original.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

INSIDE = Path(__file__).resolve().parent / "with_made_up_data.py"
SOURCES = INSIDE.parents[2] / "src"
_TIME = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?\s*(?:ms|us|s|sec|seconds)\b(?:/\w+)?|(?i:time\S*:?\s*)\d[\d.e-]*|[\r\b]")

_AGAIN = 4
"""Runs of the original before it is said that it prints the same each time."""


class Ran(NamedTuple):
    """How a program ended; None is too late."""

    code: int | None
    out: str


def run(command: list[str], limit: int) -> Ran:
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    if "npuify" in command:
        environ["PYTHONPATH"] = str(SOURCES)
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env=environ, cwd=folder, check=False
            )
        except subprocess.TimeoutExpired:
            return Ran(None, "")
    return Ran(done.returncode, _TIME.sub("", done.stdout))


def judge(python: str, original: Path, migrated: Path, limit: int) -> str:
    """One of: same, differs, differs by itself, too slow, fails, fails after migration."""
    plain = [python, str(INSIDE), str(original)]
    before = run(plain, limit)
    if before.code is None:
        return "too slow"
    if before.code:
        return "fails"
    simulate = [sys.executable, "-m", "npuify", "simulate", "--framework", "tensorflow", "--python", python]
    after = run([*simulate, str(INSIDE), str(migrated)], 2 * limit)
    if after.code != 0:
        return "fails after migration" if after.code is not None else "too slow after migration"
    if before.out == after.out:
        return "same"
    again = (run(plain, limit).out for _ in range(_AGAIN))
    return "differs by itself" if any(out != before.out for out in again) else "differs"


_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
_CLOSE = 2e-3
"""Relative: sums of single precision in another order, over some hundred steps."""


def judge_ranks(python: str, original: Path, converted: Path, limit: int, ranks: int) -> str:
    """One of: same, differs, too slow, fails, fails on several ranks; with the numbers' largest distance.

    Where it is large the original runs once more, with each batch in reverse: what that changes is rounding.
    """
    simulate = [sys.executable, "-m", "npuify", "simulate", "--framework", "tensorflow", "--python", python]
    printed: list[list[str]] = []
    for count, program in ((1, original), (ranks, converted)):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RANKS_OUTPUT"] = folder
            command = [python, str(INSIDE), str(program)]
            if count > 1:
                command = [*simulate, "--ranks", str(count), str(INSIDE), str(program)]
            done = run(command, limit * count)
            if done.code:
                return "fails" if count == 1 else "fails on several ranks"
            if done.code is None:
                return "too slow"
            printed.append([_TIME.sub("", (Path(folder) / str(rank)).read_text()) for rank in range(count)])
    whole = [float(one) for one in _NUMBER.findall(printed[0][0])]
    parts = [[float(one) for one in _NUMBER.findall(text)] for text in printed[1]]
    if not whole or {len(part) for part in parts} != {len(whole)}:
        return f"not comparable: {len(whole)} numbers, {[len(part) for part in parts]}"
    apart = _distance(whole, [sum(those) / len(those) for those in zip(*parts, strict=True)])
    if apart < _CLOSE:
        return f"same: {len(whole)} numbers, at most {apart:.1e} apart"
    again = _reversed(python, original, limit)
    rounding = _distance(whole, again) if len(again) == len(whole) else 0.0
    return f"differs: {len(whole)} numbers, at most {apart:.1e} apart; the original in another order {rounding:.1e}"


def _distance(one: list[float], other: list[float]) -> float:
    return max(abs(b - a) / max(abs(a), 1e-3) for a, b in zip(one, other, strict=True))


def _reversed(python: str, original: Path, limit: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(RANKS_OUTPUT=folder, RANKS_REVERSED="1")
        run([python, str(INSIDE), str(original)], limit)
        del os.environ["RANKS_REVERSED"]
        printed = Path(folder) / "0"
        return [float(one) for one in _NUMBER.findall(_TIME.sub("", printed.read_text()))] if printed.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("original", type=Path)
    parser.add_argument("migrated", type=Path)
    parser.add_argument("--python", required=True, help="a Python with TensorFlow")
    parser.add_argument("--only", default="**/*.py", help="which programs")
    parser.add_argument("--limit", type=int, default=60, help="seconds for each")
    parser.add_argument("--ranks", type=int, default=1, help="simulated NPUs for a program that was converted")
    given = parser.parse_args()
    for program in sorted(given.original.resolve().glob(given.only)):
        relative = program.relative_to(given.original.resolve())
        migrated = given.migrated.resolve() / relative
        if given.ranks > 1:
            verdict = judge_ranks(given.python, program, migrated, given.limit, given.ranks)
        else:
            verdict = judge(given.python, program, migrated, given.limit)
        print(f"{verdict:24} {relative.as_posix()}", flush=True)


if __name__ == "__main__":
    main()
