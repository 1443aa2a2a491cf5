"""Options of vLLM's server and tools, wherever a shell or a container starts them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm import engine_arguments
from npuify.language import phrase, semicolons
from npuify.model import Evidence, Safety, Severity
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from npuify.knowledge.frameworks.vllm import EngineArgument
    from npuify.model import Finding
    from npuify.rules.text_file import Given, Replacement, TextFile
    from npuify.source.shell import Word

_COMMANDS = frozenset(("serve", "bench", "chat", "complete", "run-batch"))
_SERVING_IMAGE = re.compile(r"(?:[\w.:-]+/)*vllm-openai(?:[:@].*)?$")
_OPTION = re.compile(r"--([A-Za-z][\w-]*)")
_GAP = re.compile(rb"(?:[ \t]|\\\r?\n)+\Z")
_ITEMS = re.compile(rb"(?:[ \t]*-[ \t]+[\"']?[^\s\"'#,\[\]]+[\"']?[ \t]*(?:\r?\n|\Z))+")
_SHORT = {
    "-q": "quantization",
    "-ac": "attention_config",
    "-cc": "compilation_config",
    "-O": "compilation_config",
    "-sc": "speculative_config",
    "-pcp": "prefill_context_parallel_size",
}
_SHORT_OPTION = re.compile(r"-[A-Za-z]+")
_PART = re.compile(r"\.(?P<key>[\w.-]+?)(?:=(?P<value>.*))?", re.DOTALL)
"""What follows an option of which one part is given: ``--attention-config.backend=FLASHINFER``."""


@listed(
    "NPU931",
    "vllm-option",
    Safety.SAFE,
    evidence=Evidence.PACKAGE,
    source="the table of vLLM's arguments; npuify says the source with each finding",
)
def OPTION(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """vLLM is started with an option that its plug-in for NPUs refuses or resets, or that vLLM does not have.

    ``--device`` is removed, never renamed: vLLM finds the NPU by itself.

    Before::

        vllm serve facebook/opt-125m --device cuda --port 8000 --gpu-memory-utilization 0.9

    After::

        vllm serve facebook/opt-125m --port 8000 --gpu-memory-utilization 0.9
    """
    raise NotImplementedError


def options_of_vllm(words: Sequence[Word], given: Mapping[str, Given] | None = None) -> Sequence[Word]:
    """The words of a command that vLLM reads as its options; empty where it does not start vLLM.

    Args:
        words: the command.
        given: variables of the file that have one value; one may hold the image of the container.
    """
    for at, word in enumerate(words):
        before = words[at - 1].value if at else ""
        is_program = before.rpartition("/")[2] == "vllm" and word.value in _COMMANDS
        is_module = before == "-m" and re.match(r"vllm(?:\.|$)", word.value) is not None
        if (
            is_program
            or is_module
            or (at and not before.startswith("-") and _SERVING_IMAGE.match(filled_in(word, given or {})))
        ):
            return words[at + 1 :]
    return ()


def filled_in(word: Word, given: Mapping[str, Given]) -> str:
    """The value of a word, also where it is nothing but a variable of the file that has one value."""
    known = given.get(word.variables[0]) if word.value == UNKNOWN and len(word.variables) == 1 else None
    return known.value if known is not None else word.value


def is_serving_image(image: str) -> bool:
    """Whether an image starts vLLM's server with the arguments that it is given."""
    return _SERVING_IMAGE.match(image) is not None


def judge_vllm_options(words: Sequence[Word], data: bytes, file: TextFile, *, are_items: bool = False) -> None:
    """Report the options that an NPU changes.

    Args:
        words: what vLLM reads, without the command itself.
        data: the text in which they stand.
        file: gets the findings.
        are_items: the words are members of a list in YAML or JSON, not a line that a shell reads.
    """
    for at, word in enumerate(words):
        name, value, last = option_at(words, at)
        rows = file.run.vllm.arguments(name, value) if name else ()
        if rows:
            _judge_option(name, value, (word, last), rows, (_without_items if are_items else without, data), file)


