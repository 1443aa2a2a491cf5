"""flash_attn's RMSNorm, which torch_npu and torch have."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.rules.common.calls import keyword_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_MODULE = "flash_attn.ops.rms_norm"
_FUNCTION, _LAYER = "rms_norm", "RMSNorm"
_OPERATOR = "torch_npu.npu_rms_norm"
_HAS_LAYER = (2, 4)
"""The first torch with an RMSNorm of its own."""
_EPS = "eps=1e-5"
"""What flash_attn's layer adds under the root unless it is given; torch's adds what the type can tell from 0."""


def norm_edits(node: ast.ImportFrom, uses: Sequence[ast.AST], file: PythonFile) -> list[Edit]:
    """The edits of all that uses ``from flash_attn.ops.rms_norm import …``; none where one use has no other form.

    Args:
        uses: where the imported names are read.
    """
    if node.level or node.module != _MODULE or any(alias.name not in (_FUNCTION, _LAYER) for alias in node.names):
        return []
    names = {alias.asname or alias.name: alias.name for alias in node.names}
    layers = [_as(alias) for alias in node.names if alias.name == _LAYER]
    if layers and _torch(file) < _HAS_LAYER:
        return []
    found = [file.replace(node, f"from torch.nn import {', '.join(layers)}")] if layers else []
    for use in uses:
        call = file.parent(use)
        if not isinstance(use, ast.Name) or not isinstance(call, ast.Call) or call.func is not use:
            return []
        edits = _call(call, file) if names[use.id] == _FUNCTION else _layer(call, file)
        if edits is None:
            return []
        found += edits
    return found


def _torch(file: PythonFile) -> tuple[int, ...]:
    """The release of torch aimed at."""
    return tuple(int(part) for part in file.release.torch.split(".")[:2])


def _as(alias: ast.alias) -> str:
    return alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"


def _is_plain(call: ast.Call) -> bool:
    return not any(isinstance(one, ast.Starred) for one in call.args) and all(one.arg for one in call.keywords)


def _call(call: ast.Call, file: PythonFile) -> list[Edit] | None:
    """``rms_norm(x, weight, epsilon)`` as ``torch_npu.npu_rms_norm(x, weight, epsilon)[0]``; None for another form."""
    epsilon = keyword_of(call, "epsilon")
    if not _is_plain(call) or len(call.args) + len(call.keywords) != 3 or (call.keywords and epsilon is None):
        return None
    end = file.source.end(call)
    return [file.replace(call.func, _OPERATOR), file.edit(end, end, "[0]")] if len(call.args) >= 2 else None


def _layer(call: ast.Call, file: PythonFile) -> list[Edit] | None:
    """``RMSNorm(hidden_size, eps)`` as torch's own, with flash_attn's ``eps``; None where arguments have no place."""
    if not _is_plain(call) or not 1 <= len(call.args) <= 2:
        return None
    if any(one.arg not in ("eps", "device", "dtype") for one in call.keywords):
        return None
    if len(call.args) == 2 or keyword_of(call, "eps") is not None:
        return []
    after = file.source.end(call.args[0])
    return [file.edit(after, after, f", {_EPS}")]
