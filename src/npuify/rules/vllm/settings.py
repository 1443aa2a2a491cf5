"""Settings of vLLM's engine and server in files: what ``vllm serve --config`` reads, and what projects hand on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm import vllm_names
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.knowledge.frameworks.vllm import EngineArgument
    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document, Value

_OWN = frozenset(
    (
        *("gpu_memory_utilization", "enforce_eager", "max_model_len", "max_num_seqs", "max_num_batched_tokens"),
        *("served_model_name", "enable_prefix_caching", "enable_chunked_prefill", "distributed_executor_backend"),
    )
)
"""Arguments whose names only vLLM gives them; one of them tells whose settings a table holds."""
_COMMON = frozenset(
    (
        *("model", "model_tag", "tokenizer", "device", "dtype", "seed", "host", "port", "config", "revision", "task"),
        *("quantization", "load_format", "download_dir", "api_key", "uds", "runner", "convert", "hf_token", "headless"),
    )
)
"""Arguments whose names settings of any program have."""
_NAMES_VLLM = re.compile(r"(?i)vllm(?:[_-]?(?:config|engine|args|engine[_-]?args|kwargs|options|server|settings))?$")
"""Keys whose tables are given to vLLM."""
_UNDER_VLLM = re.compile(rb"(?mi)^[ \t]*[\"']?vllm(?:[_-]?\w+)?[\"']?[ \t]*:")
_KEY = re.compile(rb"[ \t]*(?:-[ \t]+)?[\"']?[\w-]+[\"']?[ \t]*:[ \t]*[\"']?\Z")
_REST = re.compile(rb"[\"']?[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z)")
_MEMBER = re.compile(rb"[\"']?[ \t]*,\s*")


@listed(
    "NPU935",
    "vllm-setting",
    Safety.SAFE,
    example_file="serve.yaml",
    evidence=Evidence.PACKAGE,
    source="the table of vLLM's arguments; npuify says the source with each finding",
)
def SETTING(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A file of settings gives vLLM what its plug-in for NPUs refuses or resets, or what vLLM does not have.

    A table is vLLM's where it has arguments that only vLLM has. Where it also has others, a program of the project
    reads it, which may use ``device`` for PyTorch as well, so that a person decides.

    Before::

        model: facebook/opt-125m
        device: cuda
        gpu-memory-utilization: 0.9
        attention-backend: FLASHINFER

    After::

        model: facebook/opt-125m
        gpu-memory-utilization: 0.9
    """
    raise NotImplementedError


def judge_vllm_settings(document: Document, file: TextFile) -> Document:
    """Report the settings of vLLM's that an NPU changes.

    Returns:
        The document without them: what other rules make of them does not hold.
    """
    if (
        _OWN_WORD.search(file.data) is None
        and _UNDER_VLLM.search(file.data) is None
        and not (b"device" in file.data and b"model" in file.data)
    ):
        return document
    tables: dict[int, list[Value]] = {}
    for value in document.values:
        if value.path and value.path[-1] != "#":
            tables.setdefault(value.table, []).append(value)
    judged: set[int] = set()
    for values in tables.values():
        names = {_name(value) for value in values}
        under = any(_NAMES_VLLM.match(key) for key in values[0].path[:-1])
        is_own = under or not names.isdisjoint(_OWN)
        if not (names & vllm_names() - _OWN) or not (is_own or _goes_to_vllm(names, file)):
            continue
        nested = {one.path[-1].replace("-", "_") for one in document.keys if one.path[:-1] == values[0].path[:-1]}
        is_pure = names | nested <= vllm_names() and (is_own or not names <= _COMMON)
        for value in values:
            row = file.run.vllm.argument(_name(value), value.text)
            if row is not None and not row.option_only and not _is_off(row, value):
                judged.add(value.start)
                _report(value, row, is_pure=is_pure, file=file)
        _judge_nested(values[0].path[:-1], document, file)
    return document._replace(values=[one for one in document.values if one.start not in judged]) if judged else document


