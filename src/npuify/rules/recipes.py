"""Dockerfiles, Makefiles and justfiles: each has parts of its own, and parts that a shell runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.rules.containers import judge_image
from npuify.rules.other_file import Given
from npuify.rules.pip_lines import judge_pip_words
from npuify.rules.shell_commands import judge_search_path
from npuify.rules.shell_script import judge_script
from npuify.rules.variables import Mention, Setting, judge_variables
from npuify.source.docker import pairs, read

if TYPE_CHECKING:
    from npuify.rules.other_file import OtherFile
    from npuify.rules.program_options import ProgramOptions
    from npuify.source.docker import Instruction, Pair

_EXPANDED = re.compile(rb"\$\{?([A-Za-z_]\w*)")
_JSON_WORD = re.compile(rb'("(?:[^"\\]|\\.)*")|[\[\],]')
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-[^{}]*)?\}|(\w+))")
_IMAGE = re.compile(rb"(?:--\S+\s+)*(\S+)")


def judge_dockerfile(file: OtherFile, options: ProgramOptions) -> None:
    """Report the base images, variables and commands of a Dockerfile."""
    instructions, shell = read(file.data)
    settings: list[Setting] = []
    mentions: list[Mention] = []
    file.given = _given([one for one in instructions if one.name in ("FROM", "ENV", "ARG")], shell)
    for one in instructions:
        if one.name == "FROM":
            match = _IMAGE.match(file.data, one.body, one.end)
            if match is not None:
                image = _filled_in(match.group(1).decode("utf-8", "replace"), file.given)
                judge_image(image, match.span(1), file)
        elif one.name in ("ENV", "ARG"):
            for pair in pairs(shell, one):
                place = (pair.value_start, pair.value_end)
                judge_image(pair.value, place, file)
                judge_search_path(pair.name, pair.value, (pair.start, pair.end), file)
                literal = pair.value if "$" not in pair.value else None
                quoted = file.data[pair.value_start - 1 : pair.value_start] in (b'"', b"'")
                settings.append(Setting(pair.name, pair.start, pair.end, literal, place, "" if quoted else '"'))
        elif one.name in ("RUN", "CMD", "ENTRYPOINT"):
            start = one.body
            if file.data[start : start + 1] == b"[":
                # The list of words as JSON: without its brackets and commas a shell reads the same words.
                plain = _JSON_WORD.sub(lambda match: match.group(1) or b" ", shell[start : one.end])
                judge_script(shell[:start] + plain + shell[one.end :], start, one.end, file, options)
                judge_pip_words(shell, start, one.end, file)
                continue
            while (option := re.compile(rb"--\w[\w-]*=\S+\s+").match(shell, start, one.end)) is not None:
                start = option.end()
            judge_script(shell, start, one.end, file, options)
        if one.name in ("FROM", "ENV", "ARG", "WORKDIR", "COPY", "ADD", "LABEL"):
            for use in _EXPANDED.finditer(file.data, one.body, one.end):
                mentions.append(Mention(use.group(1).decode(), *use.span(1)))
    judge_variables(settings, mentions, file)


def _given(instructions: list[Instruction], data: bytes) -> dict[str, Given]:
    """The variables of a Dockerfile that have one value wherever they are given one.

    Those of a stage count more than those that stand before the first stage, which only its image sees.
    """
    before: dict[str, list[Pair]] = {}
    inside: dict[str, list[Pair]] = {}
    has_stage = False
    for one in instructions:
        has_stage = has_stage or one.name == "FROM"
        if one.name != "FROM":
            for pair in pairs(data, one):
                (inside if has_stage else before).setdefault(pair.name, []).append(pair)
    given = {}
    for name in {*before, *inside}:
        every = [pair for pair in (*before.get(name, ()), *inside.get(name, ())) if pair.value]
        stage = [pair for pair in inside.get(name, ()) if pair.value] or every
        if every and len({pair.value for pair in every}) == 1 and "$" not in every[0].value:
            given[name] = Given(every[0].value, tuple((pair.value_start, pair.value_end) for pair in stage))
    return given


def _filled_in(text: str, given: dict[str, Given]) -> str:
    """``text`` with the variables that are known replaced by their values."""

    def value(match: re.Match[str]) -> str:
        known = given.get(match.group(1) or match.group(2))
        return known.value if known is not None else match.group()

    return _VARIABLE.sub(value, text)


_RECIPE = re.compile(rb"^\t[ \t]*[@+-]*(?P<command>[^\r\n]*(?:\\\r?\n[^\r\n]*)*)", re.MULTILINE)
_RULE_RECIPE = re.compile(rb"^[^\s#:=][^:=\r\n]*::?[^=\r\n;]*;(?P<command>[^\r\n]*(?:\\\r?\n[^\r\n]*)*)", re.MULTILINE)
_MAKE_ASSIGNED = re.compile(
    rb"^[ ]*(?:(?:export|override)[ \t]+)*(?P<name>[A-Z][A-Z0-9_]+)[ \t]*(?::{0,3}|\?|\+)="
    rb"[ \t]*(?P<value>[^\r\n#]*?)[ \t]*(?:#[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_MAKE_EXPANDED = re.compile(rb"\$[({]([A-Z][A-Z0-9_]+)[)}]")
_MAKE_FUNCTION = re.compile(rb"\$[({][^(){}\r\n]*[)}]")


def _unknown(match: re.Match[bytes]) -> bytes:
    """Something of the same length whose value a shell cannot tell either."""
    size = len(match.group())
    return b"${" + b"x" * (size - 3) + b"}" if size > 3 else b"x" * size


def judge_makefile(file: OtherFile, options: ProgramOptions) -> None:
    """Report the variables and recipes of a Makefile."""
    data = file.data
    # What make expands itself, a shell would take for its own; a doubled dollar sign is one for the shell.
    shell = data.replace(b"$$", b" $")
    shell = _MAKE_FUNCTION.sub(_unknown, shell)
    for recipe in (*_RECIPE.finditer(data), *_RULE_RECIPE.finditer(data)):
        judge_script(shell, *recipe.span("command"), file, options)
    _judge_assigned(_MAKE_ASSIGNED, _MAKE_EXPANDED, file)


_JUST_RECIPE = re.compile(rb"^[ \t]+[@-]*(?P<command>[^\r\n]*(?:\\\r?\n[^\r\n]*)*)", re.MULTILINE)
_JUST_ASSIGNED = re.compile(
    rb"^(?:export[ \t]+)?(?P<name>[A-Z][A-Z0-9_]+)[ \t]*:=[ \t]*[\"'](?P<value>[^\"'\r\n]*)[\"'][ \t]*\r?$",
    re.MULTILINE,
)
_JUST_EXPANDED = re.compile(rb"\{\{[ \t]*([A-Z][A-Z0-9_]+)[ \t]*\}\}")


def judge_justfile(file: OtherFile, options: ProgramOptions) -> None:
    """Report the variables and recipes of a justfile."""
    shell = re.sub(rb"\{\{[^\r\n]*?\}\}", lambda match: b"x" * len(match.group()), file.data)
    for recipe in _JUST_RECIPE.finditer(file.data):
        judge_script(shell, *recipe.span("command"), file, options)
    _judge_assigned(_JUST_ASSIGNED, _JUST_EXPANDED, file)


def _judge_assigned(assigned: re.Pattern[bytes], expanded: re.Pattern[bytes], file: OtherFile) -> None:
    settings, mentions = [], []
    for match in assigned.finditer(file.data):
        value = match.group("value").decode("utf-8", "replace")
        literal = value if "$" not in value else None
        settings.append(Setting(match.group("name").decode(), *match.span("name"), literal, match.span("value")))
        judge_image(value, match.span("value"), file)
    for match in expanded.finditer(file.data):
        mentions.append(Mention(match.group(1).decode(), *match.span(1)))
    judge_variables(settings, mentions, file)
