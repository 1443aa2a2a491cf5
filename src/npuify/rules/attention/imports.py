"""Imports of flash_attn and xformers, which Ascend does not have: removed where nothing needs them any more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.attention.calls import plan_of
from npuify.rules.attention.forms import FLASH_WORDS
from npuify.rules.attention.padding import padding_edits
from npuify.rules.attention.rms_norm import norm_edits
from npuify.rules.common.helper_branches import never_on_npu
from npuify.rules.common.npu_support import prepared_for_npu
from npuify.rules.common.packages.import_guards import no_other_takes
from npuify.rules.common.packages.members import is_replaced
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PACKAGES = ("flash_attn", "flash_attn_interface", "flash_attn_3", "xformers")
_CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_WAYS_OUT = {
    "flash_attn.bert_padding": "its functions are plain PyTorch: copy them into the project; unpad_input returns five "
    "values since flash_attn 2.7, and four before",
    "flash_attn.layers.rotary": "torch_npu.npu_rotary_mul(x, cos, sin) is the fused rotary embedding; its cos and sin "
    "have the full head dimension, so repeat flash_attn's",
    "flash_attn.ops.rms_norm": "torch_npu.npu_rms_norm(x, gamma, epsilon=…)[0] is the fused RMSNorm",
    "flash_attn.ops.triton.layer_norm": "torch.nn.LayerNorm is fused on the NPU, and torch_npu.npu_rms_norm is RMSNorm",
    "flash_attn.ops.layer_norm": "torch.nn.LayerNorm is fused on the NPU",
    "flash_attn.ops.activations": "torch_npu.npu_swiglu(x) takes the gate and the rest as the halves of one tensor",
    "flash_attn.losses": "torch.nn.CrossEntropyLoss replaces flash_attn's",
    "xformers.ops.swiglu": "torch_npu.npu_swiglu(x) takes the gate and the rest as the halves of one tensor",
    "xformers.ops.SwiGLU": "torch_npu.npu_swiglu(x) takes the gate and the rest as the halves of one tensor",
}
_PADDING = "flash_attn is a CUDA extension; its bert_padding is plain PyTorch, which npuify_padding.py holds"
_KEPT = "import it only where it is installed, and use torch's scaled_dot_product_attention elsewhere"


@rule(
    "NPU505",
    "flash-attention-import",
    Safety.SAFE,
    words=(*FLASH_WORDS, "xformers", "npu_fusion_attention"),
    source="flash_attn and xformers are CUDA extensions",
)
def flash_attention_import(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """flash_attn and xformers cannot be installed on Ascend, so that importing them fails.

    An import whose calls were all rewritten is removed; one inside ``try`` or ``if`` stays.

    Before::

        import torch
        from flash_attn import flash_attn_func

        print(torch.__version__)

    After::

        import torch

        print(torch.__version__)
    """
    names = _names(node)
    if not names or is_replaced(node, file):
        return
    subject = names[0][1]
    package = subject.split(".")[0]
    if _is_guarded(node, file):
        without = (
            isinstance(node, ast.ImportFrom) and _goes_on_without(node, file) and _uses([b for b, _ in names], file)
        )
        edits = padding_edits(node, file) if without and isinstance(node, ast.ImportFrom) else []
        if edits:
            yield file.report(node, _PADDING, edits=edits, subject=subject)
        elif not _for_types(node, file):
            yield file.report(
                node,
                phrase("{package} is not available on Ascend, so the code's fallback runs", package=package),
                severity=Severity.INFO,
                subject=subject,
                advice=_way_out(names) or "check that the fallback computes the same, and is fast enough",
            )
        return
    whole = isinstance(node, ast.ImportFrom) or len(names) == len(node.names)
    uses = _uses([bound for bound, _ in names], file)
    if uses and whole and all(never_on_npu(use, file) or _is_rewritten(use, file) for use in uses):
        return
    edits = padding_edits(node, file) if isinstance(node, ast.ImportFrom) and uses else []
    if edits:
        yield file.report(
            node,
            _PADDING,
            edits=edits,
            subject=subject,
        )
        return
    calls = norm_edits(node, uses, file) if isinstance(node, ast.ImportFrom) and uses else []
    if calls and no_other_takes([bound for bound, _ in names], file):
        yield file.report(
            node,
            phrase("flash_attn is a CUDA extension; its RMSNorm is npu_rms_norm of torch_npu, or RMSNorm of torch"),
            edits=calls if calls[0].start == file.source.start(node) else [*_removal(node, file), *calls],
            subject=subject,
            needs_torch_npu=True,
        )
        return
    if not uses and whole and no_other_takes([bound for bound, _ in names], file):
        edits = _removal(node, file)
    yield file.report(
        node,
        phrase("{package} is a CUDA extension: this import fails on Ascend", package=package),
        edits=edits,
        subject=subject,
        advice="" if edits else _way_out(names) or _KEPT,
    )


def _names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """What a statement binds of these packages: local and qualified names."""
    if isinstance(node, ast.ImportFrom):
        if node.level or (node.module or "").split(".")[0] not in _PACKAGES:
            return []
        return [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
    return [
        (alias.asname or alias.name.split(".")[0], alias.name)
        for alias in node.names
        if alias.name.split(".")[0] in _PACKAGES
    ]


def _way_out(names: list[tuple[str, str]]) -> str:
    found = {way: None for _, name in names for prefix, way in _WAYS_OUT.items() if name.startswith(prefix)}
    return "; ".join(found)


def _is_guarded(node: ast.stmt, file: PythonFile) -> bool:
    """Whether the import may fail, or stands under a condition."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.If):
            return True
        if isinstance(up, ast.Try) and current in up.body:
            for handler in up.handlers:
                caught = [] if handler.type is None else ast.walk(handler.type)
                if handler.type is None or any(isinstance(name, ast.Name) and name.id in _CATCHES for name in caught):
                    return True
        if isinstance(up, (ast.With, ast.AsyncWith)) and "suppress" in file.code(up.items[0].context_expr):
            return True
        current = up
    return False


