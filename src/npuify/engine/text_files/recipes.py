"""Dockerfiles, Makefiles and justfiles: each has parts of its own, and parts that a shell runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.text_files.embedded_python import is_python, judge_python
from npuify.engine.text_files.script import judge_script
from npuify.engine.text_files.vllm_recipes import judge_vllm_base
from npuify.rules.environment.containers import judge_image
from npuify.rules.environment.options import counterpart, judge_name, last_name
from npuify.rules.environment.serving_images import is_vllm_image
from npuify.rules.environment.shell_commands import judge_search_path
from npuify.rules.environment.variables import Mention, Setting, judge_variables
from npuify.rules.packages.command_lines.pip import judge_pip_words
from npuify.rules.text_file import Given
from npuify.source.docker import as_shell, pairs, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.text_file import TextFile
    from npuify.source.docker import Instruction, Pair

_EXPANDED = re.compile(rb"\$\{?([A-Za-z_]\w*)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-[^{}]*)?\}|(\w+))")
_CHECKED = re.compile(rb"(?:--[\w-]+=\S+\s+)*CMD\s+", re.IGNORECASE)
_IMAGE = re.compile(rb"(?:--\S+\s+)*(\S+)")


def judge_dockerfile(file: TextFile, options: ProgramOptions) -> None:
    """Report the base images, variables and commands of a Dockerfile."""
    instructions, shell = read(file.data)
    settings: list[Setting] = []
    mentions: list[Mention] = []
    file.given = _given([one for one in instructions if one.name in ("FROM", "ENV", "ARG")], shell)
    bases = {file.source(*match.span(1)).strip("${}") for match in _bases(instructions, file.data)}
    serves = False
    for one in instructions:
        if one.name == "FROM":
            match = _IMAGE.match(file.data, one.body, one.end)
            if match is not None:
                image = _filled_in(match.group(1).decode("utf-8", "replace"), file.given)
                serves = is_vllm_image(image)
                if serves:
                    judge_vllm_base(image, match.span(1), instructions, shell, file)
                else:
                    judge_image(image, match.span(1), file)
        elif one.name in ("ENV", "ARG"):
            for pair in pairs(shell, one):
                place = (pair.value_start, pair.value_end)
                if pair.name not in bases or not is_vllm_image(pair.value):
                    judge_image(pair.value, place, file)
                judge_search_path(pair.name, pair.value, (pair.start, pair.end), file)
                literal = pair.value if "$" not in pair.value else None
                quoted = file.data[pair.value_start - 1 : pair.value_start] in (b'"', b"'")
                settings.append(Setting(pair.name, pair.start, pair.end, literal, place, "" if quoted else '"'))
        elif one.name in ("RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"):
            start = one.body
            if one.name == "HEALTHCHECK":
                check = _CHECKED.match(shell, start, one.end)
                if check is None:
                    continue
                start = check.end()
            if file.data[start : start + 1] == b"[":
                # The list of words as JSON: without its brackets and commas a shell reads the same words.
                of_vllm = serves and one.name != "RUN"
                judge_script(as_shell(shell, start, one.end), start, one.end, file, options, of_vllm=of_vllm)
                judge_pip_words(shell, start, one.end, file)
                continue
            while (option := re.compile(rb"--\w[\w-]*=\S+\s+").match(shell, start, one.end)) is not None:
                start = option.end()
            judge_script(shell, start, one.end, file, options)
        if one.name in ("FROM", "ENV", "ARG", "WORKDIR", "COPY", "ADD", "LABEL"):
            for use in _EXPANDED.finditer(file.data, one.body, one.end):
                mentions.append(Mention(use.group(1).decode(), *use.span(1)))
    judge_variables(settings, mentions, file)


def _bases(instructions: list[Instruction], data: bytes) -> Iterator[re.Match[bytes]]:
    """Where the instructions name the images that they begin with."""
    for one in instructions:
        match = _IMAGE.match(data, one.body, one.end) if one.name == "FROM" else None
        if match is not None:
            yield match


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
    rb"^[ ]*(?:(?:export|override)[ \t]+)*(?P<name>[A-Za-z_][\w-]*)[ \t]*(?::{0,3}|\?|\+)="
    rb"[ \t]*(?P<value>[^\r\n#]*?)[ \t]*(?:#[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_MAKE_COMPARED = re.compile(
    rb"^[ \t]*(?:else[ \t]+)?ifn?eq[ \t]*(?:\([ \t]*\$[({](?P<name>[\w-]+)[)}][ \t]*,[ \t]*(?P<value>[^\s,()]+)[ \t]*\)"
    rb"|[\"']\$[({](?P<quoted>[\w-]+)[)}][\"'][ \t]+[\"'](?P<text>[^\"'\r\n]*)[\"'])",
    re.MULTILINE,
)
_MAKE_EXPANDED = re.compile(rb"\$[({]([A-Z][A-Z0-9_]+)[)}]")
_MAKE_FUNCTION = re.compile(rb"\$[({][^(){}\r\n]*[)}]")
_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9_]+")
_ARGUMENTS = re.compile(r"(?:^|\s)--?[A-Za-z]")


def _unknown(match: re.Match[bytes]) -> bytes:
    """Something of the same length whose value a shell cannot tell either."""
    size = len(match.group())
    return b"${" + b"x" * (size - 3) + b"}" if size > 3 else b"x" * size


def judge_makefile(file: TextFile, options: ProgramOptions) -> None:
    """Report the variables and recipes of a Makefile."""
    data = file.data
    # What make expands itself, a shell would take for its own; a doubled dollar sign is one for the shell.
    shell = data.replace(b"$$", b" $")
    shell = _MAKE_FUNCTION.sub(_unknown, shell)
    recipes = [match.span("command") for match in (*_RECIPE.finditer(data), *_RULE_RECIPE.finditer(data))]
    for first, last in recipes:
        judge_script(shell, first, last, file, options)
    assigned = [_Assigned.of(match) for match in _MAKE_ASSIGNED.finditer(data)]
    compared = [
        _Assigned.of(match) if match.group("name") else _Assigned.of(match, "quoted", "text")
        for match in _MAKE_COMPARED.finditer(data)
    ]
    _judge_assigned([*assigned, *compared], shell, recipes, rb"\$[({]%s[)}]", file, options)
    _judge_environment(assigned, _MAKE_EXPANDED, file)


_JUST_LINE = re.compile(rb"^[ \t]+[@-]*(?P<command>[^\r\n]*(?:\\\r?\n[^\r\n]*)*)", re.MULTILINE)
_JUST_BODY = re.compile(rb"(?:^[ \t]+[^\r\n]*(?:\r?\n|\Z)|^\r?\n(?=[ \t]))+", re.MULTILINE)
_JUST_SHEBANG = re.compile(rb"[ \t]+#![^\r\n]*?([\w.+-]+)[ \t]*\r?\n")
_JUST_ASSIGNED = re.compile(
    rb"^(?:export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:=[ \t]*(?:env(?:_var_or_default)?\([^\r\n,]*,[ \t]*)?"
    rb"[\"'](?P<value>[^\"'\r\n]*)[\"']\)?[ \t]*(?:#[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_JUST_HEAD = re.compile(rb"^@?[A-Za-z_][\w-]*[ \t][^\r\n]*?:(?!=)", re.MULTILINE)
_JUST_PARAMETER = re.compile(rb"[ \t][+*$]*(?P<name>[A-Za-z_][\w-]*)=[\"'](?P<value>[^\"'\r\n]*)[\"']")
_JUST_COMPARED = re.compile(rb"\b(?P<name>[A-Za-z_][\w-]*)[ \t]*[=!]=[ \t]*[\"'](?P<value>[^\"'\r\n]*)[\"']")
_JUST_EXPANDED = re.compile(rb"\{\{[ \t]*([A-Z][A-Z0-9_]+)[ \t]*\}\}")
_JUST_SHELLS = frozenset((b"sh", b"bash", b"zsh", b"dash", b"ksh"))


def judge_justfile(file: TextFile, options: ProgramOptions) -> None:
    """Report the variables, parameters and recipes of a justfile."""
    data = file.data
    shell = re.sub(rb"\{\{[^\r\n]*?\}\}", _unknown, data)
    recipes = []
    for body in _JUST_BODY.finditer(data):
        head = _JUST_SHEBANG.match(data, body.start())
        if head is None:
            lines = [match.span("command") for match in _JUST_LINE.finditer(data, *body.span())]
        elif head.group(1) in _JUST_SHELLS:
            lines = [(head.end(), body.end())]
        else:
            if is_python((head.group(1).decode("ascii", "replace"),)):
                _judge_python_recipe(shell, body.start(), head, body.end(), file)
            continue
        recipes += lines
        for first, last in lines:
            judge_script(shell, first, last, file, options)
    assigned = [_Assigned.of(match) for match in _JUST_ASSIGNED.finditer(data)]
    _judge_environment(assigned, _JUST_EXPANDED, file)
    for head in _JUST_HEAD.finditer(data):
        # A colon inside quotes ends no list of parameters.
        end = data.find(b"\n", head.start())
        end = end if end >= 0 else len(data)
        assigned += [_Assigned.of(match) for match in _JUST_PARAMETER.finditer(data, head.start(), end)]
    assigned += [_Assigned.of(match) for match in _JUST_COMPARED.finditer(data)]
    _judge_assigned(assigned, shell, recipes, rb"\{\{[ \t]*%s[ \t]*\}\}", file, options)


def _judge_python_recipe(shell: bytes, start: int, head: re.Match[bytes], end: int, file: TextFile) -> None:
    """A recipe that Python runs: its lines are indented, so the one with its shebang stands as their head."""
    size = head.end() - start - 1
    if b"{{" in file.data[start:end] or size < 6:
        # What just puts in is no Python.
        return
    line = b"if 1:".ljust(size, b"#") + b"\n"
    judge_python((line + shell[start + len(line) : end]).decode("utf-8", "surrogatepass"), start, file)


class _Assigned(NamedTuple):
    """A variable or parameter that is given a value, or compared with one, with where both stand."""

    name: str
    name_span: tuple[int, int]
    value: str
    span: tuple[int, int]

    @classmethod
    def of(cls, match: re.Match[bytes], name: str = "name", value: str = "value") -> _Assigned:
        texts = [match.group(key).decode("utf-8", "replace") for key in (name, value)]
        return cls(texts[0], match.span(name), texts[1], match.span(value))


def _judge_environment(assigned: list[_Assigned], expanded: re.Pattern[bytes], file: TextFile) -> None:
    settings, mentions = [], []
    for one in assigned:
        if _ENVIRONMENT_NAME.fullmatch(one.name):
            literal = one.value if "$" not in one.value else None
            settings.append(Setting(one.name, *one.name_span, literal, one.span))
        judge_image(one.value, one.span, file)
    for match in expanded.finditer(file.data):
        mentions.append(Mention(match.group(1).decode(), *match.span(1)))
    judge_variables(settings, mentions, file)


def _judge_assigned(
    assigned: list[_Assigned],
    shell: bytes,
    recipes: list[tuple[int, int]],
    expansion: bytes,
    file: TextFile,
    options: ProgramOptions,
) -> None:
    """Variables that hold a device, a backend or options for programs.

    Args:
        assigned: the variables.
        shell: the file as a shell is shown it.
        recipes: where commands stand.
        expansion: how a variable is put into them, with ``%s`` for its name.
        file, options: as elsewhere.
    """
    folder = file.relative.rpartition("/")[0]
    started = {options.program(file.source(*recipe).split(), folder) for recipe in recipes} - {""}
    program = started.pop() if len(started) == 1 else ""
    for one in assigned:
        if counterpart(one.value):
            used = re.compile(
                rb"([\w./@-]+)(?:=|[ \t]+)[\"']?" + expansion.replace(b"%s", re.escape(one.name.encode()))
            )
            found = {
                last_name(match.group(1).decode("ascii", "replace"))
                for recipe in recipes
                for match in used.finditer(file.data, *recipe)
            }
            judge_name(one.name, one.span, one.value, found, file)
        elif _ARGUMENTS.search(one.value):
            judge_script(shell, *one.span, file, options, started=program)
