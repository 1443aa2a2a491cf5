"""Train public CUDA projects on the CPU, and after ``npuify migrate`` on simulated NPUs; compare the losses.

    python -m tools.public_projects CORPUS --work FOLDER [--only NAME]… [--style portable] [--write]

CORPUS holds the projects that projects.toml names, each as a folder. The Python that runs this needs what the projects
import: ``python -m tools.public_projects.environment --into FOLDER`` makes such an environment. Each program is copied,
given made-up data, fitted to a short run by the row's ``shorten`` (before it is migrated; the table says so), run on
the CPU, migrated, and run under ``npuify simulate --cpu-random``. Compared are:

- in all digits, the numbers on which each process calls ``backward``: within 1e-5 of the CPU's;
- the printed lines that tell how training goes.

A program that takes CUDA for granted is run on the CPU by ``beside/cuda_is_cpu.py``: its text stays, what it asks of
CUDA is done on the CPU, and nccl is gloo. With --write, results are kept beside docs/simulation.md and its table made
anew. Exit code 1 if anything fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli

from tools.public_projects.trial import HERE, ROOT, Outcome, Trial, TrialError, prepare, try_program

RESULTS = ROOT / "docs" / "simulator-projects.json"
PAGE = ROOT / "docs" / "simulation.md"
BEGIN, END = "<!-- projects: begin (tools/public_projects) -->", "<!-- projects: end -->"


def table(programs: list[dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """The kept results as a Markdown table, in the order of projects.toml."""
    lines = [
        "| program | style | processes | losses, largest difference | printed lines alike | what was needed |",
        "|---|---|---|---|---|---|",
    ]
    for program in programs:
        for _, row in sorted(results.items()):
            if row["name"] != program["name"]:
                continue
            apart = "0" if row["apart"] == 0 else f"{row['apart']:.0e}"
            found = f"**{row['problem']}**" if row["problem"] else f"{row['losses']}, {apart}"
            lines.append(
                f"| {program['name']} | {row['style']} | {row['processes']} | {found} "
                f"| {row['same_lines']} of {row['lines']} | {needed(program)} |"
            )
    return "\n".join(lines)


def needed(program: dict[str, Any]) -> str:
    """What a program asked for besides data, in words."""
    parts = []
    if program.get("because"):
        parts.append(f"edited in both copies: {program['because']}")
    if program.get("on_npu"):
        parts.append(f"on the NPU, which it knows by itself, `{' '.join(program['on_npu'])}`")
    if program.get("options"):
        parts.append(f"`migrate {' '.join(program['options'])}`")
    if program.get("stand_ins"):
        parts.append(f"a stand-in for {', '.join(program['stand_ins'])}")
    if program.get("on_cpu") == "mapped":
        parts.append("CUDA is the CPU for the original")
    return "; ".join(parts) or "nothing"


def page_with(text: str, made: str) -> str:
    """The page's text with this table between its marks.

    Raises:
        SystemExit: the page lacks the marks.
    """
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE.name} lacks the marks between which the table stands")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def keep(programs: list[dict[str, Any]], outcome: Outcome) -> None:
    """Put one result beside the page, and into it: what was run stays when the rest is given up."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    kept[f"{outcome.name} {outcome.style} {outcome.processes}"] = asdict(outcome)
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
    given = parser.parse_args()
    programs = tomli.loads((HERE / "projects.toml").read_text(encoding="utf-8"))["program"]
    bad = False
    for program in programs:
        if given.only and not any(one in program["name"] for one in given.only):
            continue
        folder = "".join(c if c.isalnum() else "_" for c in program["name"])
        trial = Trial(program, given.corpus.resolve(), (given.work / f"{folder}-{given.style}").resolve(), given.style)
        counts = program.get("processes", [1])
        try:
            prepare(trial)
        except TrialError as error:
            outcomes = [Outcome(program["name"], count, given.style, problem=str(error)) for count in counts]
        else:
            outcomes = [try_program(trial, count) for count in counts]
        for outcome in outcomes:
            print(outcome.line(), flush=True)
            bad = bad or bool(outcome.problem)
            if given.write and not outcome.problem:
                keep(programs, outcome)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
