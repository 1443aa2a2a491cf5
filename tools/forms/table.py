"""The record of what became of each form, as JSON with one form per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .extract import Form

ROOT = Path(__file__).parents[2]
DOCUMENTED = ROOT / "src" / "npuify" / "knowledge" / "data" / "forms"
"""What rules' documentation says; shown by ``npuify explain``."""
ROWS = ROOT / "tests" / "data" / "forms" / "rows"
"""What rows of tables say, and helpers that are written into projects."""
CASES = ROOT / "tests" / "data" / "forms" / "cases"
"""What the case files say."""
FORMAT = 1


def read(path: Path) -> dict[str, Any]:
    """The table, or an empty one where there is none yet."""
    if not path.is_file():
        return {"format": FORMAT, "forms": {}}
    return dict(json.loads(path.read_text(encoding="utf-8")))


def write(path: Path, content: Mapping[str, Any]) -> None:
    """One form per line, so that tables can be compared with ordinary tools."""
    head = [f"{_dump(key)}:{_dump(value)}" for key, value in content.items() if key != "forms"]
    rows = [f"{_dump(name)}:{_dump(row)}" for name, row in sorted(content["forms"].items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join([*head, '"forms":{\n' + ",\n".join(rows)]) + "}}\n", encoding="ascii")


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def unproven(forms: Iterable[Form], table: Mapping[str, Any]) -> list[Form]:
    """Forms that the table does not have as they are now."""
    rows = table["forms"]
    return [form for form in forms if form.name not in rows or rows[form.name]["form"] != form.digest]


def is_stopped(known: Mapping[str, Any]) -> bool:
    """Whether a statement of a recorded form was not taken, or is taken on one side only."""
    taken = all(answer.startswith(("done", "stand-in")) for answer in known.get("real", {}).values())
    return not taken or "simulated" in known


def row(form: Form, real: Mapping[str, Any], simulated: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a form. ``simulated`` holds only what differs."""
    said = _statements(form, real)
    differs = {text: now for text, now in _statements(form, simulated).items() if not _same(now, said[text])}
    libraries = {"libraries": real["libraries"]} if real.get("libraries") else {}
    return {"form": form.digest, "real": said, **({"simulated": differs} if differs else {}), **libraries}


def _statements(form: Form, found: Mapping[str, Any]) -> dict[str, str]:
    return (
        dict(found["statements"])
        if "statements" in found
        else dict.fromkeys(form.lines, f"not reached: {found['ended']}")
    )


def _same(one: str, other: str) -> bool:
    return one.partition(",")[0] == other.partition(",")[0] if one.startswith("done") else one == other
