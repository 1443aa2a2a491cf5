"""The kept results as a table of docs/simulation.md."""

from __future__ import annotations

from typing import Any

BEGIN, END = "<!-- projects: begin (tools/public_projects) -->", "<!-- projects: end -->"
STYLES = {"npu": 0, "portable": 1, "auto": 2}


def page_with(text: str, made: str) -> str:
    """The page's text with this table between its marks.

    Raises:
        SystemExit: the page lacks the marks.
    """
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit("the page lacks the marks between which the table stands")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def table(programs: list[dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """What came of them as a sentence, and as a Markdown table in the order of projects.toml.

    Programs of a repository that were run alike and came out alike share a row: losses and lines are added up.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for program in programs:
        rows = [row for row in results.values() if row["name"] == program["name"]]
        for row in sorted(rows, key=lambda row: (STYLES[row["style"]], row["processes"])):
            repository = program["name"].partition(" ")[0]
            key = (repository, row["style"], row["processes"], _scan(row), row["problem"], needed(program))
            groups.setdefault(key, []).append(row)
    lines = [
        _sentence([row for rows in groups.values() for row in rows]),
        "",
        "| programs | style | processes | scan | losses, largest difference | printed lines alike | what was needed |",
        "|---|---|---|---|---|---|---|",
    ]
    for (repository, style, processes, scan, problem, need), rows in groups.items():
        names = "; ".join(row["name"].partition(" ")[2] for row in rows)
        found = f"**{problem.splitlines()[-1]}**" if problem else _losses(rows)
        alike = f"{sum(row['same_lines'] for row in rows)} of {sum(row['lines'] for row in rows)}"
        named = f"{repository} {names}".strip()
        lines.append(f"| {named} | {style} | {processes} | {scan} | {found} | {alike} | {need} |")
    return "\n".join(lines)


def _sentence(rows: list[dict[str, Any]]) -> str:
    names = {row["name"] for row in rows}
    failed = sum(bool(row["problem"]) for row in rows)
    against = sum(bool(row.get("contradicted")) for row in rows)
    return (
        f"{len(names)} programs of {len({name.partition(' ')[0] for name in names})} repositories in {len(rows)} runs; "
        f"{len(rows) - failed} agree with the CPU, {failed} do not. "
        f"{against} contradict what scan had said."
    )


def _scan(row: dict[str, Any]) -> str:
    """The verdict; marked where it is the whole project's, and where the run contradicts it."""
    if not row.get("verdict"):
        return "not asked"
    said = str(row["verdict"]) + (" (project)" if row["whose"] == "project" else "")
    return f"{said}; **{row['contradicted']}**" if row["contradicted"] else said


def _losses(rows: list[dict[str, Any]]) -> str:
    count, apart = sum(row["losses"] for row in rows), max(row["apart"] for row in rows)
    if not count:
        return "none"
    return f"{count}, {apart:.0e}" if apart else f"{count}, 0"


def needed(program: dict[str, Any]) -> str:
    """What a program asked for besides data, in words."""
    parts = []
    if program.get("because"):
        parts.append(f"edited in both copies: {program['because']}")
    if program.get("old"):
        parts.append(f"old forms put back of {', '.join(program['old'])}")
    if program.get("on_npu"):
        parts.append(f"on the NPU, which it knows by itself, `{' '.join(program['on_npu'])}`")
    if program.get("options"):
        parts.append(f"`migrate {' '.join(program['options'])}`")
    if program.get("stand_ins"):
        parts.append(f"a stand-in for {', '.join(program['stand_ins'])}")
    if program.get("on_cpu") == "mapped":
        parts.append("CUDA is the CPU for the original")
    if program.get("tolerance"):
        why = "half precision against float32" if program["tolerance"] >= 0.01 else "sums in another order"
        parts.append(f"{why}, within {program['tolerance']}")
    return "; ".join(parts) or "nothing"
