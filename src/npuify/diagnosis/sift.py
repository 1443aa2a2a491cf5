"""Cuts pieces of logs into lines, and finds those that are worth a look.

Most lines of a log differ from others in digits only. Such a shape is looked at once; whether its lines can matter is
remembered, so that the rest of them costs one look-up. Memory does not grow with the log.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .lines import split_head
from .stems import CODE, CODE_SHAPE, DIGITS, GOES_ON, HAS_CODE, launched, starts_with_stems, steps_in, with_stems
from .wrapped import unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES: Final = 60_000
"""Shapes remembered; when there are more, all are forgotten."""
LONGEST: Final = 8_000
"""Bytes of a line that are looked at, from both ends where it is longer."""
BACK: Final = 60
"""Lines that are kept from before a piece, to look back for a time."""
_STEPS_LOOKED_AT: Final = 96
"""Steps of a piece that are noted: enough for the last few of each process of a machine."""

_FAILED: Final = re.compile(
    r"(?i)error|fail|fatal|cannot|can't|could not|unable|not (?:be )?(?:found|available|match|supported|accessible)"
    r"|did not|does not|doesn't|no such|invalid|illegal|denied|refused|missing|mismatch|insufficient|exceed|abort"
    r"|core dump|killed|crash|(?:return|exit) code: [1-9]"
    r"|\bnot (?:a|permitted|allowed|enough|visible|compatible)\b|unsupported|conflict"
    r"|timed? ?out|special characters|\bnull\b|: -\d"
)
"""How lines sound that tell of a failure in any words: too common in good runs to be asked of each line."""


class Sifter:
    """Takes pieces of a log and gives on the lines that can matter.

    ``lines`` and ``bytes`` count what was seen, ``number`` the lines of this file before the piece at hand.

    Args:
        look: called with a line, its shape, its number in the file, the lines of the piece, and its index among them.
        begin: called with the whole lines of a piece before any of them is looked at.
    """

    def __init__(
        self, look: Callable[[bytes, bytes, int, list[bytes], int], None], begin: Callable[[bytes], None]
    ) -> None:
        self._look, self._begin = look, begin
        self.lines = 0
        self.bytes = 0
        self.number = 0
        self.file = ""
        self.before: list[bytes] = []
        """The last lines before the piece that is looked at."""
        self.went_on: dict[tuple[str, bytes], list[int]] = {}
        """The last lines of each process that tell that a training goes on."""
        self.finished: dict[tuple[str, bytes], list[int]] = {}
        """The last steps of each process before a line that tells that its training has come to its end."""
        self._known: set[bytes] = set()
        self._interesting: dict[bytes, bool] = {}
        """Shapes that can matter; True where a code may stand in their lines."""
        self._steps: dict[bytes, int] = {}
        """Shapes of lines that tell that a training goes on, with how many steps one of them stands for."""
        self._unlike = 0
        """Pieces for which shapes are not remembered, since text does not repeat."""
        self._rest = b""

    def start_file(self, name: str) -> None:
        """What comes next is the file ``name``."""
        self.file, self.number, self.before = name, 0, []

    def end_file(self) -> None:
        """Take the last line, which may lack its end."""
        if self._rest:
            rest, self._rest = self._rest, b""
            self._take(rest)

    def excerpt(self) -> list[str]:
        """The lines of a log so short that it can only be an excerpt; empty where it is longer."""
        if self.lines > BACK:
            return []
        return [split_head(line[:LONGEST].decode("utf-8", "replace")).message for line in self.before]

    def sounds_failed(self) -> bool:
        """Whether a line of such an excerpt speaks of a failure, in whatever words, and no training goes on."""
        if self.went_on:
            return False
        heads = (split_head(line[:LONGEST].decode("utf-8", "replace")) for line in self.before)
        return self.lines <= BACK and any(not one.light and _FAILED.search(one.message) for one in heads)

    def holds_code(self, shape: bytes) -> bool:
        """Whether a code may stand in lines of this shape."""
        return self._interesting.get(shape, False)

    def feed(self, piece: bytes) -> None:
        """The next piece of the file; it may end inside a line."""
        self.bytes += len(piece)
        end = piece.rfind(b"\n")
        if end < 0:
            self._rest += piece
            if len(self._rest) > 4 * LONGEST:
                # A progress bar without a line end: only its newest part can matter.
                self._rest = self._rest[-LONGEST:]
            return
        whole = self._rest + piece[:end] if self._rest else piece[:end]
        self._rest = piece[end + 1 :]
        self._take(whole)

    def _take(self, whole: bytes) -> None:
        """Whole lines, without the last line end."""
        whole = unwrapped(whole)
        self._begin(whole)
        self._take_lines(whole)
        self.before = [*self.before, *whole[-16000:].split(b"\n")][-BACK:]

    def _take_lines(self, whole: bytes) -> None:
        if self._unlike > 0:
            self._unlike -= 1
            self._take_unlike(whole)
            return
        shapes = whole.translate(None, DIGITS).split(b"\n")
        different = set(shapes)
        unknown = different - self._known
        if len(unknown) * 2 > len(shapes) > 1000:
            # Text that never repeats: remembering its shapes costs more than it saves.
            self._unlike = 16
        if unknown:
            if len(self._known) + len(unknown) > SHAPES:
                self._known.clear()
                self._interesting.clear()
                self._steps.clear()
                unknown = different
            joined = b"\n".join(unknown)
            for shape in with_stems(joined, CODE_SHAPE):
                self._interesting[shape] = HAS_CODE.search(shape) is not None
            self._steps |= steps_in(joined)
            self._known |= unknown
        if not different.isdisjoint(self._steps):
            self._note_steps(shapes, whole)
        if not different.isdisjoint(self._interesting):
            lines = whole.split(b"\n")
            interesting, number = self._interesting, self.number
            for index, shape in enumerate(shapes):
                if shape in interesting:
                    self._look(lines[index], shape, number + index + 1, lines, index)
        self.number += len(shapes)
        self.lines += len(shapes)

    def _take_unlike(self, whole: bytes) -> None:
        """The same for lines of which each has its own shape."""
        count = whole.count(b"\n") + 1
        starts = starts_with_stems(whole, CODE)
        if starts:
            lines = whole.split(b"\n")
            index = before = 0
            for start in sorted(starts):
                index += whole.count(b"\n", before, start)
                before = start
                shape = lines[index].translate(None, DIGITS)
                if shape not in self._interesting:
                    if len(self._interesting) > SHAPES:
                        self._interesting.clear()
                        self._known.clear()
                    self._interesting[shape] = HAS_CODE.search(shape) is not None
                self._look(lines[index], shape, self.number + index + 1, lines, index)
        self.number += count
        self.lines += count

    def _note_steps(self, shapes: list[bytes], whole: bytes) -> None:
        """Note the last lines that tell of a step, for each process; they are few, so they are sought from the end."""
        lines: list[bytes] | None = None
        left = _STEPS_LOOKED_AT
        ended: dict[tuple[str, bytes], list[int]] = {}
        for index in range(len(shapes) - 1, -1, -1):
            steps = self._steps.get(shapes[index])
            if steps is None:
                continue
            lines = whole.split(b"\n") if lines is None else lines
            owner = (self.file, launched(lines[index]))
            last = self.went_on.setdefault(owner, [])
            if steps == GOES_ON:
                ended.setdefault(owner, [one for one in last if one <= self.number])
            elif owner in ended:
                ended[owner].append(self.number + index + 1)
            last += [self.number + index + 1] * steps
            left -= 1
            if not left:
                break
        for owner, last in ended.items():
            self.finished[owner] = sorted(last)[-GOES_ON:]
        for last in self.went_on.values():
            last.sort()
            del last[:-GOES_ON]
