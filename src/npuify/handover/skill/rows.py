"""Rows of the tables in SKILL.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.handover.checklist.points import Judged
    from npuify.handover.skill.texts import Texts
    from npuify.handover.stack import Stack

MOST_POINTS: Final = 12
"""Rows of a table of SKILL.md; all of them are in the references."""


def title(judged: Judged, say: Texts, stack: Stack) -> str:
    """The title of a point of the checklist, in the guide's language."""
    from npuify.handover.checklist.points import points

    if say.language != "zh":
        return judged.title
    point = next((one for one in points() if one.id == judged.id), None)
    if point is None:
        return judged.title
    return (point.as_for_tensorflow() if stack.is_for_tensorflow else point).titled(judged.state, "zh")


def row(*cells: str) -> Iterator[str]:
    """A row of a table."""
    yield f"| {' | '.join(cells)} |"
