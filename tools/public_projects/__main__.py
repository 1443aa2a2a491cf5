"""Train public CUDA projects on the CPU, and after ``npuify migrate`` on simulated NPUs; compare the losses.

    python -m tools.public_projects CORPUS --work FOLDER [--only NAME]… [--style portable] [--write | --keep FILE]

CORPUS holds the projects that projects.toml names, each as a folder. The Python that runs this needs what the projects
import: ``python -m tools.public_projects.environment --into FOLDER`` makes such an environment. Each program is copied,
given made-up data, fitted to a short run by the row's ``shorten`` (before it is migrated; the table says so), run on
the CPU, migrated, and run under ``npuify simulate --cpu-random``. Compared are:

- in all digits, the numbers on which each process calls ``backward``: within 1e-5 of the CPU's, or what its row allows;
- the printed lines that tell how training goes.

A program that takes CUDA for granted is run on the CPU by ``beside/cuda_is_cpu.py``: its text stays, what it asks of
CUDA is done on the CPU, and nccl is gloo. With --write, results are kept beside docs/simulation.md and its table made
anew. Exit code 1 if anything fails.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli

from tools.public_projects.page import page_with, table
from tools.public_projects.trial import HERE, ROOT, Trial, TrialError, prepare, try_program

RESULTS = ROOT / "docs" / "simulator-projects.json"
PAGE = ROOT / "docs" / "simulation.md"


def expanded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a program: a row with ``each`` is written once for each of these names, which takes the place of NAME."""

    def named(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [named(one, name) for one in value]
        return value.replace("NAME", name) if isinstance(value, str) else value

    made = []
    for row in rows:
        for name in row.get("each", [""]):
            made.append({key: named(value, name) if "each" in row else value for key, value in row.items()})
    return made


def keep(outcomes: dict[str, dict[str, Any]], results: Path) -> None:
    """Put results into a file: what was run stays when the rest is given up. Two runs at once wait for each other."""
    with results.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept: dict[str, Any] = json.loads(file.read() or "{}")
        kept.update(outcomes)
        file.truncate(0)
        file.write(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def write(programs: list[dict[str, Any]], outcomes: dict[str, dict[str, Any]]) -> None:
    """Put results beside the page, and into it; those of programs that are no rows any more go."""
    keep(outcomes, RESULTS)
    names = {program["name"] for program in programs}
    kept = {key: row for key, row in json.loads(RESULTS.read_text(encoding="utf-8")).items() if row["name"] in names}
    RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), table(programs, kept)), encoding="utf-8")


def main() -> int:
    """Returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for the copies; those of a program are replaced"
    )
    parser.add_argument("--only", action="append", default=[], help="programs whose name holds this text")
    parser.add_argument("--style", choices=("npu", "portable", "auto"), default="npu")
    parser.add_argument("--write", action="store_true", help="keep the results, and put them into docs/simulation.md")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the results in this file")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="kept", help="run nothing; write what --keep kept")
    given = parser.parse_args()
    programs = expanded(tomli.loads((HERE / "projects.toml").read_text(encoding="utf-8"))["program"])
    if given.kept:
        write(programs, json.loads(given.kept.read_text(encoding="utf-8")))
        return 0
    bad = False
    for program in programs:
        if given.only and not any(one in program["name"] for one in given.only):
            continue
        folder = "".join(c if c.isalnum() else "_" for c in program["name"])
        trial = Trial(program, given.corpus.resolve(), (given.work / f"{folder}-{given.style}").resolve(), given.style)
        counts = program.get("processes", [1])
        try:
            prepare(trial)
            for count in counts:
                outcome = try_program(trial, count)
                print(outcome.line(), flush=True)
                bad = bad or bool(outcome.problem or outcome.contradicted)
                made = {f"{outcome.name} {outcome.style} {outcome.processes}": asdict(outcome)}
                if given.keep:
                    keep(made, given.keep)
                if given.write:
                    write(programs, made)
        except TrialError as error:
            print(f"{program['name']} tells nothing: {error}", flush=True)
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
