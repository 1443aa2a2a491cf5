"""Units of systemd and programs of supervisord: the variables and commands of services."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.engine.text_files.script import judge_script
from npuify.rules.environment.variables import Setting, judge_variables

if TYPE_CHECKING:
    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.text_file import TextFile
    from npuify.source.settings import Document

_LINE = re.compile(
    rb"^(?P<key>Exec(?:Start|StartPre|StartPost|Stop|StopPost|Reload|Condition)|Environment)[ \t]*=[ \t]*"
    rb"(?P<value>(?:[^\r\n\\]|\\\r?\n|\\.)*)",
    re.MULTILINE,
)
_PREFIX = re.compile(rb"[-@+!:]*")
_QUOTED = re.compile(rb"\"(?P<a>[A-Za-z_]\w*)=(?P<b>[^\"]*)\"|'(?P<c>[A-Za-z_]\w*)=(?P<d>[^']*)'")
_PLAIN = re.compile(rb"(?P<a>[A-Za-z_]\w*)=(?:\"(?P<b>[^\"]*)\"|(?P<c>[^\s\"']*))")
_SPECIFIER = re.compile(rb"%[a-zA-Z]")


def judge_unit(file: TextFile, options: ProgramOptions) -> None:
    """Report the variables and commands of a unit of systemd's."""
    # What systemd fills in, a shell would read as a part of a word.
    shell = _SPECIFIER.sub(b"xx", file.data)
    settings: list[Setting] = []
    for match in _LINE.finditer(file.data):
        start, end = match.span("value")
        if match["key"] == b"Environment":
            settings += _variables(file.data, start, end)
            continue
        prefix = _PREFIX.match(file.data, start, end)
        judge_script(shell, prefix.end() if prefix is not None else start, end, file, options)
    judge_variables(settings, (), file)


def judge_supervised(document: Document, file: TextFile, options: ProgramOptions) -> None:
    """Report the commands of supervisord's programs, which stand in a file of settings."""
    for value in document.values:
        if value.key == "command" and value.path[0].startswith(("program:", "fcgi-program:", "eventlistener:")):
            judge_script(file.data, value.start, value.end, file, options)


def _variables(data: bytes, start: int, end: int) -> list[Setting]:
    """``Environment=A=1 "B=2 3"``: the whole assignment may stand in quotes, or its value."""
    found: list[Setting] = []
    at = start
    while at < end:
        match = _QUOTED.match(data, at, end) or _PLAIN.match(data, at, end)
        if match is None:
            at += 1
            continue
        names = match.groupdict()
        keys = ("a", "b") if names.get("a") is not None and names.get("b") is not None else ("c", "d")
        if "d" not in names and names.get("b") is None:
            keys = ("a", "c")
        name, value = match[keys[0]].decode(), match[keys[1]].decode("utf-8", "replace")
        span = match.span(keys[1])
        literal = None if "%" in value or "$" in value else value
        found.append(Setting(name, *match.span(keys[0]), literal, span if value else None))
        at = match.end()
    return found
