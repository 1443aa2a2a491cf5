"""Command lines of vLLM in Python: what programs hand to a shell or to ``subprocess``, or give vLLM's own parser."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm import engine_arguments
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.common.edits.taking_out import taken_out
from npuify.rules.registry import rule
from npuify.rules.vllm.options import option_at, options_of_vllm, without
from npuify.source.shell import UNKNOWN, Word, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.knowledge.frameworks.vllm import EngineArgument
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_OPTIONS = tuple(f"--{name.replace('_', '-')}" for name in sorted(engine_arguments()))
_COMMAND = re.compile(r"(?:^|[\s/'\"])(?:vllm\s+(?:serve|bench|run-batch)\s|-m\s+vllm\.entrypoints)")
_QUOTES = re.compile(r"[A-Za-z]*(?P<quote>\"\"\"|'''|\"|')")
_OWN_PARSER = re.compile(rb"add_cli_args|make_arg_parser|FlexibleArgumentParser")


@rule(
    "NPU937",
    "vllm-command",
    Safety.SAFE,
    words=("vllm serve", "vllm bench", "vllm run-batch", "-m vllm", *_OPTIONS),
    also_in_file=("vllm",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of vLLM's arguments; npuify says the source with each finding",
)
def vllm_command(node: ast.Constant | ast.JoinedStr, file: PythonFile) -> Iterator[Diagnostic]:
    """A program starts vLLM with an option that its plug-in for NPUs refuses or resets, or that vLLM does not have.

    Before::

        command = ["vllm", "serve", "facebook/opt-125m", "--device", "cuda", "--port", "8000"]

    After::

        command = ["vllm", "serve", "facebook/opt-125m", "--port", "8000"]
    """
    if "vllm" in file.project.packages:
        return  # vLLM itself
    parent = file.parent(node)
    if isinstance(parent, ast.JoinedStr):
        return
    text = file.code(node)
    if _COMMAND.search(text) is not None:
        yield from _in_text(node, text, file)
    elif (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("--")
        and isinstance(parent, (ast.List, ast.Tuple))
        and node in parent.elts
    ):
        yield from _in_list(node, parent, file)


def _in_text(node: ast.Constant | ast.JoinedStr, text: str, file: PythonFile) -> Iterator[Diagnostic]:
    """A command as a text, which may be put together of parts."""
    quotes = _QUOTES.match(text)
    if quotes is None or not text.endswith(quotes["quote"]):
        return
    is_plain = isinstance(node, ast.JoinedStr) or text[quotes.end() : -len(quotes["quote"])] == node.value
    start = file.source.start(node)
    first, last = start + len(text[: quotes.end()].encode()), file.source.end(node) - len(quotes["quote"])
    data = file.source.data
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                data = _blanked(data, first, last, part, file)
    for command in read(data, first, last).commands:
        words = options_of_vllm(command.words)
        for at, word in enumerate(words):
            name, value, end = option_at(words, at)
            row = file.run.vllm.argument(name, value) if name else None
            if row is None:
                continue
            edits: list[Edit | None] = []
            if row.action == "remove":
                place = without(data, word, end)
                edits = [file.edit(*place) if place is not None and is_plain else None]
            elif row.action == "set" and value is not None:
                span = end.span(len(end.value) - len(value), len(end.value))
                edits = [file.edit(*span, row.becomes) if span is not None and is_plain else None]
            yield _report(node, word.value, name, row, edits, file)


def _blanked(data: bytes, first: int, last: int, part: ast.FormattedValue, file: PythonFile) -> bytes:
    """The text with a part that only the running program knows as an expansion of the shell's, of the same length."""
    # Before Python 3.12 places within texts are not told; there the braces are looked for.
    for found in re.finditer(rb"\{[^{}]*\}", data[first:last]):
        size = found.end() - found.start()
        data = data[: first + found.start()] + b"$" + b"x" * (size - 1) + data[first + found.end() :]
    return data


def _in_list(node: ast.Constant, row_of: ast.List | ast.Tuple, file: PythonFile) -> Iterator[Diagnostic]:
    """One option among the words of a command."""
    words = [_word(one, file) for one in row_of.elts]
    at = row_of.elts.index(node)
    own = options_of_vllm(words)
    if own:
        if len(words) - at > len(own):
            return
    elif not _is_given_to_vllm(row_of, file):
        return
    name, value, end = option_at(words, at)
    row = file.run.vllm.argument(name, value) if name else None
    if row is None or name == "model":
        return
    last = next(index for index, word in enumerate(words) if word is end)
    edits: list[Edit | None] = []
    if row.action == "remove":
        edits = _without(row_of.elts, at, last, file)
    elif row.action == "set" and value is not None:
        edits = [file.replace(row_of.elts[last], f'"{row.becomes}"') if last > at else None]
    yield _report(node, words[at].value, name, row, edits, file)


def _without(words: Sequence[ast.expr], first: int, last: int, file: PythonFile) -> list[Edit | None]:
    """Takes members out of a list; a comment between them stays."""
    start, end = file.source.start(words[first]), file.source.end(words[last])
    before = file.source.end(words[first - 1]) if first else None
    if b"#" not in file.source.data[file.source.end(words[first]) : file.source.start(words[last])]:
        return [taken_out(start, end, before, file)]
    comma = re.compile(rb"\s*,[ \t]*").match(file.source.data, file.source.end(words[first]))
    if comma is None:
        return [None]
    rest = taken_out(file.source.start(words[last]), end, None, file)
    return [file.edit(start, comma.end(), ""), rest]


def _word(node: ast.expr, file: PythonFile) -> Word:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else UNKNOWN
    return Word(text, (), (), file.source.start(node), file.source.end(node))


def _is_given_to_vllm(words: ast.List | ast.Tuple, file: PythonFile) -> bool:
    """Whether a list without the command itself is added to one that starts vLLM, or is given to vLLM's parser."""
    parent = file.parent(words)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr in ("parse_args", "parse_known_args"):
            return _OWN_PARSER.search(file.source.data) is not None
        target: ast.expr = parent.func.value
        if parent.func.attr != "extend":
            return False
    elif isinstance(parent, ast.AugAssign):
        target = parent.target
    elif isinstance(parent, ast.BinOp):
        target = parent.left
        if isinstance(target, (ast.List, ast.Tuple)):
            return bool(options_of_vllm([_word(one, file) for one in target.elts]))
    else:
        return False
    if not isinstance(target, ast.Name):
        return False
    return any(
        isinstance(value, (ast.List, ast.Tuple)) and options_of_vllm([_word(one, file) for one in value.elts])
        for value in file.assigned(target)
    )


def _report(
    node: ast.AST, shown: str, name: str, row: EngineArgument, edits: Sequence[Edit | None], file: PythonFile
) -> Diagnostic:
    made = [edit for edit in edits if edit is not None]
    return file.report(
        node,
        phrase("{name}: {message}", name=shown.partition("=")[0].replace(UNKNOWN, "…"), message=row.message),
        edits=made if len(made) == len(edits) else (),
        safety=row.safety,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"vllm: {name}",
        advice=row.advice or ("remove it" if row.action == "remove" and not made else ""),
    )
