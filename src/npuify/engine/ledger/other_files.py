"""Why places of scripts, settings and other files need nothing, by their text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.engine.ledger.answer import Cleared, Unknown
from npuify.knowledge.hand_written import environment
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.rules.style_plan import StylePlan
    from npuify.source.text import Text

_COMMENTS = {
    **dict.fromkeys(
        (
            "template",
            "shell",
            "docker",
            "make",
            "just",
            "unit",
            "pbtxt",
            "yaml",
            "toml",
            "env",
            "requirements",
            "cmake",
        ),
        (b"#",),
    ),
    "ini": (b"#", b";"),
    "native": (b"//",),
    "cuda": (b"//",),
    "cython": (b"#",),
}
_COMPILED = frozenset(("native", "cuda", "cython"))
_SETTINGS = frozenset(("yaml", "json", "toml", "ini", "env", "pbtxt"))
_SCRIPTS = frozenset(("shell", "docker", "make", "just", "unit", "env"))
_IN_TOKEN = bytes(sorted(set(range(256)) - set(b" \t\n\r\f\v\"'`=,;:(){}[]|&<>")))
"""What words are made of, in shell scripts and settings."""
_DEVICE = re.compile(rb"(?i)(?:cuda|gpu|nccl)(?::\d+)?")
_SAYS = re.compile(rb"\b(?:echo|printf|info|warn|error|LABEL|MAINTAINER)\b|\bprint_|[Uu]sage:")
_UNINSTALLED = re.compile(rb"\b(?:pip3?|conda|mamba)\s+(?:uninstall|remove)\b[^;&|]*$")
_COMMAND = frozenset((b"nvidia-smi", b"nvcc", b"nsys", b"nvprof", b"ncu"))


def clear_other(
    kind: str, text: Text, places: Sequence[Occurrence], plan: StylePlan, *, is_reported: bool
) -> list[Cleared | Unknown]:
    """What can be said of places that no finding speaks of.

    Args:
        kind: of the file.
        text: its text.
        places: those asked about.
        plan: the style of the run.
        is_reported: whether findings speak of other places of it.
    """
    answers = [_clear(kind, text, place, is_reported) for place in places]
    if plan.style == "auto" and plan.entries:
        return [_translated(place, answer, text) for place, answer in zip(places, answers, strict=True)]
    return answers


def _translated(place: Occurrence, answer: Cleared | Unknown, text: Text) -> Cleared | Unknown:
    """The automatic style leaves the names of devices and backends to the programs that are given them."""
    start, end = _token(text.data, place)
    if isinstance(answer, Unknown) and _DEVICE.fullmatch(text.data[start:end]):
        return Cleared("at-run-time", phrase("transfer_to_npu translates the names that the programs are given"))
    return answer


def _clear(kind: str, text: Text, place: Occurrence, is_reported: bool) -> Cleared | Unknown:
    data = text.data
    begin = data.rfind(b"\n", 0, place.start) + 1
    before = data[begin : place.start]
    if any(_starts_comment(mark, before) for mark in _COMMENTS.get(kind, ())):
        return Cleared("comment")
    if kind in _COMPILED:
        return Cleared("native-source")
    start, end = _token(data, place)
    token = data[start:end]
    word = data[place.start : place.end]
    if kind == "lock" or (kind == "requirements" and _is_locked(data, place)):
        return Cleared("locked", token.decode("utf-8", "replace"))
    if kind in _SCRIPTS and _SAYS.search(before):
        return Cleared("message")
    if kind in (*_SCRIPTS, "yaml") and _UNINSTALLED.search(_command_before(data, begin, place.start)):
        return Cleared("works-unchanged", phrase("a package that is uninstalled"))
    fact = environment().get(word.decode("utf-8", "replace"))
    if fact is not None:
        return Cleared("works-unchanged", fact.message) if fact.action == "keep" else Unknown()
    if token in _COMMAND:
        return Unknown()
    if kind == "cmake":
        # What finds and builds CUDA is reported; the rest of the file builds what needs it.
        return Cleared("native-source", phrase("a part of a build that is reported")) if is_reported else Unknown()
    if token.startswith(b"-"):
        return Cleared("option-name", token.decode("utf-8", "replace"))
    if b"/" in token or b"\\" in token:
        return Cleared("path", token.decode("utf-8", "replace"))
    if kind in _SETTINGS:
        if not _is_value(data, start, end):
            return Cleared("setting")
        if b" " in _value(data, place):
            return Cleared("text")
        return Unknown() if _DEVICE.fullmatch(token) else Cleared("setting")
    if kind == "template":
        # Code that names CUDA is reported; what is left are the template's own names and words.
        if _DEVICE.fullmatch(token) and not before.rstrip().endswith((b"{{", b"{%", b"{")):
            return Unknown()
        return Cleared("own-name", token.decode("utf-8", "replace"))
    if kind in _SCRIPTS:
        return _in_script(data, place, token, before)
    return Unknown()


def _in_script(data: bytes, place: Occurrence, token: bytes, before: bytes) -> Cleared | Unknown:
    word = data[place.start : place.end]
    if data[place.end : place.end + 1] == b"=" or before.endswith((b"$", b"${")):
        return Cleared("own-name", phrase("the variable {decode}", decode=word.decode("utf-8", "replace")))
    if _DEVICE.fullmatch(token):
        return Unknown()
    if token.endswith((b".py", b".sh", b".yaml", b".yml", b".json")):
        return Cleared("path", token.decode("utf-8", "replace"))
    return Cleared("own-name", token.decode("utf-8", "replace")) if b"_" in token else Unknown()


def _command_before(data: bytes, begin: int, end: int) -> bytes:
    """What a command says before a place, from the line on that ends no other one by a backslash."""
    while begin > 1 and data[:begin].endswith((b"\\\n", b"\\\r\n")):
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    return data[begin:end]


def _starts_comment(mark: bytes, before: bytes) -> bool:
    """Whether a comment begins before a place on its line, as far as quotes tell."""
    at = before.find(mark)
    while at >= 0:
        is_free = at == 0 or before[at - 1 : at] in (b" ", b"\t", b";")
        head = before[:at]
        if is_free and head.count(b'"') % 2 == 0 and head.count(b"'") % 2 == 0:
            return True
        at = before.find(mark, at + 1)
    return False


def _token(data: bytes, place: Occurrence) -> tuple[int, int]:
    """The word, as a shell or a settings file has them, around a place."""
    begin = data.rfind(b"\n", 0, place.start) + 1
    stop = data.find(b"\n", place.end)
    before, behind = data[begin : place.start], data[place.end : stop if stop >= 0 else len(data)]
    # Pictures in notebooks are words of a million characters.
    return begin + len(before.rstrip(_IN_TOKEN)), place.end + len(behind) - len(behind.lstrip(_IN_TOKEN))


def _is_locked(data: bytes, place: Occurrence) -> bool:
    """Whether a line pins a wheel of CUDA as a tool that resolves requirements writes it."""
    line = data[data.rfind(b"\n", 0, place.start) + 1 : place.end + 200].split(b"\n", 1)[0]
    return b"==" in line and (b" ; " in line or b"--hash" in line or line.startswith((b"nvidia-", b"triton==")))


def _value(data: bytes, place: Occurrence) -> bytes:
    """The text of a value around a place, as far as its line goes: what stands in quotes, or behind a colon."""
    start = data.rfind(b"\n", 0, place.start) + 1
    end = data.find(b"\n", place.end)
    line = data[start : end if end >= 0 else len(data)]
    at = place.start - start
    quote = max(line.rfind(b'"', 0, at), line.rfind(b"'", 0, at))
    if quote >= 0:
        close = line.find(line[quote : quote + 1], at)
        return line[quote + 1 : close] if close >= 0 else line[quote + 1 :]
    colon = line.rfind(b": ", 0, at)
    comment = line.find(b" #", at)
    return line[colon + 2 if colon >= 0 else at : comment if comment >= 0 else len(line)].strip()


def _is_value(data: bytes, start: int, end: int) -> bool:
    """Whether a word of a settings file is a value, not a key."""
    follows = data[end : end + 8].lstrip(b"\"'").lstrip(b" ")
    return follows[:1] not in (b":", b"=")
