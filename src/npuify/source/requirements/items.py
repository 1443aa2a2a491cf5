"""An item of a bracketed list, in TOML or Python: how to take it out, and how to put another after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.source.requirements.entry import (
    Entry,
    Spot,
    braces_escaped,
    line_end,
    line_start,
    newline,
    next_line,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_LITERAL = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)
_TO_COMMA = re.compile(r"(?:\s|#[^\r\n]*)*,")
_BLANK_BEFORE = re.compile(r"[ \t]*")


def quoted_item(text: str, start: int, end: int, group: str, *, is_main: bool) -> Entry | None:
    """The requirement in the string literal at ``start`` to ``end``, which stands in a list.

    None where the literal is no plain one or holds no requirement.
    """
    literal = _LITERAL.fullmatch(text[start:end])
    if literal is None or "\\" in literal.group(3) or literal.group(2) in literal.group(3):
        return None
    entry = parse(text, start + literal.start(3), start + literal.end(3))
    if entry is None:
        return None
    quote = literal.group(2)
    return entry._replace(
        group=group,
        is_main=is_main,
        removal=_removal(text, start, end),
        following=_following(text, start, end, quote),
    )


def items_of_text(text: str, start: int, end: int, group: str, *, words: bool) -> Iterator[Entry]:
    """The requirements in the string literal at ``start`` to ``end``, which the program splits into many.

    Args:
        text, start, end: the literal.
        group: what the requirements are told to stand in.
        words: blanks stand between them, not only line ends.
    """
    literal = _LITERAL.fullmatch(text[start:end])
    if literal is None or "\\" in literal.group(3):
        return
    for item in re.finditer(r"\S+" if words else r"[^\s][^\r\n]*", literal.group(3)):
        first, last = start + literal.start(3) + item.start(), start + literal.start(3) + item.end()
        entry = parse(text, first, last)
        if entry is None:
            continue
        before, after = text[line_start(text, first) : first], text[last : line_end(text, last)]
        if before.strip() or after.strip():
            blank = last < len(text) and text[last] in " \t"
            removal, following = Spot(first, last + blank, ""), (Spot(last, last, " {}"),)
        else:
            removal = Spot(line_start(text, first), next_line(text, last), "")
            following = (Spot(last, last, f"{newline(text)}{before}{{}}"),)
        yield entry._replace(group=group, removal=removal, following=following)


def _alone(text: str, start: int, end: int) -> bool:
    """Whether the item has its line for itself, but for a comma and a comment."""
    before = text[line_start(text, start) : start]
    after = text[end : line_end(text, end)]
    return not before.strip() and re.fullmatch(r"\s*,?\s*(#.*)?", after) is not None


def _removal(text: str, start: int, end: int) -> Spot:
    first = line_start(text, start)
    if _alone(text, start, end):
        if "#" in text[end : line_end(text, end)]:
            return Spot(start, start, "# ")
        return Spot(first, next_line(text, end), "")
    comma = _TO_COMMA.match(text, end)
    if comma is not None:
        stop = comma.end()
        while stop < len(text) and text[stop] in " \t":
            stop += 1
        return Spot(start, stop, "")
    back = start
    while back > 0 and text[back - 1].isspace():
        back -= 1
    return Spot(back - 1, end, "") if text[back - 1 : back] == "," else Spot(start, end, "")


def _following(text: str, start: int, end: int, quote: str) -> tuple[Spot, ...]:
    item = braces_escaped(quote) + "{}" + braces_escaped(quote)
    if not _alone(text, start, end):
        return (Spot(end, end, f", {item}"),)
    indent = text[line_start(text, start) : start]
    stop = line_end(text, end)
    added = Spot(stop, stop, f"{newline(text)}{indent}{item},")
    comma = _TO_COMMA.match(text, end)
    if comma is not None and comma.end() <= stop:
        return (added,)
    if comma is not None:
        # The comma stands on a line of its own, or before the next item: put before that.
        return (Spot(end, end, f",{newline(text)}{indent}{item}"),)
    return (Spot(end, end, ","), added) if stop > end else (Spot(end, end, f",{newline(text)}{indent}{item},"),)