def _judge_option(
    name: str,
    value: str | None,
    place: tuple[Word, Word],
    rows: Sequence[EngineArgument],
    without_in: tuple[Callable[[bytes, Word, Word], Replacement | None], bytes],
    file: TextFile,
) -> None:
    """Report one option, with all that is known of it: several things of one table are told together."""
    (word, last), (take_out, data), row = place, without_in, rows[0]
    edits: list[Replacement | None] = []
    if row.action == "remove":
        edits = [take_out(data, word, last)]
    elif row.action == "set" and value is not None:
        span = last.span(len(last.value) - len(value), len(last.value))
        edits = [(*span, row.becomes) if span is not None else None]
    shown = word.value.partition("=")[0].replace(UNKNOWN, "…")
    advice = semicolons(phrase(one.advice) for one in rows if one.advice)
    file.report(
        OPTION,
        (word.start, last.end),
        phrase("{name}: {message}", name=shown, message=semicolons(phrase(one.message) for one in rows)),
        edits=edits,
        safety=row.safety,
        severity=min((one.severity for one in rows), key=list(Severity).index),
        evidence=row.evidence,
        source=row.source,
        subject=f"vllm: {name}",
        advice=advice or ("remove it" if row.action == "remove" and None in edits else ""),
    )


def without(data: bytes, first: Word, last: Word) -> Replacement | None:
    gap = _GAP.search(data[: first.start])
    if gap is not None:
        rest = re.compile(rb"[ \t]*(?:\r?\n|\Z)").match(data, last.end)
        if rest is not None and data[gap.start() - 1 : gap.start()] == b"\n" and gap.start():
            return gap.start(), rest.end(), ""  # a line of a text that YAML folds
        return gap.start(), last.end, ""
    after = re.compile(rb"[ \t]+").match(data, last.end)
    return (first.start, after.end(), "") if after is not None else None


def _without_items(data: bytes, first: Word, last: Word) -> Replacement | None:
    """Takes members out of a list: whole lines of YAML, or strings of JSON with the comma before them."""
    start = data.rfind(b"\n", 0, first.start) + 1
    end = data.find(b"\n", last.end) + 1 or len(data)
    if _ITEMS.fullmatch(data, start, end):
        return (start, end, "")
    comma = re.search(rb",\s*[\"']\Z", data[: first.start])
    if comma is None or data[last.end : last.end + 1] not in (b'"', b"'"):
        return None
    return (comma.start(), last.end + 1, "")


def option_at(words: Sequence[Word], at: int) -> tuple[str, str | None, Word]:
    """The argument that an option stands for, its value where it can be read, and the word that ends it."""
    word = words[at]
    if at == 0 and not word.value.startswith("-"):
        return "model", _known(word.value), word
    match = _OPTION.match(word.value) or _SHORT_OPTION.match(word.value)
    if match is None:
        return "", None, word
    name = match.group(1).replace("-", "_") if match.re is _OPTION else _SHORT.get(match.group(), "")
    rows = engine_arguments().get(name)
    if rows is None:
        return "", None, word
    rest = word.value[match.end() :]
    if rest[:1] == "=":
        return name, _known(rest[1:]), word
    part = _PART.fullmatch(rest)
    if rest and part is None:
        return "", None, word
    if part is not None and part["value"] is not None:
        return name, _known(_as_json(part["key"], part["value"])), word
    if rows[0].flag or at + 1 == len(words) or words[at + 1].value.startswith("--"):
        return name, None, word
    value = words[at + 1].value
    return name, _known(_as_json(part["key"], value) if part is not None else value), words[at + 1]


def _as_json(key: str, value: str) -> str:
    return f'"{key}":{value}' if re.fullmatch(r"[\d.]+|true|false", value) else f'"{key}":"{value}"'


def _known(value: str) -> str | None:
    return value if UNKNOWN not in value else None
