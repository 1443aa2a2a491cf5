"""A Dockerfile: its instructions, and which parts of it a shell runs."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")
_START = re.compile(rb"[ \t]*([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(rb"<<-?[\"']?([A-Za-z_]\w*)[\"']?")
_WORD = re.compile(rb"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\(?:\r\n|.)|[^\s\"'\\])+", re.DOTALL)


class Instruction(NamedTuple):
    """One instruction, its continuation lines and documents included."""

    name: str
    """In capitals."""
    start: int
    body: int
    """Where what follows the name begins."""
    end: int


class Pair(NamedTuple):
    """``NAME=value`` of ENV, ARG or LABEL. ``value`` is without quotes; ``start`` and ``end`` are those of the name."""

    name: str
    start: int
    end: int
    value: str
    value_start: int
    value_end: int


def read(data: bytes) -> tuple[list[Instruction], bytes]:
    """The instructions of a Dockerfile, and a copy of its text, of the same length, in which comments between
    continuation lines are blanked, so that a shell can read the body of RUN.
    """
    found: list[Instruction] = []
    blanked = bytearray(data)
    at = 0
    while at < len(data):
        match = _START.match(data, at)
        line = _LINE.match(data, at)
        assert line is not None
        if match is None or data[at : at + 1] == b"#" or match.end() > line.end():
            at = max(line.end(), at + 1)
            continue
        end = _body_end(data, match.end(), blanked)
        found.append(Instruction(match.group(1).decode().upper(), match.start(1), match.end(), end))
        at = max(end, at + 1)
    return found, bytes(blanked)


def _body_end(data: bytes, start: int, blanked: bytearray) -> int:
    """Where an instruction ends: its lines that end in a backslash go on, and so do its documents."""
    at = start
    while at < len(data):
        line = _LINE.match(data, at)
        assert line is not None
        text = line.group()
        at = line.end()
        if text.lstrip().startswith(b"#") and line.start() != start:
            # A comment between two lines belongs to neither; the line end goes as well, or the command would end here.
            blanked[line.start() : at] = b" " * (at - line.start())
            continue
        marks = _HEREDOC.findall(text)
        if marks and not text.rstrip().endswith(b"\\"):
            for mark in marks:
                closing = re.compile(rb"^[\t]*" + re.escape(mark) + rb"[ \t]*\r?$", re.MULTILINE).search(data, at)
                at = closing.end() if closing is not None else len(data)
            return at
        if not text.rstrip().endswith(b"\\") and text.strip():
            return line.end() - (len(text) - len(text.rstrip(b"\r\n")))
        if not text.strip() and line.end() >= len(data):
            break
    return len(data)


def pairs(data: bytes, instruction: Instruction) -> list[Pair]:
    """What an ENV or ARG sets, in a text without comments; the old form ``ENV NAME value`` as well."""
    found: list[Pair] = []
    words = list(_WORD.finditer(data, instruction.body, instruction.end))
    if instruction.name == "ENV" and words and b"=" not in words[0].group() and len(words) > 1:
        start, end = words[1].start(), words[-1].end()
        name = words[0].group().decode("utf-8", "replace")
        return [Pair(name, *words[0].span(), data[start:end].decode("utf-8", "replace"), start, end)]
    for word in words:
        name_bytes, equals, value = word.group().partition(b"=")
        if not re.fullmatch(rb"[A-Za-z_]\w*", name_bytes) or not (equals or instruction.name == "ARG"):
            continue
        start = word.start() + len(name_bytes) + len(equals)
        end = word.end()
        if len(value) > 1 and value[:1] == value[-1:] and value[:1] in (b'"', b"'"):
            start, end = start + 1, end - 1
        text = data[start:end].decode("utf-8", "replace")
        found.append(Pair(name_bytes.decode(), word.start(), word.start() + len(name_bytes), text, start, end))
    return found


_JSON_WORD = re.compile(rb'("(?:[^"\\]|\\.)*")|[\[\],]')


def as_shell(data: bytes, start: int, end: int) -> bytes:
    """A copy of a text, of the same length, in which a list of words as JSON can be read by a shell.

    Args:
        data: the text.
        start, end: where the list stands, its brackets included.
    """
    plain = _JSON_WORD.sub(lambda match: match.group(1) or b" ", data[start:end])
    return data[:start] + plain + data[end:]
