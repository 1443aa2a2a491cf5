"""Arguments that a newer torch takes no more in the form in which older programs give them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.pytorch.removed import numbers
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SAMPLERS: Final = frozenset(("torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler"))
_WITHOUT_SOURCE: Final = (2, 10)
_FLOATS_ONLY: Final = (2, 6)
_ADAMS: Final = frozenset(("torch.optim.Adam", "torch.optim.AdamW", "torch.optim.adam.Adam", "torch.optim.adamw.AdamW"))
_WHOLE: Final = re.compile(
    rb"betas\s{0,4}=\s{0,4}[(\[]\s{0,4}(?:\d{1,9}\s{0,4},|[^,\n]{1,40},\s{0,4}\d{1,9}\s{0,4}[)\]])|\bbeta\w{0,9}\s{0,4}=\s{0,4}\d\s"
)
_NAMED: Final = frozenset(("Adam", "AdamW"))


@rule(
    "NPU670",
    "sampler-given-its-data",
    Safety.SAFE,
    Severity.ERROR,
    words=("sampler)", "sampler["),
    evidence=Evidence.REPORTED,
    source="pytorch/pytorch#163134: Sampler takes no data_source since torch 2.10",
)
def sampler_given_its_data(node: ast.ClassDef, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.utils.data.Sampler`` takes no data since torch 2.10, and never did anything with it: a class that hands
    its data to it fails.

    Before::

        from torch.utils.data import Sampler
        class Forever(Sampler):
            def __init__(self, dataset):
                super().__init__(dataset)
                self.dataset = dataset

    After::

        from torch.utils.data import Sampler
        class Forever(Sampler):
            def __init__(self, dataset):
                super().__init__()
                self.dataset = dataset
    """
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    if numbers(file.release.torch) < _WITHOUT_SOURCE or len(bases) != 1 or file.qualname(bases[0]) not in _SAMPLERS:
        return
    for call in file.nodes_on_lines_with("__init__"):
        function = call.func if isinstance(call, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr != "__init__" or not _lies_in(call, node, file):
            continue
        assert isinstance(call, ast.Call)
        by_name = file.qualname(function.value) in _SAMPLERS
        given = [*call.args[1 if by_name else 0 :], *(keyword.value for keyword in call.keywords)]
        is_super = isinstance(function.value, ast.Call) and file.code(function.value.func) == "super"
        if not given or not (by_name or is_super):
            continue
        start = file.source.end(call.args[0]) if by_name else file.source.end(function) + 1
        # What is written between the brackets may span lines, with remarks in it.
        plain = "\n" not in file.code(call) and all(_has_no_effect(one) for one in given)
        yield file.report(
            call,
            phrase("torch {torch} has a Sampler that takes no arguments", torch=file.release.torch),
            edits=[file.edit(start, file.source.end(call) - 1, "")] if plain else [],
            subject="torch.utils.data.Sampler",
            advice="" if plain else "call it without arguments",
        )


def _lies_in(node: ast.AST, holder: ast.ClassDef, file: PythonFile) -> bool:
    return next((up for up in file.ancestors(node) if isinstance(up, ast.ClassDef)), None) is holder


def _has_no_effect(node: ast.expr) -> bool:
    return all(isinstance(one, (ast.Name, ast.Attribute, ast.Constant, ast.expr_context)) for one in ast.walk(node))


def _has_whole(data: bytes, project: ProjectIndex) -> bool:
    del project
    return _WHOLE.search(data) is not None


@rule(
    "NPU671",
    "whole-number-as-beta",
    Safety.SAFE,
    Severity.ERROR,
    words=("betas",),
    concerns=_has_whole,
    evidence=Evidence.PACKAGE,
    source="torch/optim/adam.py; pytorch/pytorch#134171: betas are two floats, or two tensors, since torch 2.6",
)
def whole_number_as_beta(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """``betas=(0, 0.99)``: since torch 2.6 Adam and AdamW refuse whole numbers among the two.

    Before::

        import torch
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0, 0.99))

    After::

        import torch
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.0, 0.99))
    """
    if node.arg != "betas" or numbers(file.release.torch) < _FLOATS_ONLY or not _makes_adam(file.parent(node), file):
        return
    pair = node.value
    if not isinstance(pair, (ast.Tuple, ast.List)) or len(pair.elts) != 2:
        return
    whole = [one for one in pair.elts if _is_whole(one, file)]
    if not whole:
        return
    edits: list[Edit] = []
    for one in whole:
        end = file.source.end(one)
        if isinstance(one, ast.Constant):
            edits.append(file.edit(end, end, ".0"))
        else:
            start = file.source.start(one)
            edits += [file.edit(start, start, "float("), file.edit(end, end, ")")]
    yield file.report(
        pair,
        phrase(
            "torch {torch} takes only floats as betas of Adam: {code}", torch=file.release.torch, code=file.code(pair)
        ),
        edits=edits,
        subject="torch.optim.Adam",
    )


def _makes_adam(call: ast.AST | None, file: PythonFile) -> bool:
    """Whether a call makes torch's Adam, or the settings of one that is made by its name."""
    if not isinstance(call, ast.Call):
        return False
    if file.qualname(call.func) in _ADAMS:
        return True
    return file.code(call.func) == "dict" and any(
        keyword.arg == "type" and isinstance(keyword.value, ast.Constant) and keyword.value.value in _NAMED
        for keyword in call.keywords
    )


def _is_whole(node: ast.expr, file: PythonFile) -> bool:
    if isinstance(node, ast.Name):
        bound = file.assigned(node)
        return len(bound) == 1 and isinstance(bound[0], ast.Constant) and _is_whole(bound[0], file)
    return isinstance(node, ast.Constant) and type(node.value) is int
