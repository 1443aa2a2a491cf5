"""Run the simulator's tests on other versions of PyTorch, and write what passed into docs/simulation.md.

    python tools/simulator_on_torch.py /venvs/torch-2.6/bin/python /venvs/torch-2.14/bin/python --write

Each Python named has PyTorch, NumPy, PyYAML, pytest, expecttest and npuify's dependencies. Continuous integration runs
the tests on one version only; this is for all the others. Each file of tests is a process of its own with a limit of
time, so that one that hangs does not hide the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "simulator"
RESULTS = ROOT / "docs" / "simulator-versions.json"
PAGE = ROOT / "docs" / "simulation.md"
BEGIN, END = "<!-- versions: begin (tools/simulator_on_torch.py) -->", "<!-- versions: end -->"

Counts = dict[str, int]


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


def run_file(python: str, file: Path, limit: float) -> tuple[Counts, str]:
    """Run one file of tests.

    Arguments:
        python: the Python that runs it.
        file: the file.
        limit: seconds after which it is ended.

    Returns:
        how many tests passed, failed, were skipped, and what pytest printed. A file that did not end, or ran nothing,
        counts as one failure.
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
            f"--junitxml={report}",
            str(file),
        ]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return {"passed": 0, "failed": 1, "skipped": 0}, f"did not end within {limit:.0f} s"
        if not report.is_file():
            return {"passed": 0, "failed": 1, "skipped": 0}, done.stdout + done.stderr
        return counts_of(report.read_text(encoding="utf-8")), done.stdout + done.stderr


def counts_of(report: str) -> Counts:
    """The numbers in a JUnit report; an xfail counts as skipped, as there."""
    suite = ElementTree.fromstring(report).find("testsuite")
    assert suite is not None
    every, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return {"passed": every - skipped - failed, "failed": failed, "skipped": skipped}


def table(results: dict[str, dict[str, Counts]]) -> str:
    """The results as a Markdown table: a row for each file of tests, a column for each version."""
    versions = sorted(results, key=lambda v: [int(part) for part in v.partition("+")[0].split(".")])
    files = sorted({file for version in versions for file in results[version]})
    lines = ["| tests | " + " | ".join(versions) + " |", "|---" * (len(versions) + 1) + "|"]
    for file in [*files, ""]:
        cells = [_cell(results[version], file) for version in versions]
        lines.append(f"| {file or 'together'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(result: dict[str, Counts], file: str) -> str:
    rows = [result[file]] if file in result else [] if file else list(result.values())
    if not rows:
        return "not run"
    passed, failed, skipped = (sum(row[name] for row in rows) for name in ("passed", "failed", "skipped"))
    return ", ".join(
        [f"{passed} pass"] + ([f"**{failed} fail**"] if failed else []) + ([f"{skipped} skipped"] if skipped else [])
    )


def page_with(text: str, results: dict[str, dict[str, Counts]]) -> str:
    """The page's text with the table of these results between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE.name} lacks the marks between which the table stands")
    return f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}"


def main() -> int:
    """Returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="+", help="Pythons that have PyTorch, pytest and npuify's dependencies")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one file of tests (default: 900)")
    parser.add_argument("--only", default="", help="only files whose path holds this text")
    parser.add_argument("--write", action="store_true", help="keep the results, and put them into docs/simulation.md")
    arguments = parser.parse_args()
    kept: dict[str, dict[str, Counts]] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    bad = False
    for python in arguments.python:
        version = torch_of(python)
        for file in test_files():
            name = file.relative_to(TESTS).as_posix()
            if arguments.only not in name:
                continue
            started = time.monotonic()
            counts, said = run_file(python, file, arguments.limit)
            print(f"{version} {name}: {counts} in {time.monotonic() - started:.0f} s", flush=True)
            if counts["failed"]:
                bad = True
                print(said[-6000:], flush=True)
            kept.setdefault(version, {})[name] = counts
            if arguments.write:  # after each file, so that what was run stays when the rest is given up
                RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
                PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
