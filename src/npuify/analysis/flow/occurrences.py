"""Where a value stands on its way, and all such places together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.values import Step

if TYPE_CHECKING:
    import ast

    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Place


class Occurrence(NamedTuple):
    """An expression that has the value, or (``depth`` times) a container that holds it.

    ``by_name`` says that names alone are followed, too: an attribute of that name of who knows which object, the option
    of a program. ``sure`` is false where that was done.
    """

    node: ast.expr
    file: FileModel
    step: Step
    depth: int = 0
    by_name: bool = False
    sure: bool = True


class Flow(NamedTuple):
    """Where a value goes; ``is_whole`` says that it was followed everywhere."""

    occurrences: list[Occurrence]
    is_whole: bool


def further(here: Occurrence, place: Place, text: str) -> Step:
    """The step that leads from ``here`` to ``place``; ``text`` says how."""
    return Step(place, text, here.step, here.step.length + 1)
