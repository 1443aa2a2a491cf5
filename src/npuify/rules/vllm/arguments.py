"""Engine arguments of vLLM in Python: keywords of its classes, and entries of what is spread into them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.owners import owner_of_call, owner_of_object, owner_of_table
from npuify.analysis.values import STRINGS
from npuify.knowledge.frameworks.vllm import engine_arguments
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.common.defaults.conditions import by_default
from npuify.rules.common.edits.statements import without_line
from npuify.rules.common.edits.taking_out import without_argument, without_entry
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.vllm import EngineArgument
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ENGINES = re.compile(r"(?:^|\.)(?:LLM|(?:Async)?EngineArgs|(?:Async)?LLMEngine|\w*Config|AsyncOmni|Omni)(?:$|\.)")


_NAMES = frozenset(engine_arguments()) - {"model"}
_CHECKPOINTS = (
    *("awq", "gptq", "gguf", "bnb-4bit", "fp8", "nvfp4", "mxfp4"),
    *("openai/gpt-oss", "deepseek-v3", "deepseek-r1"),
    *("openai/whisper", "deepseek-v2-lite", "deepseek-v2.5", "llama-3.2-", "minimax-text"),
)
"""What names of weights hold that an NPU may not take: quantized ones, and models that the plug-in does not run."""
_NAME_OF_MODEL = re.compile(r"(?:\./|/|~)?[\w.-]+(?:/[\w.-]+)+|[\w./-]+\.gguf")
_IMPORTS_VLLM = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+vllm\b")


@rule(
    "NPU930",
    "vllm-argument",
    Safety.SAFE,
    words=(*sorted(_NAMES), *_CHECKPOINTS),
    also_in_file=("vllm", "engine_kwargs"),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of vLLM's arguments; npuify says the source with each finding",
)
def vllm_argument(node: ast.keyword | ast.Constant | ast.Assign, file: PythonFile) -> Iterator[Diagnostic]:
    """vLLM is given an argument that its plug-in for NPUs refuses or resets, or that vLLM does not have.

    ``device`` is removed, never renamed: vLLM finds the NPU by itself. What only sounds like CUDA stays:
    ``gpu_memory_utilization``, ``num_gpu_blocks_override``, ``cudagraph_capture_sizes``.

    Before::

        from vllm import LLM

        llm = LLM("facebook/opt-125m", device="cuda", gpu_memory_utilization=0.9)

    After::

        from vllm import LLM

        llm = LLM("facebook/opt-125m", gpu_memory_utilization=0.9)
    """
    if "vllm" in file.project.packages:
        return  # vLLM itself, whose platforms decide
    if isinstance(node, ast.keyword):
        yield from _keyword(node, file)
    elif isinstance(node, ast.Assign):
        yield from _attribute(node, file)
    else:
        yield from _entry(node, file)
        yield from _checkpoint(node, file)


def _keyword(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    call = file.parent(node)
    if node.arg not in _NAMES or not isinstance(call, ast.Call):
        return
    is_table = isinstance(call.func, ast.Name) and call.func.id == "dict"
    if not (_of_table(call, file) if is_table else _takes(call, file)):
        return
    for row in file.run.vllm.arguments(node.arg, _text(node.value, file), of_class=True):
        if row.option_only or _is_off(row, node.value):
            continue
        edit = None
        if row.action == "remove" and not _says_otherwise(row, node.value):
            arguments: list[ast.AST] = sorted([*call.args, *call.keywords], key=file.source.start)
            edit = without_argument(arguments, arguments.index(node), file)
        elif row.action == "set":
            edit = file.replace(node.value, row.becomes)
        yield _report(node, node.arg, row, edit, file)


def _entry(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    table = file.parent(node)
    if node.value not in _NAMES or not isinstance(table, ast.Dict) or node not in table.keys:
        return
    if not _of_table(table, file):
        return
    at = table.keys.index(node)
    for row in file.run.vllm.arguments(str(node.value), _text(table.values[at], file), of_class=True):
        if row.option_only or _is_off(row, table.values[at]):
            continue
        edit = None
        if row.action == "remove" and not _says_otherwise(row, table.values[at]):
            edit = without_entry(table, at, file)
        elif row.action == "set":
            edit = file.replace(table.values[at], row.becomes)
        yield _report(node, str(node.value), row, edit, file)


def _attribute(node: ast.Assign, file: PythonFile) -> Iterator[Diagnostic]:
    """``engine_args.device = "cuda"``: what an object of vLLM's classes is given after it was made."""
    target = node.targets[0]
    if len(node.targets) > 1 or not isinstance(target, ast.Attribute) or target.attr not in _NAMES:
        return
    framework = owner_of_object(target.value, file.model)
    if framework is None or framework.name != "vLLM":
        return
    row = file.run.vllm.argument(target.attr, _text(node.value, file), of_class=True)
    if row is not None and not row.option_only and not _is_off(row, node.value):
        edit = None
        if row.action == "remove" and not _says_otherwise(row, node.value):
            edit = _without_statement(node, file)
        elif row.action == "set":
            edit = file.replace(node.value, row.becomes)
        yield _report(target, target.attr, row, edit, file)


