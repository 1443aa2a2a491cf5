"""Operators whose result's shape depends on the data, so that the host waits for the NPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, imports_torch, keyword_of
from npuify.rules.operators.places import function_of_step, in_module_class
from npuify.rules.registry import rule
from npuify.rules.text_checks import outside_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DYNAMIC = {
    "nonzero": "a mask and torch.where, if the indices themselves are not needed",
    "argwhere": "a mask and torch.where, if the indices themselves are not needed",
    "where": "torch.where with three arguments, if the indices themselves are not needed",
    "unique": "it before the step, on the CPU, if the values are known there",
    "unique_consecutive": "it before the step, on the CPU, if the values are known there",
    "masked_select": "multiplication by the mask, and divide by the mask's sum",
    "repeat_interleave": "output_size=, so that the size does not have to be fetched",
}
_TENSOR_ONLY = frozenset(("masked_select", "repeat_interleave", "unique_consecutive"))
_BY_NUMBER = re.compile(rb"\s*\(\s*(?:repeats\s*=\s*)?\d+\s*[,)]")
_FAR = 2000
"""Bytes of a call's arguments that are looked at."""


def _shape_known(lower: bytes, start: int, end: int) -> bool:
    """Whether the text beside a word of NPU412 says that no shape depends on data there."""
    word = lower[start:end]
    if word == b"repeat_interleave" and _BY_NUMBER.match(lower, end):
        return True
    return (word == b"torch.where" and _has_choices(lower, end)) or outside_functions(lower, start, end)


def _has_choices(lower: bytes, end: int) -> bool:
    """Whether ``torch.where`` is given more than a mask, as the text behind its name tells."""
    depth = 0
    for at in range(end, min(end + _FAR, len(lower))):
        sign = lower[at : at + 1]
        if sign in b"([{":
            depth += 1
        elif sign in b")]}":
            depth -= 1
            if depth < 1:
                break
        elif sign == b"," and depth == 1:
            return lower[at + 1 : at + _FAR].lstrip()[:1] not in (b")", b"#")
        elif sign in b"\"'#":
            break  # what stands in a text or a comment is no argument
    return False


@rule(
    "NPU412",
    "shape-from-data",
    Safety.MANUAL,
    Severity.INFO,
    words=(
        ".nonzero(",
        ".unique(",
        "torch.argwhere",
        "torch.where",
        "unique_consecutive",
        "masked_select",
        "repeat_interleave",
    ),
    skip_if=_shape_known,
    evidence=Evidence.DOCUMENTED,
    source="PyTorch documents that these wait for the device; msprof-analyze's rule for synchronizing operators",
)
def shape_from_data(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The shape of a result depends on the data, in a model's forward pass, or in a function that it or a step calls.

    The host waits for the device to learn the shape, and each new shape may require preparing a kernel, which costs
    more on an NPU than on a GPU.
    """
    function = node.func
    word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    name = file.qualname(function) or ""
    if name.startswith("torch.") and name.count(".") == 1:
        word, method = name[6:], False
    else:
        method = True
    if word not in _DYNAMIC:
        return
    helper = None if in_module_class(node, file) else function_of_step(node, file)
    if helper is None and not in_module_class(node, file):
        return
    if method:
        if not isinstance(function, ast.Attribute) or name.startswith(("numpy", "torch.")):
            return
        torch_only = word in _TENSOR_ONLY or keyword_of(node, "as_tuple") is not None
        if not torch_only and not _may_be_tensor(function.value, word, node, file):
            return
    if word == "repeat_interleave" and not _repeats_from_data(node, method, file):
        return
    if word == "where" and not _mask_alone(node):
        return
    if helper is not None and _is_told("NPU412", helper, file):
        return
    yield file.report(
        node,
        phrase("{word}: the shape of its result depends on the data, so the host waits for the NPU here", word=word),
        subject=f"torch.{word}",
        advice=phrase("if this runs in every step, use {DYNAMIC}", DYNAMIC=_DYNAMIC[word]),
    )


def _may_be_tensor(node: ast.expr, word: str, call: ast.Call, file: PythonFile) -> bool:
    """Whether an object is a tensor, or may be where tensors are computed with, for all that is known of it."""
    values = file.values(node)
    if values.only(Kind.TENSOR):
        return True
    is_open = not call.args and not call.keywords and word in ("nonzero", "unique") and imports_torch(file)
    return is_open and not values.is_known


def _is_told(code: str, function: ast.AST, file: PythonFile) -> bool:
    """Whether a function was told of already: once is enough."""
    if file.recall((code, function)):
        return True
    file.remember((code, function), True)
    return False


def _mask_alone(node: ast.Call) -> bool:
    """Whether ``torch.where`` gets a condition and nothing to choose from, which makes it ``nonzero``."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return len(given) == 1 and not isinstance(given[0], ast.Starred)


_COUNTS = re.compile(r"(?:^|_)(?:lens|lengths|seqlens|counts)(?:_|$)|(?:lens|lengths|counts)$")
"""What tensors of counts are called in programs, where no type is to be seen."""
_OF_A_SHAPE = frozenset(("size", "numel", "dim", "item"))


def _repeats_from_data(node: ast.Call, method: bool, file: PythonFile) -> bool:
    """Whether ``repeat_interleave`` gets its counts from a tensor, as far as can be seen, and is not told their sum."""
    if keyword_of(node, "output_size") is not None:
        return False
    repeats = argument(node, 0 if method else 1, "repeats")
    if repeats is None:
        return not method and len(node.args) == 1 and not node.keywords
    return _counts(repeats, file)


def _counts(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression surely is a tensor: by its type, or by the name for a tensor of counts."""
    if isinstance(node, ast.Name) and _COUNTS.search(node.id):
        return True
    if isinstance(node, ast.BinOp):
        return _counts(node.left, file) or _counts(node.right, file)
    if isinstance(node, ast.Subscript):
        # One element of a list is a number; a part of it is none.
        return isinstance(node.slice, ast.Slice) and _counts(node.value, file)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_A_SHAPE:
        return False
    return file.is_tensor(node)