def _goes_to_vllm(names: set[str], file: TextFile) -> bool:
    """Whether a table with no name of vLLM's alone is read by programs on vLLM, of which none computes with PyTorch.

    Those that the file's name leads to are asked, else all of the project. What they make of ``device`` is not
    followed, but ``npu`` is no word of vLLM's, so that it must not be written where vLLM may get it.
    """
    if not names & {"model", "model_tag"}:
        return False
    project = file.run.project
    with_vllm = set(project.files_with(b"vllm"))
    if not with_vllm:
        return False
    base = file.relative.rpartition("/")[2].encode()
    readers = set(project.files_with(base)) & with_vllm or with_vllm
    if readers.isdisjoint(project.files_with(b"torch")):
        return True
    return names <= vllm_names() and not names <= _COMMON


def _judge_nested(prefix: tuple[str, ...], document: Document, file: TextFile) -> None:
    """Report what tables within vLLM's hold, such as ``compilation-config``, which command lines give as JSON."""
    for value in document.values:
        if len(value.path) == len(prefix) + 2 and value.path[: len(prefix)] == prefix and value.path[-1] != "#":
            argument = value.path[-2].replace("-", "_")
            row = file.run.vllm.argument(argument, f'"{value.path[-1]}":{_as_json(value)}') if argument else None
            if row is not None and row.values:
                _report(value, row, is_pure=True, file=file)


def _as_json(value: Value) -> str:
    return value.text if re.fullmatch(r"[\d.]+|true|false", value.text) and not value.quote else f'"{value.text}"'


_OWN_WORD = re.compile("|".join(name.replace("_", "[_-]") for name in sorted(_OWN)).encode())


def _name(value: Value) -> str:
    return value.path[-1].replace("-", "_")


def _is_off(row: EngineArgument, value: Value) -> bool:
    off = ("false", "null", "none", "~", "") if row.flag or row.values or row.dropped else ()
    return value.text.lower() in off


def _report(value: Value, row: EngineArgument, *, is_pure: bool, file: TextFile) -> None:
    edits: Sequence[Replacement | None] = ()
    advice = row.advice
    if row.action == "set":
        edits = [(value.start, value.end, row.becomes)]
    elif row.action == "remove" and is_pure:
        edits = [_without(value, file)]
        advice = advice or phrase("remove it")
    elif row.action == "remove":
        advice = phrase("leave it out of what vLLM is given")
        if _name(value) == "device":
            advice += phrase("; where the project uses it for PyTorch as well, it is npu there")
    file.report(
        SETTING,
        (value.start, value.end),
        phrase("{name}: {message}", name=value.path[-1], message=row.message),
        edits=edits,
        safety=row.safety,
        severity=Severity(row.severity),
        evidence=row.evidence,
        source=row.source,
        subject=f"vllm: {_name(value)}",
        advice=advice,
    )


def _without(value: Value, file: TextFile) -> Replacement | None:
    """Takes a setting out: its line, or it with the comma behind it."""
    data = file.data
    line = max(data.rfind(b"\n", 0, value.start), data.rfind(b"\r", 0, value.start)) + 1
    rest = _REST.match(data, value.end)
    if file.kind == "yaml" and rest is not None and _KEY.fullmatch(data, line, value.start) is not None:
        has_comment = b"#" in rest.group()
        is_item = data[line : value.key_start].lstrip().startswith(b"-")
        return (line, rest.end(), "") if not has_comment and not is_item else None
    first = value.key_start - (data[value.key_start - 1 : value.key_start] in (b'"', b"'"))
    member = _MEMBER.match(data, value.end)
    if member is not None:
        return (first, member.end(), "")
    comma = re.compile(rb",\s*\Z").search(data, 0, first)
    last = value.end + (value.quote in ('"', "'"))
    return (comma.start(), last, "") if comma is not None else None