def _goes_on_without(node: ast.stmt, file: PythonFile) -> bool:
    """Whether a program goes on without what it imports, binding nothing in its place: ``except ImportError: pass``."""
    guard = file.parent(node)
    return (
        isinstance(guard, ast.Try)
        and not guard.orelse
        and all(isinstance(one, ast.Pass) for handler in guard.handlers for one in handler.body)
    )


def _for_types(node: ast.stmt, file: PythonFile) -> bool:
    return any(isinstance(up, ast.If) and "TYPE_CHECKING" in file.code(up.test) for up in file.ancestors(node))


def _uses(bound: list[str], file: PythonFile) -> list[ast.AST]:
    """Where one of these names is read, or named in a string of ``__all__``."""
    if "*" in bound:
        return [file.source.tree]
    return [
        node
        for node in file.nodes_on_lines_with(*bound)
        if (isinstance(node, ast.Name) and node.id in bound)
        or (isinstance(node, ast.Constant) and node.value in bound)
        or (isinstance(node, (ast.Global, ast.Nonlocal)) and not set(bound).isdisjoint(node.names))
    ]


def _is_rewritten(node: ast.AST, file: PythonFile) -> bool:
    """Whether a use is in a call that is written anew, so that it goes away with it."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Call):
            plan = plan_of(up, file)
            if plan is not None and plan.text and not prepared_for_npu(up, file):
                return current is up.func or _is_dropped(current)
        if isinstance(up, ast.stmt):
            return False
        current = up
    return False


def _is_dropped(argument: ast.AST) -> bool:
    """Whether an argument that holds the use is one that the new call has no place for."""
    if isinstance(argument, ast.keyword):
        return argument.arg in ("attn_bias", "op")
    return isinstance(argument, ast.Call) and not argument.args and not argument.keywords


def _removal(node: ast.stmt, file: PythonFile) -> list[Edit]:
    """Edits that take a statement away, with its line where nothing else stands on it; a comment behind it stays."""
    source = file.source
    start, end = source.start(node), source.end(node)
    starts = source.text.line_starts
    line_start = starts[node.lineno - 1]
    last = node.end_lineno or node.lineno
    line_end = starts[last] if last < len(starts) else len(source.data)
    if b"#" in source.data[start:end] or source.data[line_start:start].strip():
        return []
    parent = file.parent(node)
    block = next((item for item in ("body", "orelse", "finalbody") if node in getattr(parent, item, ())), None)
    if block is not None and not isinstance(parent, ast.Module) and len(getattr(parent, block)) == 1:
        return [file.edit(start, end, "pass")]
    behind = source.data[end:line_end]
    rest = behind.lstrip(b" \t")
    if not rest.strip():
        return [file.edit(line_start, line_end, "")]
    if rest.startswith(b"#"):
        return [file.edit(start, end + len(behind) - len(rest), "")]
    return []
