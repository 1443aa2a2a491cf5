"""Run the simulator's tests on other versions of PyTorch, and write what passed into docs/simulation.md.

    python tools/simulator_on_torch.py /venvs/torch-2.6/bin/python /venvs/torch-2.14/bin/python --write

Each Python named has PyTorch, NumPy, PyYAML, pytest, expecttest and npuify's dependencies. Continuous integration runs
the tests on one version only; this is for all the others. Each file of tests is a process of its own with a limit of
time, so that one that hangs does not hide the rest. Programs whose parts are reported one by one
(``tests/simulator/in_parts.py``) give a second table, of features.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "simulator"
RESULTS = ROOT / "docs" / "simulator-versions.json"
PAGE = ROOT / "docs" / "simulation.md"
MARK = "<!-- {name}: begin (tools/simulator_on_torch.py) -->", "<!-- {name}: end -->"

Counts = dict[str, int]
"""How many tests passed, failed, and were skipped."""


class Result(TypedDict):
    """What a file of tests gave: the numbers, and ``passed``, ``failed: why`` or ``lacking: what`` of each feature."""

    counts: Counts
    features: list[tuple[str, str]]


Results = dict[str, dict[str, Result]]
"""By version of PyTorch and file of tests."""


def test_files(below: Path = TESTS) -> list[Path]:
    """The files of tests, in the order of their names."""
    return sorted(below.rglob("test_*.py"))


def torch_of(python: str) -> str:
    """The version of PyTorch that a Python has, with its build (``2.6.0+cu124``)."""
    done = subprocess.run(
        [python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{python} has no PyTorch that can be imported:\n{done.stderr[-2000:]}")
    return done.stdout.split()[-1]


def run_file(python: str, file: Path, limit: float) -> tuple[Result, str]:
    """Run one file of tests.

    Arguments:
        python: the Python that runs it.
        file: the file.
        limit: seconds after which it is ended.

    Returns:
        what it gave, and what pytest printed. A file that did not end, or ran nothing, counts as one failure.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            python,
            "-m",
            "pytest",
            "-o",
            "addopts=",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            "junit_family=xunit1",
            f"--junitxml={report}",
            str(file),
        ]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return NOTHING, f"did not end within {limit:.0f} s"
        if not report.is_file():
            return NOTHING, done.stdout + done.stderr
        return result_of(report.read_text(encoding="utf-8")), done.stdout + done.stderr


NOTHING: Result = {"counts": {"passed": 0, "failed": 1, "skipped": 0}, "features": []}


def result_of(report: str) -> Result:
    """What a JUnit report tells; an xfail counts as skipped, as there. A test's properties are its features."""
    suite = ElementTree.fromstring(report).find("testsuite")
    assert suite is not None
    every, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return {
        "counts": {"passed": every - skipped - failed, "failed": failed, "skipped": skipped},
        "features": [(found.attrib["name"], found.attrib["value"]) for found in suite.iter("property")],
    }


def _sorted(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=lambda v: [int(part) for part in v.partition("+")[0].split(".")])


def table(results: Results) -> str:
    """The results as a Markdown table: a row for each file of tests, a column for each version."""
    versions = _sorted(results)
    files = sorted({file for version in versions for file in results[version]})
    lines = ["| tests | " + " | ".join(versions) + " |", "|---" * (len(versions) + 1) + "|"]
    for file in [*files, ""]:
        cells = [_cell(results[version], file) for version in versions]
        lines.append(f"| {file or 'together'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(result: dict[str, Result], file: str) -> str:
    rows = [result[file]["counts"]] if file in result else [] if file else [one["counts"] for one in result.values()]
    if not rows:
        return "not run"
    passed, failed, skipped = (sum(row[name] for row in rows) for name in ("passed", "failed", "skipped"))
    return ", ".join(
        [f"{passed} pass"] + ([f"**{failed} fail**"] if failed else []) + ([f"{skipped} skipped"] if skipped else [])
    )


def features(results: Results) -> str:
    """The features as a Markdown table, of the versions in which not all passed, with notes of what did not."""
    asked = {
        version: dict(pair for one in files.values() for pair in one["features"]) for version, files in results.items()
    }
    versions = _sorted(version for version in asked if set(asked[version].values()) - {"passed"})
    names = list(dict.fromkeys(name for version in reversed(versions) for name in asked[version]))
    lines = ["| feature | " + " | ".join(versions) + " |", "|---" * (len(versions) + 1) + "|"]
    notes: list[str] = []
    for name in names:
        cells = []
        for version in versions:
            what, _, why = asked[version].get(name, "not run").partition(": ")
            cells.append({"passed": "yes", "failed": "**no**", "lacking": "not there"}.get(what, what))
            if why:
                note = html.escape(why[:200], quote=False)
                if note not in notes:
                    notes.append(note)
                cells[-1] += f" ({notes.index(note) + 1})"
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{number}. {note}" for number, note in enumerate(notes, start=1))]).strip()


def page_with(text: str, results: Results) -> str:
    """The page's text with the two tables of these results between their marks."""
    for name, made in (("versions", table(results)), ("features", features(results))):
        begin, end = (mark.format(name=name) for mark in MARK)
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE.name} lacks the marks of the table of {name}")
        text = f"{before}{begin}\n\n{made}\n\n{end}{after}"
    return text


def main() -> int:
    """Returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="+", help="Pythons that have PyTorch, pytest and npuify's dependencies")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one file of tests (default: 900)")
    parser.add_argument("--only", default="", help="only files whose path holds this text")
    parser.add_argument("--write", action="store_true", help="keep the results, and put them into docs/simulation.md")
    arguments = parser.parse_args()
    kept: Results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    bad = False
    for python in arguments.python:
        version = torch_of(python)
        for file in test_files():
            name = file.relative_to(TESTS).as_posix()
            if arguments.only not in name:
                continue
            started = time.monotonic()
            result, said = run_file(python, file, arguments.limit)
            print(f"{version} {name}: {result['counts']} in {time.monotonic() - started:.0f} s", flush=True)
            if result["counts"]["failed"]:
                bad = True
                print(said[-6000:], flush=True)
            kept.setdefault(version, {})[name] = result
            if arguments.write:  # after each file, so that what was run stays when the rest is given up
                RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
                PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
