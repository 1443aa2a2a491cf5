"""Options of the stacks around PyTorch, wherever a shell or a container starts them, and their settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.stacks import (
    may_start_a_stack,
    stack_additions,
    stack_argument,
    stack_arguments,
    stack_of_settings,
    stack_programs,
    stacks,
)
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.knowledge.frameworks.stacks import StackArgument
    from npuify.model import Finding
    from npuify.rules.registry import Rule
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document
    from npuify.source.shell import Word

_TABLE = "the table of stacks; npuify says the source with each finding"
_OPTION = re.compile(r"(?:--|-(?=ngl$)|\+{0,2}(?=[a-z_][\w.]*=))([A-Za-z][\w.-]*)")


@listed("NPU971", "stack-option", Safety.SAFE, evidence=Evidence.PACKAGE, source=_TABLE)
def OPTION(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """SGLang, Megatron, verl, ms-swift, LLaMA-Factory or Ultralytics is started with an option that an NPU changes.

    Before::

        python -m sglang.launch_server --model-path facebook/opt-125m --device cuda --attention-backend fa3 --tp 2

    After::

        python -m sglang.launch_server --model-path facebook/opt-125m --device npu --attention-backend ascend --tp 2
    """
    raise NotImplementedError


@listed("NPU973", "stack-setting", Safety.MANUAL, example_file="train.yaml", evidence=Evidence.PACKAGE, source=_TABLE)
def SETTING(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A stack's file of settings asks for what an NPU does not have."""
    raise NotImplementedError


def stack_of(words: Sequence[Word], file: TextFile) -> tuple[str, Sequence[Word]]:
    """The stack that a command starts, and the words that it reads as its options.

    They are empty for any other command, and in the stack's own repository, whose programs are what is migrated.
    """
    plain = [word.value for word in words]
    for program in stack_programs() if may_start_a_stack(plain) else ():
        at = program.starts(plain)
        if at >= 0 and file.run.project.packages.isdisjoint(stacks()[program.stack.lower()].names):
            return program.stack, words[at:]
    return "", ()


def judge_stack_options(stack: str, words: Sequence[Word], file: TextFile) -> set[int]:
    """Report the options that an NPU changes.

    Args:
        stack: as in the table.
        words: what it reads, without the command itself.
        file: gets the findings.

    Returns:
        Where the words end that were judged: what other rules make of them does not hold here.
    """
    judged: set[int] = set()
    for at, word in enumerate(words if stack else ()):
        name, value, last = _option(words, at, stack)
        row = stack_argument(stack, "option", name, value) if name else None
        if row is None:
            continue
        judged.add(last.end)
        edits: list[Replacement | None] = []
        if row.action == "set" and value is not None:
            span = last.span(len(last.value) - len(value), len(last.value))
            edits = [(*span, row.becomes.format(value=value)) if span is not None else None]
        shown = word.value.partition("=")[0].replace(UNKNOWN, "…")
        _report(OPTION, (word.start, last.end), (shown, name), row, edits, file)
    if stack and words:
        for row in stack_additions(stack, "option"):
            _add(row, words, file)
    return judged


def _add(row: StackArgument, words: Sequence[Word], file: TextFile) -> None:
    """Report an option that a command lacks, and write it behind what the command says."""
    name = row.names[0]
    if row.only_in and not any(word.value in row.only_in for word in words):
        return
    if any(_names(word.value, name) or word.value.startswith("cfg=") for word in words):
        return
    if "." in name and name.encode() in file.data:
        return  # a variable that the command expands may hold it
    # What "$@" brings comes last, so that it counts; another variable may hold anything.
    said = [word for word in words if set(word.variables) - {"@", "*"} == set() and word.value != UNKNOWN]
    told = [word for word in words if word.value == UNKNOWN and not set(word.variables) <= {"@", "*"}]
    behind = said[-1] if said and not told else None
    edits: list[Replacement | None] = [(behind.end, behind.end, f" {name}={row.becomes}")] if behind else []
    place = (words[-1].end - 1, words[-1].end)  # of the words themselves other rows tell
    _report(OPTION, place, (name, name), row, edits, file)


def _names(word: str, name: str) -> bool:
    return re.match(rf"(?:--|\+{{0,2}}){re.escape(name)}(?:=|$)", word) is not None


def judge_stack_settings(document: Document, file: TextFile) -> None:
    """Report the settings of a stack's own file, which its keys tell."""
    stack = stack_of_settings([value.path[0] for value in document.values if value.path])
    for value in document.values if stack else ():
        if len(value.path) == 1:
            row = stack_argument(stack, "setting", value.path[0], value.text)
            if row is not None:
                _report(
                    SETTING, (value.start, value.end), (f"{value.path[0]}: {value.text}", value.path[0]), row, [], file
                )


def _report(
    rule: Rule,
    place: tuple[int, int],
    names: tuple[str, str],
    row: StackArgument,
    edits: list[Replacement | None],
    file: TextFile,
) -> None:
    shown, name = names
    becomes = row.becomes.format(value="…")
    file.report(
        rule,
        place,
        phrase("{stack} {option}: {message}", stack=row.stack, option=shown, message=row.message),
        edits=edits,
        safety=row.safety,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"{row.stack}: {name}",
        advice=row.advice or (phrase("write {value}", value=becomes) if None in edits else ""),
    )


def _option(words: Sequence[Word], at: int, stack: str) -> tuple[str, str | None, Word]:
    """The name of an option as the table has it, its value where it can be read, and the word that ends it."""
    word = words[at]
    match = _OPTION.match(word.value)
    if match is None:
        return "", None, word
    rows = stack_arguments(stack, "option")
    full = match.group(1).replace("-", "_")
    name = next((one for one in (full, ".".join(full.split(".")[-2:])) if one in rows), "")
    rest = word.value[match.end() :]
    if not name:
        return "", None, word
    if rest[:1] == "=":
        return name, _known(rest[1:]), word
    if rest:
        return "", None, word
    if rows[name][0].flag or at + 1 == len(words) or words[at + 1].value.startswith("--"):
        return name, None, word
    return name, _known(words[at + 1].value), words[at + 1]


def _known(value: str) -> str | None:
    return value if UNKNOWN not in value else None
