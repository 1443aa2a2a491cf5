"""Train public CUDA projects on the CPU, and after ``npuify migrate`` on simulated NPUs; compare the losses.

    python -m tools.public_projects CORPUS --work FOLDER [--only NAME]… [--style portable] [--write]

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

from tools.public_projects.trial import HERE, ROOT, Outcome, Trial, TrialError, prepare, try_program

RESULTS = ROOT / "docs" / "simulator-projects.json"
PAGE = ROOT / "docs" / "simulation.md"
BEGIN, END = "<!-- projects: begin (tools/public_projects) -->", "<!-- projects: end -->"


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


def table(programs: list[dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """The kept results as a Markdown table, in the order of projects.toml."""
    lines = [
        "| program | style | processes | scan | losses, largest difference | printed lines alike | what was needed |",
        "|---|---|---|---|---|---|---|",
    ]
    order = {"npu": 0, "portable": 1, "auto": 2}
    for program in programs:
        rows = [row for row in results.values() if row["name"] == program["name"]]
        for row in sorted(rows, key=lambda row: (order[row["style"]], row["processes"])):
            lines.append(
                f"| {program['name']} | {row['style']} | {row['processes']} | {_scan(row)} | {_losses(row)} "
                f"| {row['same_lines']} of {row['lines']} | {needed(program)} |"
            )
    return "\n".join(lines)


def _scan(row: dict[str, Any]) -> str:
    """The verdict; marked where it is the whole project's, and where the run contradicts it."""
    if not row.get("verdict"):
        return "not asked"
    said = str(row["verdict"]) + (" (project)" if row["whose"] == "project" else "")
    return f"{said}; **{row['contradicted']}**" if row["contradicted"] else said


def _losses(row: dict[str, Any]) -> str:
    if row["problem"]:
        return f"**{row['problem'].splitlines()[-1]}**"
    if not row["losses"]:
        return "none"
    return f"{row['losses']}, {row['apart']:.0e}" if row["apart"] else f"{row['losses']}, 0"


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
    if program.get("tolerance"):
        parts.append(f"half precision against float32, within {program['tolerance']}")
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
    """Put one result beside the page, and into it: what was run stays when the rest is given up.

    Two that run at once wait for each other.
    """
    with RESULTS.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept: dict[str, Any] = json.loads(file.read() or "{}")
        kept[f"{outcome.name} {outcome.style} {outcome.processes}"] = asdict(outcome)
        file.truncate(0)
        file.write(json.dumps(kept, indent=1, sort_keys=True) + "\n")
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
    programs = expanded(tomli.loads((HERE / "projects.toml").read_text(encoding="utf-8"))["program"])
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
                if given.write:
                    keep(programs, outcome)
        except TrialError as error:
            print(f"{program['name']} tells nothing: {error}", flush=True)
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
