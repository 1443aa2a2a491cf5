"""Rows of the tables in SKILL.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.handover.stack import Stack
    from npuify.handover.texts import Texts

MOST_POINTS: Final = 12
"""Rows of a table of SKILL.md; all of them are in the references."""


def title(identifier: str, title: str, say: Texts, stack: Stack) -> str:
    """The title of a point of the checklist, in the guide's language."""
    from npuify.handover.checklist import points

    if say.language != "zh":
        return title
    point = next((one for one in points() if one.id == identifier), None)
    if point is None:
        return title
    return (point.title_tensorflow_zh if stack.is_for_tensorflow else "") or point.title_zh


def row(*cells: str) -> Iterator[str]:
    """A row of a table."""
    yield f"| {' | '.join(cells)} |"
