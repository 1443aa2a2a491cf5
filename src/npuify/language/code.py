"""Python code that is written into a project, with its comments and docstrings in the user's language.

A text is one paragraph of a docstring, one entry of its sections (``name: what it is``), a block of comments, or a
comment behind code. They have catalogs of their own, which are read when code is written in another language.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import ENGLISH, phrase_in_code, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROSE: Final = re.compile(r"(?s)[A-Za-z]{2,}\W.*\b[A-Za-z]{2,}")
_FOR_TOOLS: Final = re.compile(r"# ?(?:noqa|type:|mypy:|pylint|isort|ruff|fmt:|npuify:|!)|#!")
_BANNER: Final = re.compile(r"(# -+ )([^-].*?)( -+)$")
_SECTION: Final = re.compile(r"(?:Args|Attributes|Returns|Raises|Yields|Note):$")
_QUOTES: Final = re.compile(r"(?s)([rRuUbB]{0,2})(\"\"\"|'''|\"|')(.*)\2")


class _Piece(NamedTuple):
    """A part of a source, in characters from its beginning, and what stands there in another language."""

    start: int
    end: int
    text: str


def texts_of_code(source: str) -> Iterator[str]:
    """The texts of a module, in its order."""
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    list(_pieces(source, keep))
    yield from found


def code_in_language(source: str) -> str:
    """A module with its comments and docstrings in the user's language; in English as it is."""
    if spoken() == ENGLISH:
        return source
    for piece in sorted(_pieces(source, phrase_in_code), reverse=True):
        source = source[: piece.start] + piece.text + source[piece.end :]
    return source


def _pieces(source: str, say: _Say) -> Iterator[_Piece]:
    begins = [0]
    for line in source.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    lines = source.split("\n")

    def place(line: int, column: int) -> int:
        return begins[line - 1] + column

    for node in ast.walk(ast.parse(source)):
        for one in getattr(node, "body", None) or () if not isinstance(node, (ast.Lambda, ast.IfExp)) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                value = one.value
                # Columns of the tree are in bytes.
                first = len(lines[value.lineno - 1].encode()[: value.col_offset].decode())
                last = len(lines[(value.end_lineno or 0) - 1].encode()[: value.end_col_offset].decode())
                start, end = place(value.lineno, first), place(value.end_lineno or 0, last)
                quoted = _QUOTES.fullmatch(source[start:end])
                if quoted is not None:
                    told = _docstring(quoted[3], " " * first, say)
                    if told != quoted[3]:
                        yield _Piece(start, end, f"{quoted[1]}{quoted[2]}{told}{quoted[2]}")
    yield from _comments(source, lines, place, say)


def _docstring(text: str, indent: str, say: _Say) -> str:
    """The inside of a docstring, unit by unit; code and headings stay."""
    made: list[str] = []
    unit: list[str] = []
    in_section = False

    def end() -> None:
        if unit:
            made.extend(_told(unit, indent, say))
            unit.clear()

    for number, line in enumerate(text.split("\n")):
        bare = line[len(indent) :] if number and line.startswith(indent) else line
        if not bare.strip():
            end()
            in_section = False
            made.append(line)
        elif _SECTION.fullmatch(bare.strip()):
            end()
            in_section = True
            made.append(line)
        elif in_section:
            if len(bare) - len(bare.lstrip()) == 4:
                end()
            unit.append(line)
        elif bare.startswith(" ") and number:
            end()
            made.append(line)
        else:
            unit.append(line)
    end()
    return "\n".join(made)


def _told(unit: list[str], margin: str, say: _Say) -> list[str]:
    text = " ".join(line.strip() for line in unit)
    if not _PROSE.search(text):
        return unit
    said = say(text)
    if said == text:
        return unit
    indent = unit[0][: len(unit[0]) - len(unit[0].lstrip())]
    behind = unit[1][: len(unit[1]) - len(unit[1].lstrip())] if len(unit) > 1 else indent or margin
    first, *more = _lines(said)
    return [indent + first, *(behind + line for line in more)]


def _comments(source: str, lines: list[str], place: _Place, say: _Say) -> Iterator[_Piece]:
    block: list[tokenize.TokenInfo] = []
    for token in [*tokenize.generate_tokens(io.StringIO(source).readline), None]:
        if token is not None and token.type != tokenize.COMMENT:
            continue
        if block and not (
            token is not None
            and token.start == (block[-1].start[0] + 1, block[0].start[1])
            and not lines[token.start[0] - 1][: token.start[1]].strip()
            and not lines[block[0].start[0] - 1][: block[0].start[1]].strip()
            and _is_text(token.string)
        ):
            yield from _block(block, lines, place, say)
            block = []
        if token is not None and _is_text(token.string):
            block.append(token)


def _is_text(comment: str) -> bool:
    return comment.startswith("# ") and not _FOR_TOOLS.match(comment)


def _block(block: list[tokenize.TokenInfo], lines: list[str], place: _Place, say: _Say) -> Iterator[_Piece]:
    banner = _BANNER.fullmatch(block[0].string)
    before, text, after = banner.groups() if banner else ("# ", " ".join(one.string[2:] for one in block), "")
    # A comment for a tool may stand behind one for people.
    text, mark, rest = text.partition("  # ")
    if not _PROSE.search(text) and banner is None:
        return
    said = say(text)
    if said == text:
        return
    start, column = block[0].start
    of_line = not lines[start - 1][:column].strip()
    told = [said] if banner or not of_line else _lines(said)
    made = f"\n{' ' * column}".join(before + line for line in told)
    yield _Piece(place(start, column), place(*block[-1].end), made + after + mark + rest)


def _lines(said: str) -> list[str]:
    """One sentence a line: Chinese has no blanks to break lines at."""
    return re.findall(r"[^。]+(?:。[）”]?)?", said) or [said]


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    _Say: TypeAlias = Callable[[str], str]
    _Place: TypeAlias = Callable[[int, int], int]
