"""One shell script, whatever file it stands in: its variables, its commands, and the options that they pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.analysis.flow.device_names import DEVICE_NAME, FOREIGN_VARIABLE
from npuify.engine.text_files.embedded_python import is_python, judge_python
from npuify.knowledge.frameworks.variables import TENSORFLOW
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.backend_words import BACKEND_WORD
from npuify.rules.environment.batch_systems import judge_batch_options, judge_comment
from npuify.rules.environment.options import (
    DEVICE,
    NCCL,
    USE_UNKNOWN,
    counterpart,
    is_backend,
    judge_pair,
    last_name,
    pairs,
    renaming,
)
from npuify.rules.environment.settings import judge_option
from npuify.rules.environment.shell_commands import judge_command, judge_search_path
from npuify.rules.environment.variables import Mention, Setting, judge_variables
from npuify.rules.packages.command_lines.conda import judge_conda_line
from npuify.rules.packages.command_lines.pip import judge_pip_lines
from npuify.rules.paddle.options import judge_paddle_launcher, judge_paddle_options, starts_paddle
from npuify.rules.stacks.options import judge_stack_options, stack_of
from npuify.rules.text_file import Given
from npuify.rules.vllm.options import judge_vllm_options, options_of_vllm
from npuify.rules.vllm.spawned import judge_spawned_programs
from npuify.source.shell import UNKNOWN, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.rules.environment.options import Pair
    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.text_file import TextFile
    from npuify.source.shell import Assignment, Heredoc, Script, Word

_FOR_BATCH = re.compile(r"(?i)sbatch|srun|slurm|salloc")
_SHELLS = frozenset(("bash", "sh", "zsh", "ksh", "dash", "ssh", "sbatch", "srun"))
_SCRIPT_NAME = re.compile(r"\.(?:sh|bash|slurm|sbatch|job)$")
_SHEBANG = re.compile(rb"\s*#!\S*/(?:env\s+)?(?:ba|z|k|da)?sh\b")
_GIVEN = re.compile(r"([A-Za-z_]\w*)=")
_ENV_OPTIONS = frozenset(("-e", "--env", "-x", "--setenv"))
_LARGEST_PART = 200_000
_DEVICE_VARIABLES = frozenset(("DS_ACCELERATOR",))
"""Variables whose value is a device, by the word that torch has for it; DeepSpeed refuses one that is not there."""


def judge_script(
    data: bytes,
    start: int,
    end: int,
    file: TextFile,
    options: ProgramOptions,
    depth: int = 0,
    started: str = "",
    *,
    of_vllm: bool = False,
) -> None:
    """Report what stands in the shell script ``data[start:end]``.

    Args:
        data: the file's text, or a copy of the same length in which what is no shell is blanked.
        start, end: where the script stands.
        file: gets the findings.
        options: that the project's programs declare.
        depth: how many scripts this one stands in.
        started: the program that gets options whose own command names none; empty where that is not known.
        of_vllm: options without a command are those of vLLM's server.
    """
    script = read(data, start, end)
    if script.is_broken:
        file.unsure(start, end)
    folder = file.relative.rpartition("/")[0]
    settings = [_setting(one, script) for one in script.assignments]
    mentions = [Mention(use.name, use.start, use.end, _literal(use.default)) for use in script.uses]
    file.given |= _given_once(script)
    lists: list[tuple[Sequence[Word], str]] = []
    programs: dict[str, None] = {}
    for command in script.commands:
        judge_command(command, file)
        _python_in(command.words, file)
        if command.name in ("echo", "printf") and not command.is_redirected:
            continue
        judge_pip_lines(data, command.start, command.end, file)
        judge_conda_line(command, data, file)
        program = options.program([word.value for word in command.words], folder)
        programs[program] = None
        lists.append((command.words, program))
        more, named = _passed(command.words)
        settings += more
        mentions += named
        for word in command.words[1:]:
            if word.is_quoted and re.search(r"\s", word.value):
                lists.append((word.split(), _program_in(word, options, folder) or program))
    for one in script.assignments:
        if one.value is not None:
            judge_search_path(one.name, one.value.value, (one.start, one.end), file)
            if _FOR_BATCH.search(one.name):
                judge_batch_options(one.value.split(), file)
            if re.search(r"\s|^--", one.value.value.strip()):
                lists.append((one.value.split(), _program_in(one.value, options, folder)))
    lists += [(words, "") for words in script.arrays]
    only = (next(iter(programs)) if len(programs) == 1 else next((one for one in programs if one), "")) or started
    settings += _judge_lists(lists, only, script, data, file, options, of_vllm=of_vllm)
    if not file.framework and programs and all(options.framework(one) == TENSORFLOW for one in programs if one):
        file.framework = TENSORFLOW if any(programs) else ""
    judge_variables(settings, mentions, file)
    judge_spawned_programs([(one.name, one.value, (one.start, one.end)) for one in settings], programs, file)
    _judge_values(script, [pair for words, _ in lists for pair in pairs(words)], file)
    for first, last in script.comments:
        judge_comment(first, last, file)
    for document in script.heredocs:
        _judge_document(document, data, file, options, depth)


def _judge_lists(
    lists: list[tuple[Sequence[Word], str]],
    only: str,
    script: Script,
    data: bytes,
    file: TextFile,
    options: ProgramOptions,
    *,
    of_vllm: bool,
) -> list[Setting]:
    """Report options in lists of words, each with the program that gets them; gives the variables that they set.

    Args:
        only: the program for options of lists that name none.
    """
    starts_vllm = of_vllm or any(options_of_vllm(words, file.given) for words, _ in lists)
    stack_here = next((found for words, _ in lists if (found := stack_of(words, file)[0])), "")
    settings: list[Setting] = []
    for words, program in lists:
        settings += _inner_settings(words)
        taken = options_of_vllm(words, file.given)
        if not taken and starts_vllm and not program and words[:1] and words[0].value.startswith("-"):
            taken = words  # options that a variable holds, or that an image's entry point gets
        if taken:
            judge_vllm_options(taken, data, file)
            continue
        judge_paddle_launcher(words, file)
        if starts_paddle(words) or (program and options.framework(program) == "PaddlePaddle"):
            judge_paddle_options(words, program, file)
            continue
        is_command = any(words is command.words for command in script.commands)
        stack, given = stack_of(words, file)
        if not stack and not program and words[:1] and words[0].value.startswith("-"):
            stack, given = stack_here, words
        judged = judge_stack_options(stack, given, file)
        for pair in pairs(words):
            if pair.value.end in judged:
                continue
            # A setting without dashes may be meant for any command, such as dd.
            known = program if is_command and not pair.option.startswith("-") else program or only
            judge_pair(pair, known, options, file)
            judge_option(pair, file)
    return settings


def _judge_document(document: Heredoc, data: bytes, file: TextFile, options: ProgramOptions, depth: int) -> None:
    """Report what stands in a here-document: a program in Python, or a script."""
    if is_python(document.command[:1]) or document.target.endswith(".py"):
        text = file.source(document.start, document.end)
        if document.is_literal or not re.search(r"[$`\\]", text):
            judge_python(text, document.start, file)
        return
    # Without a command it is RUN of a Dockerfile that runs the document.
    is_script = not document.command or document.command[0].rpartition("/")[2] in _SHELLS
    is_script = is_script or _SHEBANG.match(data, document.start, document.end) is not None
    if depth < 2 and (is_script or _SCRIPT_NAME.search(document.target)):
        end = min(document.end, document.start + _LARGEST_PART)
        judge_script(data, document.start, end, file, options, depth + 1)


def _given_once(script: Script) -> dict[str, Given]:
    """The variables that the script sets once, to what it writes out, and that nothing else gives a value."""
    names = [one.name for one in script.assignments] + [name for name, _ in script.loops]
    given = {}
    for one in script.assignments:
        span = one.value.span(0, len(one.value.value)) if one.value is not None else None
        if one.value is not None and span is not None and one.value.is_literal and names.count(one.name) == 1:
            given[one.name] = Given(one.value.value, (span,))
    return given


def _literal(word: Word | None) -> str | None:
    return word.value if word is not None and word.is_literal else None


def _python_in(words: Sequence[Word], file: TextFile) -> None:
    """``python -c 'program'``."""
    for before, word in zip(words, words[1:], strict=False):
        if before.value == "-c" and word.is_literal and any(is_python((one.value,)) for one in words):
            span = word.span(0, len(word.value))
            # Escapes would move what stands behind them.
            if span is not None and file.source(*span) == word.value:
                judge_python(word.value, span[0], file, quote=file.source(span[0] - 1, span[0]))


def _setting(one: Assignment, script: Script) -> Setting:
    word = one.value
    if word is None:
        return Setting(one.name, one.start, one.end, "" if one.is_empty else None, None)
    span = word.span(0, len(word.value)) if word.value else None
    quoted = word.is_quoted
    literal = _literal(word)
    default = None
    if word.value == UNKNOWN:
        # NAME=${OTHER:-word}
        inside = [use.default for use in script.uses if use.default and word.start <= use.start < word.end]
        default = _literal(inside[0]) if len(inside) == 1 else None
    if quoted and span is not None:
        return Setting(one.name, one.start, one.end, literal, span, "", default)
    return Setting(one.name, one.start, one.end, literal, (word.start, word.end), "" if quoted else '"', default)


def _passed(words: Sequence[Word]) -> tuple[list[Setting], list[Mention]]:
    """Variables that a command hands on: ``docker run -e NAME=value``, ``mpirun -x NAME``, ``env NAME=value``."""
    settings, mentions = [], []
    before = ""
    for word in words[1:]:
        value = word.value
        joined = re.match(r"--env=|-e(?=[A-Z_]+=)|--export=(?:\w+,)*", value)
        first = joined.end() if joined else 0
        if joined or before in _ENV_OPTIONS or words[0].value.rpartition("/")[2] == "env":
            found = _given(word, first)
            if found is not None:
                settings.append(found)
            elif re.fullmatch(r"[A-Z][A-Z0-9_]+", value[first:]):
                span = word.span(first, len(value))
                mentions += [Mention(value[first:], *span)] if span is not None else []
        before = value
    return settings, mentions


def _inner_settings(words: Sequence[Word]) -> Iterator[Setting]:
    """``NAME=value`` before a command that stands in a string."""
    for word in words:
        if word.is_quoted and not re.search(r"\s", word.value):
            found = _given(word, 0)
            if found is not None and found.name.isupper():
                yield found


def _given(word: Word, first: int) -> Setting | None:
    match = _GIVEN.match(word.value, first)
    if match is None:
        return None
    name = word.span(*match.span(1))
    if name is None:
        return None
    text = word.value[match.end() :]
    write = word.span(match.end(), len(word.value)) if text else None
    return Setting(match.group(1), *name, text if UNKNOWN not in text else None, write)


def _program_in(word: Word, options: ProgramOptions, folder: str) -> str:
    return options.program([part.value for part in word.split()], folder) if ".py" in word.value else ""


def _judge_values(script: Script, listed: list[Pair], file: TextFile) -> None:
    """Variables of the script that hold the name of a device or backend: what sets them, and what they are compared
    with."""
    roles: dict[str, str] = {}
    for option, value in listed:
        name = last_name(option)
        role = "backend" if BACKEND_WORD.search(name) else "device" if DEVICE_NAME.search(name) else ""
        if role and len(value.variables) == 1 and value.value == UNKNOWN:
            roles[value.variables[0]] = role
    places: list[tuple[str, Word]] = []
    for one in script.assignments:
        if one.value is not None:
            places.append((one.name, one.value))
    places += script.loops
    defaults = [(use, use.default) for use in script.uses if use.default is not None]
    places += [(use.name, default) for use, default in defaults]
    # X=${1:-cuda} gives X its value as well.
    for one in script.assignments:
        if one.value is not None and one.value.value == UNKNOWN:
            inside = [default for use, default in defaults if one.value.start <= use.start < one.value.end]
            places += [(one.name, default) for default in inside]
    for comparison in script.comparisons:
        for value, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
            if len(other.variables) == 1 and other.value == UNKNOWN:
                places.append((other.variables[0], value))
    sure: dict[tuple[int, int], tuple[str, Word, bool]] = {}
    for name, word in places:
        if not counterpart(word.value) or name.startswith(("HOROVOD_", "PADDLE_")) or FOREIGN_VARIABLE.fullmatch(name):
            # How Horovod is built, which has no form for HCCL; and Paddle has a word of its own.
            continue
        backend = is_backend(word.value)
        wanted = "backend" if backend else "device"
        by_name = BACKEND_WORD.search(name) if backend else DEVICE_NAME.search(name)
        proven = roles.get(name) == wanted or (backend and by_name is not None) or name in _DEVICE_VARIABLES
        if not proven and by_name is None and not backend:
            continue
        known = sure.get((word.start, word.end))
        sure[word.start, word.end] = (name, word, proven or (known is not None and known[2]))
    for name, word, proven in sure.values():
        backend = is_backend(word.value)
        file.report(
            NCCL if backend else DEVICE,
            (word.start, word.end),
            phrase("{name} names NCCL; on the NPU it is HCCL", name=name)
            if backend
            else phrase("{name} names the CUDA device {value}", name=name, value=word.value),
            edits=[renaming(word)],
            safety=Safety.SAFE if proven else Safety.REVIEW,
            severity=Severity.ERROR if proven else Severity.WARNING,
            subject="nccl" if backend else "cuda",
            advice="" if proven else USE_UNKNOWN,
        )
