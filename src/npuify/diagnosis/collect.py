"""Goes through logs once, line by line, and keeps what is known of each rank; memory does not grow with the logs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.diagnosis.first_failed import FirstFailed
from npuify.diagnosis.known.cut import cut_match
from npuify.diagnosis.known.installers import LIST_FOLLOWS, being_built, extension_compiled
from npuify.diagnosis.known.recognize import recognized
from npuify.diagnosis.known.refusals import assertion_match
from npuify.diagnosis.lines import LOCAL, rank_and_pid, split_head, time_of, waited_for
from npuify.diagnosis.model import Event, Place
from npuify.diagnosis.ranks import Rank, at_exit, counted, merge
from npuify.diagnosis.sift import BACK, LONGEST, Sifter
from npuify.diagnosis.stems import (
    CODE,
    DIGITS,
    HEXADECIMAL,
    NUMBERS,
    RICH,
    launched,
    process,
    with_stems,
)
from npuify.diagnosis.tracebacks import (
    AFTER_FRAME,
    PASSED_ON_BELOW,
    SHOWN,
    frame_in,
    is_between,
    is_repeated_below,
    kind_of_exception,
    raised,
    says_little,
    told_below,
    told_by_head,
    told_by_kind,
    whole_message,
)
from npuify.diagnosis.wrapped import lines_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.diagnosis.known.signatures import Match
    from npuify.diagnosis.lines import Head
    from npuify.diagnosis.model import Frame

SAID: Final = 60_000
"""Different messages remembered, so that they are counted when they come again."""
EVENTS: Final = 200
"""Different events kept for a rank."""
RANKS: Final = 20_000
TRACEBACKS: Final = 200
"""Tracebacks followed for a rank; later ones only count."""

_CUT: Final = 3
"""Lines at the end of a file that can follow the last frame of a traceback that is cut off: its source and marks."""
_BLOCK: Final = 6
"""Lines between two of a message that were looked at."""
_CONTINUED: Final = re.compile(
    r"\[ERROR\] 20\d\d-|\[Error\]: |\[PID: \d|E[A-Z]\d{4}"
    r"|\s+(?:TraceBack|Solution|Possible Cause|Rectify|Check |The |EZ|rt[A-Z]|Kernel |AI[CV])"
)
"""How lines begin that go on with a message of torch_npu or CANN."""
_OPERATOR: Final = re.compile(
    r"call (aclnn\w+) failed|[oO]pType:?\s*(?:\d+,\s*)?\[?(\w+)|Op (\w+) (?:does not|not support)|\bop\[(\w+)\]"
    r"|operator '([\w:.]+)'|Current working aclop is (\w+)|OPS function error: (\w+)"
)
_OF_SOURCE: Final = 16
"""How much less it says what stands in a line of source: enough to come after the exception itself."""
_SUSPECT: Final = re.compile(
    r"(?!.*HTTP/\d(?:\.\d)?\" [1-4]\d\d\b)"
    r"(?:\[ERROR\]|\bERROR\b|\bE\d{4,5}\b|\bFATAL\b|CRITICAL|Error response|[Ff]atal error|terminate called"
    r"|(?<!\b0 )\b[Ff]ailed\b(?!(?: \w+)?\W*0\b)|\b[Ee]rror: |^[EF]\d{4} \d\d:|[Cc]annot |[Uu]nable to |: No such file)"
)
"""Lines that may matter although nothing is known of them."""


class _Said:
    """A message of a rank, and how often it came again."""

    __slots__ = ("again", "events", "rank")

    def __init__(self) -> None:
        self.again = 0
        self.rank: Rank | None = None
        self.events: list[tuple[str, str]] = []


class Collector:
    """Takes pieces of logs and keeps what matters.

    ``ranks`` holds what was found by process; ``sifter`` counts lines and bytes that were seen.
    """

    def __init__(self) -> None:
        self.ranks: dict[str, Rank] = {}
        self.sifter = Sifter(self._look, self._begin)
        self.files = 0
        self.first_failed = FirstFailed()
        self.changed = False
        """Whether anything was learnt since it was last set to False."""
        self._said: dict[tuple[bytes, bytes, bytes], _Said] = {}
        self._ends_below = 0
        """Lines that were looked at below the last frame."""
        self._unended = False
        """Whether the piece ended before the exception below its last frame."""
        self._open: set[str] = set()
        """Ranks whose traceback has not ended."""
        self._file = ""
        self._file_rank = ""
        self._file_pid = ""
        self._last = ("", "", -_BLOCK)
        """What told the last line's process apart, its rank, and the line's number."""

    def start_file(self, name: str, rank: str = "", pid: str = "") -> None:
        """What comes next is the file ``name``, of ``rank`` or of the process ``pid`` where its name says so."""
        self.end_file()
        self.files += 1
        self.sifter.start_file(name)
        self._file, self._file_rank, self._file_pid = name, rank, pid
        self.first_failed.start_file()
        self._last = ("", "", -_BLOCK)

    def end_file(self) -> None:
        """Take the last line, which may lack its end."""
        self.sifter.end_file()
        for key in sorted(self._open):
            self._cut_off(self.ranks[key])
        self._open.clear()
        self._count()
        for rank in self.ranks.values():
            rank.survive(self.sifter.went_on, self.sifter.finished)

    def _cut_off(self, rank: Rank) -> None:
        """Note a traceback that stands at the end of the file without its exception."""
        left = self.sifter.number - rank.last_frame
        if not rank.open_frames or left > _CUT or rank.last_frame - rank.ignored <= 60:
            return
        lines = self.sifter.before[len(self.sifter.before) - left :] if left else []
        frame, frames, rank.open_frames = rank.open_frames[-1], rank.open_frames, []
        source = split_head(lines[0][:SHOWN].decode("utf-8", "replace")).message if lines else ""
        place = self._place(rank.last_frame, f'File "{frame.file}", line {frame.line}, in {frame.function}')
        told = cut_match(frames, source)
        if told is not None:
            rank.exceptions = [*rank.exceptions[:2], raised(place, "", frames, -1.0)]
            self._note_events(rank, _Said(), [told], place, self._time("", "", lines, 0), b"")

    def feed(self, piece: bytes) -> None:
        """The next piece of the file; it may end inside a line."""
        self.sifter.feed(piece)

    def _begin(self, whole: bytes) -> None:
        """Go on with what the piece before left open."""
        self.first_failed.go_on(whole)
        if self._unended:
            self._unended = False
            self._find_end(whole[: 4 * LONGEST].split(b"\n"), 0, self.sifter.number + 1)

    def _look(self, line: bytes, shape: bytes, number: int, lines: list[bytes], index: int) -> None:
        frame_line = b'File "' in line or b"Traceback" in line or line.startswith(RICH)
        # The same message again: only the first of a rank can be its first cause.
        codes = b" ".join(NUMBERS.findall(line)) if self.sifter.holds_code(shape) else b""
        if b"0x" in line:
            # Addresses have letters that differ as well.
            shape = HEXADECIMAL.sub(b"", line).translate(None, DIGITS)
        key = (process(line), shape, codes)
        said = self._said.get(key)
        if said is not None and not frame_line and not self._open and (said.rank is None or not said.rank.survived):
            said.again += 1
            return
        if said is None:
            if len(self._said) >= SAID:
                self._count()
            said = self._said[key] = _Said()
        within = lines_within(line)
        if within:
            for part in within:
                self._look(part, part.translate(None, DIGITS), number, [part], 0)
            self._unended = False
            return
        if len(line) > LONGEST:
            line = line[: LONGEST // 2] + b" ... " + line[-LONGEST // 2 :]
        if b"\r" in line:
            line = line.rstrip(b"\r").rpartition(b"\r")[2] if b"rror" not in line else line.replace(b"\r", b" ")
        head = split_head(line.decode("utf-8", "replace"))
        if head.key:
            self._last = (head.key, head.rank, number)
        elif number - self._last[2] <= _BLOCK and _CONTINUED.match(head.message):
            # torch puts a rank before the first line of a message only; the rest is CANN's block of lines.
            head = head._replace(key=self._last[0], rank=self._last[1])
            self._last = (head.key, head.rank, number)
        rank = self._rank(head.key, head.rank)
        self._learn(rank, said, head, number, lines, index)
        if rank.open_frames and frame_line:
            self._ends_below = 0
            self._find_end(lines, index + 1, number + 1)

    def _find_end(self, lines: list[bytes], start: int, number: int) -> None:
        """Look at the exception below a frame, which need not hold a word that lines are searched for.

        Args:
            lines: the lines of the piece.
            start: the first of them that is looked at.
            number: its number in the file.
        """
        for index in range(start, len(lines)):
            self._ends_below += 1
            if self._ends_below > AFTER_FRAME:
                return
            line = lines[index]
            if b'File "' in line or line.startswith(RICH):
                return
            message = split_head(line[:LONGEST].decode("utf-8", "replace")).message
            if is_between(message):
                continue
            if kind_of_exception(message, below_frames=True) and not with_stems(line, CODE):
                self._ends_below = AFTER_FRAME
                self._look(line, line.translate(None, DIGITS), number + index - start, lines, index)
            return
        self._unended = True

    def _count(self) -> None:
        """Add what was said again to the events, and forget it."""
        for said in self._said.values():
            if said.again and said.rank is not None:
                for key in said.events:
                    event = said.rank.events.get(key)
                    if event is not None:
                        said.rank.events[key] = counted(event, said.again)
        self._said.clear()

    def _rank(self, key: str, number: str) -> Rank:
        if key.startswith(LOCAL):
            if self.files == 1:
                key = f"rank {number}"
            else:  # another node's, which counts from zero too
                key, number = f"{self._file} {key}", ""
        if not key:
            key = f"rank {self._file_rank}" if self._file_rank else f"pid {self._file_pid}" if self._file_pid else ""
            number = number or self._file_rank
            if not key and self.files > 1:
                key = self._file
        rank = self.ranks.get(key)
        if rank is None:
            if len(self.ranks) >= RANKS:
                return next(reversed(self.ranks.values()))
            rank = self.ranks[key] = Rank(key)
            rank.number = number
        rank.lines += 1
        return rank

    def _learn(self, rank: Rank, said: _Said, head: Head, number: int, lines: list[bytes], index: int) -> None:
        message, text = head.message, head.message.strip()
        told_rank, pid = rank_and_pid(message)
        if told_rank and not rank.number:
            rank.number = told_rank
        if pid:
            rank.pids.add(pid)
        rank.builds = being_built(text) or rank.builds
        rank.extension = extension_compiled(text) or rank.extension
        frames = self._traceback(rank, message, text, number, lines, index)
        if frames is None:
            head_says = told_by_head(text)
            if head_says:
                at = self._time(message, head.time, lines, index)
                self._note_events(rank, said, head_says, self._place(number, text), at, launched(lines[index]))
            return
        self.first_failed.look(message, lines, index)
        source = number - rank.last_frame == 1 and message[:1].isspace()
        whole = text
        if LIST_FOLLOWS.search(text):
            whole = "\n".join((text, *(line.decode("utf-8", "replace") for line in lines[index + 1 : index + 4])))
        found = recognized(whole, frames, light=head.light)
        if PASSED_ON_BELOW.search(text):
            found = [*found, *told_below(lines[index + 1 : index + 4], frames)]
        if source:
            # The source that raises it; the exception below says the same, and has its frames.
            found = [one._replace(weight=one.weight - _OF_SOURCE) for one in found]
        asserted = assertion_match(text, lines[max(0, index - 6) : index]) if frames else None
        if asserted is not None:
            found = [*found, asserted]
        if not head.light and all(says_little(one) for one in found):
            found += told_by_kind(text, frames, known=any(one.role == "cause" for one in found))
        operator = _OPERATOR.search(text)
        if operator and not rank.operator and not head.light:
            rank.operator = next(part for part in operator.groups() if part)
        rank.waits_for.update(waited_for(text))
        if found:
            said.rank = rank
            self._note_events(
                rank,
                said,
                found,
                self._place(number, text),
                self._time(message, head.time, lines, index),
                launched(lines[index]),
            )
        elif len(rank.suspects) < 12 and _SUSPECT.search(message):
            rank.suspects.append(self._place(number, text))

    def _note_events(
        self, rank: Rank, said: _Said, found: list[Match], place: Place, at: tuple[str, float], owner: bytes
    ) -> None:
        """Note what a line was recognized as, at a place of the log and a time, as shown and in seconds."""
        shown, when = at
        self.changed = True
        for one in found:
            key = (one.name, one.cause)
            said.events.append(key)
            known = rank.events.get(key)
            if known is not None and (known.role != "hint" or one.role == "hint"):
                rank.events[key] = counted(known)
                continue
            if len(rank.events) >= EVENTS:
                return
            rank.events[key] = Event(
                rank=rank.name(),
                time=shown,
                place=place,
                name=one.name,
                meaning=one.meaning,
                cause=one.cause,
                role=one.role,
                weight=one.weight,
                evidence=one.evidence,
                source=one.source,
                why=one.why,
                fix=one.fix,
            )
            rank.order[key] = when
            rank.processes[key] = owner

    def _traceback(
        self, rank: Rank, message: str, text: str, number: int, lines: list[bytes], index: int
    ) -> list[Frame] | None:
        """Follow Python tracebacks; None where the line says nothing by itself, else the frames that end with it."""
        if message.startswith(("Exception ignored in", "Error in atexit")):
            rank.ignored = number
        if "Traceback (most recent call last)" in message and "TraceBack" not in message:
            self._open.add(rank.key)
            rank.tracebacks += 1
            rank.open_frames = []
            return None
        frame = frame_in(message)
        if frame is not None:
            self._open.add(rank.key)
            rank.last_frame = number
            if rank.tracebacks <= TRACEBACKS:
                rank.open_frames.append(frame)
                del rank.open_frames[:-60]
            return None
        near = bool(rank.open_frames) and number - rank.last_frame <= AFTER_FRAME
        kind = kind_of_exception(message, below_frames=near)
        if kind and is_repeated_below(text, lines[index + 1 : index + 4]):
            rank.open_frames = []
            return None
        if kind:
            frames, rank.open_frames = rank.open_frames, []
            self._open.discard(rank.key)
            if number - rank.ignored <= 60 or at_exit(kind, frames):
                # Raised while Python, or CANN's compiler, was already shutting down.
                rank.ignored = -60
                return None
            _, when = self._time(message, "", lines, index)
            entry = raised(self._place(number, text), whole_message(text, lines[index + 1 : index + 3]), frames, when)
            if len(rank.exceptions) < 3:
                rank.exceptions.append(entry)
            else:
                rank.exceptions[2] = entry
            self.changed = True
            return frames
        return []

    def _place(self, number: int, text: str) -> Place:
        shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
        return Place(self._file, number, shown)

    def _time(self, message: str, given: str, lines: list[bytes], index: int) -> tuple[str, float]:
        """The time of a line: its own, the launcher's, or the nearest before it."""
        shown, when = time_of(message)
        if when >= 0:
            return shown, when
        if given:
            shown, when = time_of(given)
            if when >= 0:
                return given, when
        near = lines[max(0, index - BACK) : index]
        if len(near) < BACK:
            near = [*self.sifter.before[len(near) - BACK :], *near]
        for line in reversed(near):
            shown, when = time_of(line[:400].decode("utf-8", "replace"))
            if when >= 0:
                return shown, when
        return "", -1.0

    def joined(self) -> Iterator[Rank]:
        """The ranks, with processes that are known to be one rank put together: a plog file belongs to a process."""
        by_pid = {pid: rank for rank in self.ranks.values() if rank.number for pid in rank.pids}
        for rank in list(self.ranks.values()):
            if rank.key.startswith("pid ") and not rank.number:
                owner = by_pid.get(rank.key[4:])
                if owner is not None and owner is not rank:
                    merge(owner, rank)
                    continue
            yield rank
