"""How wide kernels are launched, in a form that is equal for two launches which cover the same.

Numbers of threads are free, as long as the same number stands wherever it is meant: ``(n + 255) / 256`` blocks of 256
threads are ``(n + 511) / 512`` blocks of 512. A kernel that goes on by the whole grid covers all with any.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NUMBER: Final = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_LEAST: Final = 16
"""The least number that is taken for one of threads or blocks: others count extents, sides, channels."""
_STRIDE: Final = re.compile(r"\+= [^;{}]*\bgridDim \. ([xyz])\b")
"""A loop that goes on by the whole grid."""
_TOGETHER: Final = frozenset(
    "__shared__ __shfl __shfl_sync __shfl_xor_sync __shfl_down_sync __shfl_up_sync __shfl_down __shfl_xor "
    "__ballot_sync WARP_SHFL_XOR __launch_bounds__ extern cub BlockReduce WarpReduce".split()
)
"""Words of kernels whose threads work together: for them the numbers count as they are."""


def works_together(tokens: Iterable[str]) -> bool:
    """Whether the threads of a kernel share memory or hand values over, so that their number is a part of it."""
    return not _TOGETHER.isdisjoint(tokens)


def strides_of(tokens: Iterable[str]) -> frozenset[str]:
    """The axes of the grid by which a kernel goes on until all is done."""
    return frozenset(_STRIDE.findall(" ".join(tokens)))


def grid_and_block(words: Sequence[str]) -> list[list[str]]:
    """The first two arguments of a launch: blocks, and threads of each."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word, 0)
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts[:2]


def declared(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The name and the value of what a statement declares to be extents: ``dim3 blocks(…);``."""
    at = words.index("dim3") if "dim3" in words else -1
    rest = [one for one in words[at + 1 :] if one != ";"]
    if at < 0 or not rest or not re.fullmatch(r"[A-Za-z_]\w*", rest[0]):
        return None
    value = rest[2:] if rest[1:2] == ["="] else rest[1:]
    return rest[0], value[1:] if value[:1] == ["dim3"] else value


def without_axes(value: Sequence[str], axes: frozenset[str]) -> list[str]:
    """Extents without those of some axes."""
    inner = list(value[1:] if value[:1] == ["dim3"] else value)
    while inner[:1] in (["("], ["{"]) and inner[-1:] in ([")"], ["}"]) and _closes(inner):
        inner = inner[1:-1]
    parts: list[list[str]] = [[]]
    depth = 0
    for word in inner:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word, 0)
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    made: list[str] = []
    for axis, part in zip("xyz", parts, strict=False):
        made += ["any"] if axis in axes else part
        made.append("|")
    return made


def _closes(words: Sequence[str]) -> bool:
    depth = 0
    for at, word in enumerate(words):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(word, 0)
        if not depth:
            return at == len(words) - 1
    return False


def alike(words: Sequence[str], *, exact: bool) -> str:
    """Numbers of threads and blocks become marks, the same for the same number.

    Args:
        words: all that says how wide one launch is.
        exact: numbers stay.
    """
    plain = [str(int(one.rstrip("uUlL"), 0)) if _is_whole(one) else one for one in words]
    if exact:
        return " ".join(plain)
    marks: dict[int, str] = {}
    large = {int(one) for one in plain if one.isdigit() and int(one) >= _LEAST}
    for one in plain:
        if one.isdigit() and int(one) in large and int(one) + 1 not in large:
            marks.setdefault(int(one), f"#{len(marks)}")
    made = []
    for one in plain:
        if one.isdigit() and int(one) in large:
            made.append(marks.get(int(one)) or f"{marks[int(one) + 1]} - 1")
        else:
            made.append(one)
    return " ".join(made)


def _is_whole(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) and not (len(word) > 1 and word[0] == "0" and word[1].isdigit())
