"""``python -m tools.tensorflow_programs ORIGINAL MIGRATED --python TF_PYTHON --only 'examples/*/*.py'``.

Each program runs as it was, on the CPU, and after migration under ``npuify simulate``; a line says whether both ended
and printed the same, times left out. A program that differs is run again as it was: some differ from run to run.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("original", type=Path)
    parser.add_argument("migrated", type=Path)
    parser.add_argument("--python", required=True, help="a Python with TensorFlow")
    parser.add_argument("--only", default="**/*.py", help="which programs")
    parser.add_argument("--limit", type=int, default=60, help="seconds for each")
    given = parser.parse_args()
    for program in sorted(given.original.resolve().glob(given.only)):
        relative = program.relative_to(given.original.resolve())
        verdict = judge(given.python, program, given.migrated.resolve() / relative, given.limit)
        print(f"{verdict:24} {relative.as_posix()}", flush=True)


if __name__ == "__main__":
    main()
