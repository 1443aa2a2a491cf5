"""Python's tracebacks as logs have them: frames, the exceptions that end them, and whose code raised them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.diagnosis.known.recognize import exception_match, recognized
from npuify.diagnosis.known.sentences import SAYS_LITTLE, sentence_match
from npuify.diagnosis.known.signatures import matches
from npuify.diagnosis.lines import split_head
from npuify.diagnosis.model import Frame
from npuify.diagnosis.ranks import Raised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.known.signatures import Match
    from npuify.diagnosis.model import Place

AFTER_FRAME: Final = 8
"""Lines below a frame within which the exception comes: the frame's source, and marks below it."""
SHOWN: Final = 600
"""Characters of a line that are kept."""

_FRAME: Final = re.compile(
    r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>(?:(?!Error: ).)+?))?\s*(?:\[repeated.*)?$'
)
_NOTEBOOK_FRAME: Final = re.compile(r"^File (?P<file>/\S+\.py):(?P<line>\d+), in (?P<function>[\w.<>]+)")
"""A frame as IPython writes it in notebooks."""
_OLD_NOTEBOOK_FRAME: Final = re.compile(
    r"^\[?(?P<file>[/~]\S+?\.py)(?:\]\(\S*\))? in (?P<function>[\w.<>]+)\((?!.*: error)"
)
"""The same before IPython 8, and as Colab links it; the lines below it are numbered."""
_RICH_FRAME: Final = re.compile(r"^[│|]\s+(?P<file>/\S+\.py):(?P<line>\d+) in (?P<function>[\w.<>]+)")
"""A frame as the library rich draws it."""
_NOTEBOOK_HEAD: Final = re.compile(r"^(?P<kind>[A-Z]\w+)\s{2,}Traceback \(most recent call last\)")
"""How IPython begins a traceback: the exception's kind stands above it as well as below."""
_EXCEPTION: Final = re.compile(
    r"^(?:\w+:)?\s*(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
    r"(?:Error|Exception|Interrupt|Exit|Warning|Refused|Timeout|Missing|NotFound))(?::\s*(?P<text>.*))?$"
)
_BELOW_FRAMES: Final = re.compile(r"^(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::\s+(?P<text>.*)|:?\s*)$")
"""What stands behind the last frame of a traceback is an exception, whatever it is called: queue.Empty, re.error."""
_OWN: Final = re.compile(
    r"(?!(?:torch\.distributed\.elastic|subprocess\.CalledProcessError|ray\.exceptions|KeyboardInterrupt|SystemExit)\b)"
    r"(?!.*(?:\.(?:cpp|cc|h|ts):\d+|function error|error code|\bERR\d{5}\b))"
    r"(?!.*(?:the following error|root cause|\b[Ss]ee (?:the )?(?:above|log|stack)))"
)
"""Exceptions that a program raised by itself, rather than those that pass on what a launcher or torch_npu reports."""
_LIBRARIES: Final = re.compile(
    r"/(?:site|dist)-packages/|^<|/lib(?:64)?/python\d|\\lib\\|/runpy\.py$|/torch_npu/|/multiprocessing/|/importlib/"
)
_PACKAGE: Final = re.compile(r"/(?:site|dist)-packages/(\w+)")
_PASSED_ON: Final = re.compile(r": Caught [\w.]+ in (?:DataLoader worker|pin memory thread|replica|trainer|process)")
"""How torch begins the message of an exception that a worker or a replica raised; that one's traceback follows it."""
PASSED_ON_BELOW: Final = re.compile(r"because of the following error(?: \([^)]*\))?:\s*$")
"""How Transformers, and libraries made after it, pass on an exception of an import: its words stand below."""
_KINDS_OF_WORDS: Final = (
    (re.compile(r"^module '[\w.]+' has no attribute"), "AttributeError"),
    (re.compile(r"^No module named"), "ModuleNotFoundError"),
    (re.compile(r"got an unexpected keyword argument|takes \d+ positional|missing \d+ required"), "TypeError"),
)
"""Kinds of exceptions by the words that Python gives them; what else stops an import is an ImportError."""
_IN_FILE: Final = re.compile(r'\s+(?P<place>in "[^"]+", line \d+)')
_BETWEEN: Final = ("", "│", "╰", "~", "^")
"""How lines begin that stand between a frame and its exception, but for those that are indented."""


