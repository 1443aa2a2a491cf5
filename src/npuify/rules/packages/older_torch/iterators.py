"""The method ``next`` of a loader's iterator, which was there for Python 2."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_CALLED: Final = re.compile(r"(?i)(?:.*_)?(?:\w*iter|\w*iterator)(?:_.*|\d*)")
"""What programs call an iterator that a function is given."""


def _is_given_something(lower: bytes, start: int, end: int) -> bool:
    """Whether the method is given arguments: a loader's takes none."""
    return not lower[end : end + 20].lstrip().startswith(b")")


@rule(
    "NPU666",
    "next-of-loader",
    Safety.SAFE,
    Severity.ERROR,
    words=(".next(",),
    skip_if=_is_given_something,
    evidence=Evidence.REPORTED,
    source="pytorch/pytorch#87955; torch/utils/data/dataloader.py of torch 2.13 and 2.14 has no such method",
)
def next_of_loader(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``iter(loader).next()`` raises AttributeError since PyTorch 1.13; no NPU release is older.

    What ``iter()`` gives has ``__next__`` in Python 3, whatever it iterates over, so that ``next()`` means the same.
    What a function is given and calls an iterator may be another object, which has the method: there the edit is to be
    looked at.

    Before::

        import torch
        batches = iter(torch.utils.data.DataLoader(data, batch_size=4))
        x, y = batches.next()

    After::

        import torch
        batches = iter(torch.utils.data.DataLoader(data, batch_size=4))
        x, y = next(batches)
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "next" or node.args or node.keywords:
        return
    is_sure = _is_iterator(node.func.value, file)
    if not is_sure and not _may_be_iterator(node.func.value, file):
        return
    start, end, written = file.source.start(node), file.source.end(node), file.code(node)
    yield file.report(
        node,
        phrase("{node} raises AttributeError: a loader's iterator has no next() since PyTorch 1.13", node=written)
        if is_sure
        else phrase(
            "{node} raises AttributeError, if this is a loader's iterator: it has no next() since PyTorch 1.13",
            node=written,
        ),
        edits=[file.edit(start, start, "next("), file.edit(start + written.rindex("."), end, ")")],
        safety=None if is_sure else Safety.REVIEW,
        severity=None if is_sure else Severity.WARNING,
        subject="torch.utils.data.DataLoader",
    )


def _is_iterator(value: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is what ``iter()`` gave, wherever it is bound."""
    if isinstance(value, ast.Call):
        return _is_made(value)
    if isinstance(value, ast.Name):
        bound = file.assigned(value)
        if bound:
            return all(one is not None and _is_made(one) for one in bound)
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    written = file.code(value)
    bound = [
        statement.value
        for statement in file.nodes_on_lines_with(written.rpartition(".")[2])
        if isinstance(statement, ast.Assign) and any(file.code(target) == written for target in statement.targets)
    ]
    return bool(bound) and all(_is_made(one) for one in bound)


def _may_be_iterator(value: ast.expr, file: PythonFile) -> bool:
    """Whether a function is given something that it calls an iterator, or binds it by more than ``iter()``."""
    if not isinstance(value, ast.Name) or not _CALLED.fullmatch(value.id):
        return False
    if file.values(value).kind not in (None, Kind.UNKNOWN):
        return False
    return any(one is None or _is_made(one) for one in file.assigned(value))


def _is_made(value: ast.expr | None) -> bool:
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute):
        return value.func.attr == "__iter__" and not value.args
    return isinstance(value.func, ast.Name) and value.func.id == "iter" and len(value.args) == 1
