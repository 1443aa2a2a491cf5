"""IPython's additions to Python in a cell: magics, shell commands and help, told from Python and put out of the way.

What is no Python is overwritten by Python of the same length that does nothing, so that all offsets stay.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    rb"(?P<comment>\#[^\r\n]*)|(?P<triple>\"\"\"|''')|(?P<string>\"(?:[^\"\\\r\n]|\\.)*\"|'(?:[^'\\\r\n]|\\.)*')"
    rb"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\(?:\r\n|\r|\n))|(?P<newline>\r\n|\r|\n)",
    re.DOTALL,
)
_MAGIC = re.compile(
    rb"(?P<indent>[ \t]*)(?:"
    rb"(?P<shell>!)"
    rb"|(?P<run>%(?:time|timeit|prun|memit|mprun|lprun)\b)(?P<python>[ \t]+(?!-)(?=[A-Za-z_(]))?"
    rb"|(?P<line>%[A-Za-z_])"
    rb"|(?P<help>\?[^\r\n]*|[A-Za-z_][\w.*]*\?{1,2}[ \t]*(?=[\r\n]|\Z))"
    rb"|(?P<assign>[A-Za-z_][\w.,\[\]'\" \t]*=[ \t]*)(?P<value>[!%])(?=[A-Za-z{$~/.])"
    rb")"
)
_AUTOMATIC = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<command>(?:pip3?|conda|mamba|ls|ll|cd|cat|cp|mv|rm|rmdir|mkdir|pwd|man|less|more)"
    rb"(?:[ \t]+[-\w./~$*\"'{][^\r\n]*)?)$",
    re.MULTILINE,
)
"""What IPython takes for a magic although no sign stands before it."""
_REST = re.compile(rb"(?:[^\r\n\\]|\\(?:\r\n|[^\r\n])|\\(?:\r|\n)|\\\Z)*")
_CELL_MAGIC = re.compile(rb"\s*%%(?P<name>\w+|!)[ \t]*(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|\Z)")
_RUNS_PYTHON = frozenset((b"time", b"timeit", b"capture", b"prun", b"memit", b"mprun", b"heat", b"snakeviz"))
_SHELLS = frozenset((b"bash", b"sh", b"shell", b"!", b"system", b"sx", b"script", b"zsh"))
_SHELL_LANGUAGES = frozenset(("shellscript", "bash", "sh", "zsh"))
_INSTALLERS = (b"pip", b"conda", b"mamba", b"uv")
_SET_ENV = re.compile(rb"(?:set_)?env[ \t]+")


class WrittenFile(NamedTuple):
    """A file that a cell writes."""

    name: str
    start: int
    """Where its text begins in the cell; it ends with the cell."""
    is_appended: bool
    """The text is added to a file that is there already."""


class Masked(NamedTuple):
    """A cell with what is no Python overwritten."""

    text: bytes
    """Python of the same length, or empty where the cell is no Python."""
    shell: tuple[tuple[int, int], ...]
    """Spans of the cell that are commands of a shell."""
    writes: WrittenFile | None = None
    """The file that the cell is written to, by ``%%writefile``; nothing of it is Python of the notebook then."""
    masked: tuple[tuple[int, int], ...] = ()
    """Spans that were overwritten."""
    environment: tuple[tuple[int, int], ...] = ()
    """Spans of what follows ``%env`` and ``%set_env``."""


def mask(cell: bytes) -> Masked:
    """What of a cell is Python, and what is not."""
    head = _CELL_MAGIC.match(cell)
    if head is None:
        return _lines(cell, 0)
    name, body = head.group("name"), head.end()
    if name in _RUNS_PYTHON:
        return _lines(cell, body)
    if name in _SHELLS:
        first = head.group("rest").split()
        is_shell = name != b"script" or bool(first and first[0].rpartition(b"/")[2] in (b"bash", b"sh", b"zsh"))
        return Masked(b"", ((body, len(cell)),) if is_shell else ())
    words = head.group("rest").split()
    if name in (b"writefile", b"file") and words and not words[-1].startswith(b"-"):
        written = words[-1].strip(b"\"'").decode("utf-8", "replace")
        return Masked(b"", (), WrittenFile(written, body, b"-a" in words or b"--append" in words))
    return Masked(b"", ())


def without_automagic(cell: Masked) -> Masked:
    """A cell that is no Python yet, with what is a command without a sign overwritten, too."""
    out = bytearray(cell.text)
    shell, masked = list(cell.shell), list(cell.masked)
    for match in _AUTOMATIC.finditer(cell.text):
        span = match.span("command")
        out[slice(*span)] = _filler(cell.text[slice(*span)])
        masked.append(span)
        shell.append(span)
    return cell._replace(text=bytes(out), shell=tuple(shell), masked=tuple(masked))


def shown_as(language: str, cell: Masked) -> Masked:
    """A cell that is no Python, as an editor shows it: one of shell commands is read as such, and others not at all.

    Args:
        language: what the editor takes it for; empty where nothing is said.
        cell: what was made of it.
    """
    if language in ("", "python"):
        return cell
    return Masked(b"", ((0, len(cell.text)),) if language in _SHELL_LANGUAGES else ())


def _lines(cell: bytes, start: int) -> Masked:
    out = bytearray(cell)
    shell: list[tuple[int, int]] = []
    environment: list[tuple[int, int]] = []
    masked: list[tuple[int, int]] = []

    def overwrite(first: int, last: int) -> None:
        out[first:last] = _filler(cell[first:last])
        masked.append((first, last))

    if start:
        overwrite(0, start)
    if not re.search(rb"[!%?]", cell[start:]):
        return Masked(bytes(out), (), None, tuple(masked))
    at = start
    while at < len(cell):
        match = _MAGIC.match(cell, at)
        if match is None:
            at = _after_logical_line(cell, at)
            continue
        rest = _REST.match(cell, match.end())
        end = rest.end() if rest else len(cell)
        if match.group("shell"):
            shell.append((match.start("shell") + 1, end))
            overwrite(match.start("shell"), end)
        elif match.group("python"):
            first, last = match.start("run"), match.end("python")
            overwrite(first, last)
            out[first:last] = b"0".ljust(last - first - 1) + b";"
            at = _after_logical_line(cell, last)
            continue
        elif match.group("value"):
            first = match.start("value")
            if match.group("value") == b"!":
                shell.append((first + 1, end))
            overwrite(first, end)
        else:
            first = match.end("indent")
            word = cell[first + 1 : end]
            set_env = _SET_ENV.match(word)
            if word.startswith((*_INSTALLERS, b"run ")):
                shell.append((first + 1, end))
            elif set_env is not None:
                environment.append((first + 1 + set_env.end(), end))
            overwrite(first, end)
        at = end
        newline = re.compile(rb"\r\n|\r|\n").match(cell, at)
        at = newline.end() if newline else len(cell)
    return Masked(bytes(out), tuple(shell), None, tuple(masked), tuple(environment))


def _after_logical_line(cell: bytes, at: int) -> int:
    """The start of the line after the statement line that begins at ``at``, brackets and long strings included."""
    depth = 0
    while True:
        match = _TOKEN.search(cell, at)
        if match is None:
            return len(cell)
        at = match.end()
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "triple":
            quotes = match.group()
            end = cell.find(quotes, at)
            while end > 0 and cell[end - 1 : end] == b"\\" and cell[end - 2 : end - 1] != b"\\":
                end = cell.find(quotes, end + 1)
            at = end + 3 if end >= 0 else len(cell)
        elif kind == "newline" and not depth:
            return at


def _filler(text: bytes) -> bytes:
    """Python of the same length that does nothing: ``0`` and a comment, and comments on lines that follow."""
    lines = re.split(rb"(\r\n|\r|\n)", text)
    filled = []
    for index, line in enumerate(lines):
        if index % 2:
            filled.append(line)
        elif line:
            filled.append((b"0" if index == 0 else b"#") + b"#" * (len(line) - 1))
    return b"".join(filled)
