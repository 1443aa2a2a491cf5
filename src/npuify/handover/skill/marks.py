"""Text of a project inside Markdown: on one line, and never markup or the end of a block."""

from __future__ import annotations

import re


def line_of(text: str) -> str:
    """``text`` on one line, without control characters."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f\u2028\u2029]", " ", text).split())


def code(text: str) -> str:
    """``text`` as inline code, also inside a table and where it holds backticks."""
    flat = line_of(text).replace("|", "\\|")
    ticks = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def prose(text: str) -> str:
    """``text`` in which nothing is markup but code between backticks."""
    pieces = line_of(text).split("`")
    if len(pieces) % 2 == 0:
        return _escaped("`".join(pieces))
    return "".join(f"`{piece}`" if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def cell(text: str) -> str:
    """``prose`` for a cell of a table."""
    return prose(text).replace("|", "\\|").replace("\\\\|", "\\|")


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)
