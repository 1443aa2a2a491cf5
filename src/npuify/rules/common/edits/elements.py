"""Where one more element may be written into a display: behind another one and what closes around it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_CLOSING: Final = re.compile(r"[\s)]*(?=[,\]}])")
"""What closes parentheses around an element that a comma or the display's own bracket follows."""


def behind_element(node: ast.expr, display: ast.List | ast.Tuple | ast.Set, file: PythonFile) -> int | None:
    """Where a comma and one more element may stand behind ``node``: ``(("cuda"), "cpu")``.

    Args:
        node: an element of the display.
        display: the list, tuple or set.
        file: the file of both.

    Returns:
        The place in the file's bytes; None where a comment stands between.
    """
    end = file.source.end(node)
    closing = _CLOSING.match(file.source.segment(end, file.source.end(display)))
    if closing is not None:
        return end + len(closing[0].rstrip().encode())
    # The last of a tuple: as many are closed as were opened behind the comma before it.
    at = display.elts.index(node)
    before = file.source.segment(file.source.end(display.elts[at - 1]), file.source.start(node)) if at else ""
    opened = before.rpartition(",")[2]
    behind = re.match(rf"(?:\s*\)){{{opened.count('(')}}}", file.source.segment(end, file.source.end(display)))
    if "#" in before or behind is None:
        return None
    return end + len(behind[0].encode())
