"""What can be said of a place that no finding speaks of."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Cleared(NamedTuple):
    """Why a place needs nothing: the id of a reason, and what shows it."""

    reason: str
    because: str = ""


class Unknown(NamedTuple):
    """A place that nothing is known of: its innermost syntax node, and the package that its name belongs to."""

    node: ast.AST | None = None
    package: str = ""
