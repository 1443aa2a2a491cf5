"""Unified diffs, in time that grows with the length of the files even where they are long and repeat themselves."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Opcode = tuple[str, int, int, int, int]

_LONG: Final = 2000
"""Lines from which on a file is compared piece by piece: difflib's time grows with the square of repeated lines."""
_WINDOW: Final = 60
"""Lines that are compared at once."""
_CONTEXT: Final = 3


def file_diff(root: Path, relative: str, new: bytes) -> str:
    """What changes in a file of a project, which may be a new one, as :func:`unified` gives it."""
    there = (root / relative).exists()
    old = (root / relative).read_bytes() if there else b""
    before = f"a/{relative}" if there else "/dev/null"
    return unified(_lines(old), _lines(new), before, f"b/{relative}")


def _lines(raw: bytes) -> list[str]:
    """Lines as ``patch`` sees them: ended by a newline only, bytes that are not UTF-8 kept as surrogates."""
    pieces = raw.decode("utf-8", "surrogateescape").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def unified(old: Sequence[str], new: Sequence[str], before: str, after: str) -> str:
    """A diff that ``git apply`` and ``patch`` take.

    Args:
        old: the lines before, with their ends.
        new: the lines after.
        before: what the first file is called in the diff.
        after: what the second one is called.
    """
    if max(len(old), len(new)) < _LONG:
        lines: Iterator[str] = difflib.unified_diff(old, new, before, after)
    else:
        lines = _long(old, new, before, after)
    return "".join(
        line if line.endswith("\n") else phrase("{line}\n\\ No newline at end of file\n", line=line) for line in lines
    )


def side_by_side(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Rows that show two texts beside each other: the numbers of the old and of the new line, from 1; 0 for none."""
    if max(len(old), len(new)) < _LONG:
        opcodes: Iterator[Opcode] = iter(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    else:
        opcodes = _opcodes(old, new)
    for _, start, stop, first, last in opcodes:
        for step in range(max(stop - start, last - first)):
            here, there = start + step, first + step
            yield (here + 1 if here < stop else 0), (there + 1 if there < last else 0)


def _long(old: Sequence[str], new: Sequence[str], before: str, after: str) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, "", "")
    matcher.opcodes = list(_joined(_opcodes(old, new)))  # type: ignore[attr-defined] # what it would work out itself
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if not number:
            yield f"--- {before}\n"
            yield f"+++ {after}\n"
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for tag, start, stop, first, last in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[start:stop])
                continue
            yield from (f"-{line}" for line in old[start:stop])
            yield from (f"+{line}" for line in new[first:last])


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    """How ``old`` becomes ``new``: equal lines are passed over, and the rest is compared in windows."""
    here = there = 0
    while here < len(old) and there < len(new):
        start, first = here, there
        while here < len(old) and there < len(new) and old[here] == new[there]:
            here, there = here + 1, there + 1
        if here > start:
            yield "equal", start, here, first, there
            continue
        piece, other = old[here : here + _WINDOW], new[there : there + _WINDOW]
        block = difflib.SequenceMatcher(None, piece, other, autojunk=False).get_opcodes()
        # The end of a window cuts off what its last lines stand for; it is compared again in the next one.
        sure = max((index for index, code in enumerate(block) if code[0] == "equal"), default=len(block))
        for tag, begin, end, begins, ends in block[:sure]:
            yield tag, start + begin, start + end, first + begins, first + ends
            here, there = start + end, first + ends
    if here < len(old) or there < len(new):
        yield "replace", here, len(old), there, len(new)


def _joined(opcodes: Iterator[Opcode]) -> Iterator[Opcode]:
    """Neighbours of one kind as one; what only takes away or adds has its own name."""
    last: Opcode | None = None
    for code in opcodes:
        if last is not None and (last[0] == "equal") == (code[0] == "equal"):
            last = (last[0], last[1], code[2], last[3], code[4])
            continue
        if last is not None:
            yield last
        last = code
    if last is not None:
        yield last
