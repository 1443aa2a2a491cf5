"""The picture of the rooms shows the imports that there are."""

from __future__ import annotations

from tools.draw_rooms import PICTURE, draw, floors, imports


def test_the_picture_is_of_today() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(), "run: python -m tools.draw_rooms"


def test_each_room_of_the_package_stands_on_a_floor() -> None:
    rooms = {name for floor in floors() for name in floor}
    package = PICTURE.parents[1] / "src" / "npuify"
    there = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert {f"npuify.{name}" for name in there - {"__init__"}} == rooms


def test_an_arrow_that_others_lead_along_is_left_out() -> None:
    below = imports(name for floor in floors() for name in floor)
    assert "npuify.rules" in below["npuify.styles"]
    assert "npuify.source" not in below["npuify.styles"]
