"""Text and code as Markdown has them, so that nothing of a project is taken for markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import told
from npuify.visible import in_one_line

if TYPE_CHECKING:
    from collections.abc import Callable


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def inline_code(text: str) -> str:
    """``text`` as inline code, also where it holds backticks. Not for a table's cell: see :func:`code_cell`."""
    text = in_one_line(text)
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def code_cell(text: str) -> str:
    """``text`` as inline code of a table's cell, where a pipe would end the cell even inside code.

    Renderers do not agree on what a backslash before an escaped pipe means; such text is written without being code.
    """
    return (
        escaped(in_one_line(text)).replace("\\|", "&#124;") if "\\|" in text else inline_code(text).replace("|", "\\|")
    )


def prose(text: str, *, code: Callable[[str], str] = inline_code) -> str:
    """Prose on one line: what is between backticks stays code, elsewhere nothing is taken for markup."""
    pieces = in_one_line(told(text)).split("`")
    # Backticks side by side would join into longer marks, which end where nobody meant it.
    if len(pieces) % 2 == 0 or not all(pieces[1:-1]):
        return escaped("`".join(pieces))
    return "".join(code(piece) if number % 2 else escaped(piece) for number, piece in enumerate(pieces))


def escaped(text: str) -> str:
    # "$" begins a formula and "&" an entity where a page is shown by a code host.
    return re.sub(r"([\\`*_<>\[\]|#~$&])", r"\\\1", text)


def cell(text: str) -> str:
    return escaped(in_one_line(told(text)))
