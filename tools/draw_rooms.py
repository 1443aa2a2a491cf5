"""Draw the rooms of npuify and what imports what: ``python -m tools.draw_rooms`` writes ``docs/rooms.svg``.

The floors are those of the contract in ``pyproject.toml`` that import-linter checks. An arrow is
left out where other arrows lead to the same room.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grimp
import tomli

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
_WIDTH, _HEIGHT, _GAP, _BETWEEN = 108, 34, 14, 40
_MARGIN, _SHEET = 20, 1120
_ASIDE = (0, -170, 170, -60, 230, -230, 60)
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">
<style>
rect {{fill: #eef3fb; stroke: #5b7bb4}}
path {{fill: none; stroke: #8a97ad; stroke-width: 1.2}}
text {{fill: #1c2840; text-anchor: middle}}
@media (prefers-color-scheme: dark) {{rect {{fill: #22304a}} text {{fill: #e6ecf7}}}}
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 8 4 0 8z" style="fill:#8a97ad;stroke:none"/></marker></defs>"""


class Box(NamedTuple):
    """A room on the sheet, by its upper left corner."""

    name: str
    x: float
    y: float


def floors() -> list[list[str]]:
    """The rooms on each floor, from the top."""
    settings = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def imports(rooms: Iterable[str]) -> dict[str, set[str]]:
    """Which rooms each room imports, without those that it also reaches through another."""
    names = set(rooms)
    graph = grimp.build_graph("npuify", cache_dir=None)
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in graph.modules:
        room = _room(module, names)
        if room is not None:
            imported = (_room(other, names) for other in graph.find_modules_directly_imported_by(module))
            found[room] |= {other for other in imported if other is not None and other != room}
    reached = {name: _reached(name, found) for name in names}
    return {
        name: {one for one in below if not any(one in reached[other] for other in below - {one})}
        for name, below in found.items()
    }


def _room(module: str, rooms: set[str]) -> str | None:
    parts = module.split(".")
    name = ".".join(parts[:2])
    return name if name in rooms else None


def _reached(name: str, imported: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(imported[name])
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += imported[one]
    return found


def draw() -> str:
    """The picture, as SVG."""
    boxes: dict[str, Box] = {}
    for row, rooms in enumerate(floors()):
        width = len(rooms) * _WIDTH + (len(rooms) - 1) * _GAP
        # A room alone on its floor stands aside, so that arrows that pass it can be followed.
        left = (_SHEET - width) / 2 + (_ASIDE[row % len(_ASIDE)] if len(rooms) < 3 else 0)
        for column, name in enumerate(rooms):
            boxes[name] = Box(name, left + column * (_WIDTH + _GAP), _MARGIN + row * (_HEIGHT + _BETWEEN))
    height = 2 * _MARGIN + len(floors()) * (_HEIGHT + _BETWEEN) - _BETWEEN
    parts = [_HEAD.format(width=_SHEET, height=height)]
    below = imports(boxes)
    for name in sorted(below):
        for other in sorted(below[name]):
            parts.append(_arrow(boxes[name], boxes[other]))
    for box in boxes.values():
        parts.append(f'<rect x="{box.x:g}" y="{box.y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>')
        label = escape(box.name.removeprefix("npuify."))
        parts.append(f'<text x="{box.x + _WIDTH / 2:g}" y="{box.y + 22:g}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(start: Box, end: Box) -> str:
    x1, y1 = start.x + _WIDTH / 2, start.y + _HEIGHT
    x2, y2 = end.x + _WIDTH / 2, end.y
    bend = (y2 - y1) / 2
    return f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}" marker-end="url(#a)"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")
