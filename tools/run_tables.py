"""Write the tables that ``npuify run`` carries into the user's program, from the knowledge tables.

    python -m tools.run_tables

The program's Python need not have what npuify's own tables are read with, so they are written again as plain JSON.
"""

from __future__ import annotations

import json
from pathlib import Path

import npuify.run as run
from npuify.knowledge import environment
from npuify.knowledge.hand_written import meanings

FOLDER = Path(run.__file__).parent / "data"


def environment_table() -> dict[str, str]:
    """Variable of CUDA → Ascend's, where the meaning is the same and a process reads it."""
    return {
        fact.cuda: fact.npu
        for fact in environment().values()
        if fact.action == "rename" and fact.npu not in (None, fact.cuda) and fact.cuda != "NVIDIA_VISIBLE_DEVICES"
    }


def meanings_table() -> dict[str, list[dict[str, str]]]:
    """CUDA name → the rows about what it means on an NPU, with the releases that they hold for."""
    table: dict[str, list[dict[str, str]]] = {}
    for name, rows in meanings().items():
        for row in rows:
            kept = {"effect": row.effect, "npu": row.npu or "", "since": row.since, "until": row.until}
            table.setdefault(name, []).append({key: value for key, value in kept.items() if value})
    return table


def text(table: object) -> str:
    """A table as it is stored."""
    return json.dumps(table, indent=1, sort_keys=True) + "\n"


TABLES = {"environment.json": environment_table, "meanings.json": meanings_table}

if __name__ == "__main__":
    for file, table in TABLES.items():
        (FOLDER / file).write_text(text(table()), encoding="utf-8")
