"""What may be written in more than one way in C++ and CUDA, brought into one: launches, macros for types, braces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DISPATCH: Final = re.compile(r"AT_DISPATCH_FLOATING_TYPES(?:_AND_?(?:HALF|\d)?)?|AT_DISPATCH_FLOATING_TYPES_AND_HALF")
"""torch's macros that choose a floating type; which half ones they have among them does not touch the others."""
_HEADS: Final = frozenset(("if", "else", "for", "while", "do", "switch", "case", "default"))


def extents(words: Sequence[str]) -> Iterator[str]:
    """How many extents what is launched has, where it is more than one, and which of them are 1.

    How wide it is does not count; but a kernel that runs for each of one extent more adds everything once more.
    """
    for at, word in enumerate(words):
        named = words[at + 1 : at + 2] if word == "dim3" else []
        opened = at + 1 if named == ["("] else at + 2
        if word != "dim3" or words[opened : opened + 1] != ["("]:
            continue
        end, depth = after_brackets(words, opened), 0
        parts: list[list[str]] = [[]]
        for inner in words[opened + 1 : end - 1]:
            depth += {"(": 1, ")": -1}.get(inner, 0)
            if inner == "," and not depth:
                parts.append([])
            else:
                parts[-1].append(inner)
        made = "".join("1" if part == ["1"] else "n" for part in parts).rstrip("1")
        if len(made) > 1:
            yield f"<{made}>"


def kernel_before(tokens: Sequence[str], at: int) -> str:
    """The name of what is launched, by the place of the launch's bracket: arguments of a template stand between."""
    at -= 1
    depth = 0
    while at > 0 and (depth or tokens[at] in (">", ">>")):
        depth += {">": 1, ">>": 2, "<": -1}.get(tokens[at], 0)
        at -= 1
    return tokens[at] if at >= 0 else ""


def dispatched(tokens: Sequence[str]) -> Iterator[str]:
    """The tokens, of torch's macros for floating types only the type that is asked and what is done with it."""
    at = 0
    while at < len(tokens):
        if _DISPATCH.fullmatch(tokens[at]) and tokens[at + 1 : at + 2] == ["("]:
            end = after_brackets(tokens, at + 1)
            given = tokens[at + 2 : end - 1]
            name = next((place for place, one in enumerate(given) if one == '""'), None)
            if name is not None and given[name - 1 : name] == [","] and given[name + 1 : name + 2] == [","]:
                # The last argument before the name is the type; AND2 and its like have others before it.
                depth, first = 0, name - 1
                while first and not (depth == 0 and given[first - 1] == ","):
                    first -= 1
                    depth += {")": 1, "(": -1}.get(given[first], 0)
                rest = given[name + 2 :]
                if rest[:1] == ["("] and after_brackets(rest, 0) == len(rest):
                    rest = rest[1:-1]
                yield from ("AT_DISPATCH_FLOATING_TYPES", "(", *given[first : name - 1], ",")
                yield from dispatched(rest)
                yield ")"
                at = end
                continue
        yield tokens[at]
        at += 1


def without_braces(tokens: Sequence[str]) -> Iterator[str]:
    """The tokens without the braces around a single statement of a condition or loop."""
    left_out: set[int] = set()
    for at, token in enumerate(tokens):
        if (
            token != "{"
            or not at
            or tokens[at - 1] not in (")", "else")
            or (tokens[at - 1] == ")" and not _heads(tokens, at - 1))
        ):
            continue
        end = at + 1
        while end < len(tokens) and tokens[end] not in ("{", "}"):
            end += 1
        inside = tokens[at + 1 : end]
        single = inside[-1:] == [";"] and inside.count(";") == 1
        if tokens[end : end + 1] == ["}"] and single and _HEADS.isdisjoint(inside) and "%%" not in " ".join(inside):
            left_out.update((at, end))
    return (token for at, token in enumerate(tokens) if at not in left_out)


def _heads(tokens: Sequence[str], close: int) -> bool:
    """Whether the brackets that end there are those of a condition or a loop."""
    depth, at = 0, close
    while at >= 0:
        depth += {")": 1, "(": -1}.get(tokens[at], 0)
        if not depth:
            return at > 0 and tokens[at - 1] in ("if", "for", "while")
        at -= 1
    return False


def after_brackets(tokens: Sequence[str], at: int) -> int:
    """Behind the brackets that open at ``at``."""
    depth = 0
    while at < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        at += 1
        if depth <= 0:
            break
    return at