def _without_statement(node: ast.Assign, file: PythonFile) -> Edit | None:
    """Takes a statement out; what is alone in its block becomes ``pass``."""
    above = file.parent(node)
    blocks = [getattr(above, name, []) for name in ("body", "orelse", "finalbody")]
    is_alone = any(block == [node] for block in blocks)
    return file.replace(node, "pass") if is_alone else without_line(node, file)


def _checkpoint(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """The name of quantized weights in a file that uses vLLM, however it gets to the engine."""
    if not isinstance(node.value, str) or not _NAME_OF_MODEL.fullmatch(node.value):
        return
    row = file.run.vllm.argument("model", node.value)
    if row is not None and _imports_vllm(file.source.data):
        yield _report(node, node.value, row, None, file)


def _imports_vllm(data: bytes) -> bool:
    # A word is found many times as fast as a pattern that begins with any line.
    return b"vllm" in data and _IMPORTS_VLLM.search(data) is not None


_OWN_PARSER = re.compile(rb"add_cli_args|make_arg_parser")


def _takes(call: ast.Call, file: PythonFile) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "set_defaults":
        data = file.source.data
        return _imports_vllm(data) and _OWN_PARSER.search(data) is not None
    framework = owner_of_call(call, file.model)
    return (
        framework is not None
        and framework.name == "vLLM"
        and _ENGINES.search(file.qualname(call.func) or "") is not None
    )


def _of_table(table: ast.expr, file: PythonFile) -> bool:
    framework = owner_of_table(table, file.model, file.reaching(Reach.FILE))
    return framework is not None and framework.name == "vLLM"


def _text(value: ast.expr, file: PythonFile) -> str | None:
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, (ast.Attribute, ast.Name, ast.Subscript)):
        known = by_default(value, file)
        if known is not None:
            return str(known.value) if isinstance(known.value, (str, bool)) else None
        values = file.values(value)
        names = {one.name for one in values if one.kind in STRINGS}
        return names.pop() if len(names) == 1 and values.only(*STRINGS) else None
    return file.code(value).replace("'", '"') if isinstance(value, (ast.Dict, ast.Call)) else None


def _says_otherwise(row: EngineArgument, value: ast.expr) -> bool:
    """Whether a switch that vLLM has no more is off, or may be: without it, it counts as on."""
    return row.class_only and row.flag and not (isinstance(value, ast.Constant) and value.value is True)


def _is_off(row: EngineArgument, value: ast.expr) -> bool:
    """Whether the argument is given what it has anyway; one that vLLM has no more raises with any value."""
    off = (None, False) if (row.flag or row.values) and not row.dropped else ()
    return isinstance(value, ast.Constant) and any(value.value is one for one in off)


def _report(place: ast.AST, name: str, row: EngineArgument, edit: Edit | None, file: PythonFile) -> Diagnostic:
    return file.report(
        place,
        phrase("{name}: {message}", name=name, message=row.message),
        edits=[edit] if edit else (),
        safety=row.safety,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"vllm: {name}",
        advice=row.advice or ("remove it" if row.action == "remove" and edit is None else ""),
    )