def frame_in(message: str) -> Frame | None:
    """The frame that a line tells of; None for other lines."""
    found = _FRAME.match(message) or _RICH_FRAME.match(message) or _NOTEBOOK_FRAME.match(message)
    if found is not None:
        return Frame(found["file"], int(found["line"]), found["function"] or "")
    older = _OLD_NOTEBOOK_FRAME.match(message)
    return Frame(older["file"], 0, older["function"]) if older is not None else None


def is_between(message: str) -> bool:
    """Whether a line can stand between a frame and the exception: source, marks, the edge of a box."""
    return message[:1].isspace() or message[:1] in _BETWEEN


def kind_of_exception(message: str, *, below_frames: bool) -> str:
    """The kind of the exception that a line tells of, as it stands there; empty for other lines and for warnings.

    Args:
        message: the line without the launcher's prefix.
        below_frames: whether it comes right below a frame, where whatever has the form of an exception is one.
    """
    found = _EXCEPTION.match(message.strip())
    if found is None and below_frames and not is_between(message):
        found = _BELOW_FRAMES.match(message.rstrip())
    return found["kind"] if found is not None and not found["kind"].endswith("Warning") else ""


def told_by_head(text: str) -> list[Match]:
    """What the head of a notebook's traceback says by the kind it names; a little less than the exception below it."""
    found = _NOTEBOOK_HEAD.match(text)
    if found is None:
        return []
    told = exception_match(found["kind"], "")
    known = [told] if told.name.startswith("exception-") else matches(f"{found['kind']}: '")
    return [one._replace(weight=one.weight - 2) for one in known if one.role == "cause"]


def is_repeated_below(text: str, below: Sequence[bytes]) -> bool:
    """Whether an exception only passes on that of another process or thread, whose traceback stands below it.

    Args:
        text: the line that tells of it.
        below: the next lines.
    """
    return _PASSED_ON.search(text) is not None and any(b"Traceback (most recent call last)" in line for line in below)


def whole_message(text: str, below: Sequence[bytes]) -> str:
    """An exception's message with the first line below it, where it announces one: what a state_dict lacks, say.

    The file that a parser of YAML names in the line below belongs to it, too.

    Args:
        text: the line that tells of it.
        below: the next lines.
    """
    if below and (place := _IN_FILE.match(below[0].decode("utf-8", "replace"))):
        return f"{text}, {place['place']}"
    if not text.endswith(":"):
        return text
    for line in below:
        more = split_head(line[:SHOWN].decode("utf-8", "replace")).message.strip()
        if any(letter.isalpha() for letter in more):
            return text if "Traceback" in more or frame_in(more) is not None else f"{text} {more}"
    return text


def told_below(below: Sequence[bytes], frames: Sequence[Frame]) -> list[Match]:
    """What the words of an exception say that is passed on without its kind, in the first line below.

    Args:
        below: the next lines.
        frames: the traceback's frames; may be empty.
    """
    for line in below:
        said = split_head(line[:SHOWN].decode("utf-8", "replace")).message.strip()
        if PASSED_ON_BELOW.search(said):
            continue
        if not said or "Traceback" in said:
            return []
        kind = next((kind for words, kind in _KINDS_OF_WORDS if words.search(said)), "ImportError")
        return recognized(f"{kind}: {said}", frames, light=False)
    return []


def raised(place: Place, text: str, frames: list[Frame], when: float) -> Raised:
    """What is kept of an exception.

    Args:
        place: its line.
        text: the same, whole.
        frames: the frames above it; may be empty.
        when: the time in seconds; -1.0 for none.
    """
    own = next((one for one in reversed(frames) if not _LIBRARIES.search(one.file)), None)
    package = _PACKAGE.search(frames[-1].file) if frames else None
    return Raised(place, text[:SHOWN], own, when, package[1] if package is not None else "")


def says_little(match: Match) -> bool:
    """Whether what is known of an exception is no more than that it was raised."""
    return match.role in ("wrapper", "hint") or (match.cause == "script-error" and match.weight <= SAYS_LITTLE)


def told_by_kind(text: str, frames: list[Frame], *, known: bool = False) -> list[Match]:
    """What the sentence or kind of an exception says; empty for other lines, and where it passes on what others say.

    Args:
        text: the line.
        frames: the traceback's frames; may be empty.
        known: whether a table has told what its kind says.
    """
    kind = kind_of_exception(text, below_frames=bool(frames)) if _OWN.match(text) else ""
    if not kind:
        return []
    said = exception_match(kind, text)
    if said.weight <= SAYS_LITTLE and (sentence := sentence_match(text, frames)) is not None:
        return [sentence]
    return [] if known else [said]
