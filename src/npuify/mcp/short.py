"""Answers that an agent can read at once: pages end where they get long, and lists are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
PAGE: Final = 10_000
"""Characters of the rows of a page, and of a part of a patch. Agents are warned of answers of 10,000 tokens, which are
about 30,000 characters of code; an answer may hold one of each."""
ANSWER: Final = 30_000
"""Characters of an answer."""
_FEWEST: Final = 3
"""Items that a list keeps."""


def page_of(rows: Sequence[T], first: int, count: int) -> tuple[list[T], int | None]:
    """A page of rows, and where the next one begins; None: this was the last.

    Args:
        rows: all of them, of types that JSON knows.
        first: where the page begins.
        count: rows on it, at most; it ends sooner where its rows are long, and has one at least.
    """
    page: list[T] = []
    size = 0
    for row in rows[first : first + count]:
        size += len(msgspec.json.encode(row))
        if page and size > PAGE:
            break
        page.append(row)
    after = first + len(page)
    return page, after if after < len(rows) and page else None


def part_of(text: str, first: int) -> tuple[str, int | None]:
    """A part of a long text, which ends with a line where it can, and where the next one begins; None: nowhere."""
    end = first + PAGE
    if end >= len(text):
        return text[first:], None
    end = text.rfind("\n", first, end) + 1 or end
    return text[first:end], end


def is_long(answer: object) -> bool:
    """Whether plain data is too much for an answer."""
    return _size(answer) > ANSWER


def shortened(answer: dict[str, Any], most: int = ANSWER) -> tuple[dict[str, Any], dict[str, int]]:
    """An answer of at most so many characters, as far as its lists allow, and how many items each of them has lost.

    Args:
        answer: plain data, of the types of JSON.
        most: characters.
    """
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    lost: dict[str, int] = {}
    while (size := _size(made)) > most:
        name, longest = max(_lists(made), key=lambda one: _size(one[1]), default=("", []))
        if len(longest) <= _FEWEST:
            break
        each = _size(longest) / len(longest)
        keep = max(_FEWEST, min(len(longest) - 1, int(len(longest) - (size - most) / each)))
        lost[name] = lost.get(name, 0) + len(longest) - keep
        del longest[keep:]
    return made, lost


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


def _lists(value: Any, name: str = "") -> list[tuple[str, list[Any]]]:
    """Lists with more items than stay anyway, with their names."""
    found: list[tuple[str, list[Any]]] = []
    if isinstance(value, dict):
        for key, one in value.items():
            found += _lists(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        if len(value) > _FEWEST:
            found.append((name, value))
        for one in value:
            found += _lists(one, name)
    return found
