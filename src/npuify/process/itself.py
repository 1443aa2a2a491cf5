"""npuify as a program of its own, beside this one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM: Final = "import sys; sys.path[:] = [one for one in sys.path if one]; from npuify.cli import main; main()"
"""With -m, Python would look for npuify in the folder to run in first, which is the project's."""
PLAIN: Final = {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
"""Variables that make what it writes plain text, as it comes."""


def npuify_command(arguments: Sequence[str]) -> list[str]:
    """The command that starts npuify with these arguments, by this Python."""
    return [sys.executable, "-c", _PROGRAM, *arguments]
