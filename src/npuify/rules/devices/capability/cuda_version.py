"""CUDA's version, which a torch without CUDA has none of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from npuify.analysis.engine import Reach
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU132",
    "cuda-version",
    Safety.MANUAL,
    Severity.WARNING,
    words=("cuda",),
    also_in_file=("version",),
    evidence=Evidence.PACKAGE,
)
def cuda_version(node: ast.Attribute | ast.Name | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.version.cuda`` is None in a torch built without CUDA, which is what torch_npu extends.

    A check of it takes the branch for machines without a GPU, and code that parses it as a version fails.
    """
    if isinstance(node, ast.Call):
        if not _is_asked_for_by_name(node, file):
            return
    elif file.qualname(node) != "torch.version.cuda" or not isinstance(node.ctx, ast.Load):
        return
    here, failing = _fails_without(node, file)
    tested = any(
        isinstance(up, (ast.If, ast.IfExp, ast.Compare, ast.BoolOp, ast.Assert)) for up in file.ancestors(node)
    )
    severity = Severity.WARNING if tested and not here else Severity.INFO
    yield file.report(
        node,
        phrase("torch.version.cuda is None on the NPU; {failing}", failing=failing)
        if failing
        else phrase("torch.version.cuda is None on the NPU"),
        severity=Severity.ERROR if failing else severity,
        subject="torch.version.cuda",
        advice="guard it with `is not None`; use torch.npu functions to query what the NPU supports",
    )


def _is_asked_for_by_name(call: ast.Call, file: PythonFile) -> bool:
    """``getattr(torch.version, "cuda", None)``."""
    if (
        getattr(call.func, "id", "") != "getattr"
        or len(call.args) < 2
        or file.qualname(call.args[0]) != "torch.version"
    ):
        return False
    return isinstance(call.args[1], ast.Constant) and call.args[1].value == "cuda"


def _fails_without(node: ast.expr, file: PythonFile) -> tuple[bool, str]:
    """Whether a test keeps the version from being read where it is written, and what fails, here or where it goes."""
    guarded = False
    for here in file.reaching(Reach.PROGRAM).flow(node, file.model).occurrences:
        what = "" if here.depth or _is_made_of_text(here.node) else _wants_text(here.node, here.file)
        if not what:
            continue
        if _is_guarded(here.node, here.file):
            guarded = guarded or here.node is node
            continue
        line = getattr(here.node, "lineno", 0)
        where = phrase("line {line}", line=line) if here.file is file.model else f"{here.file.relative}:{line}"
        return guarded, phrase("{what} it fails", what=what) if here.node is node else phrase(
            "{what} it fails in {where}", what=what, where=where
        )
    return guarded, ""


def _is_made_of_text(node: ast.expr) -> bool:
    """Whether an expression is what a method of the text, or a part of it, gives: that fails no earlier than there."""
    return isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and hasattr(str, node.func.attr)
    )


def _wants_text(node: ast.expr, home: FileModel) -> str:
    """What is done with an expression that None does not bear, in a word."""
    parent = home.parent(node)
    if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return phrase("comparing")
    if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Subscript) and parent.value is node):
        return phrase("parsing")
    if isinstance(parent, ast.Call) and parent.func is not node and _word(parent.func) in _PARSES:
        return phrase("parsing")
    return ""


_PARSES = frozenset(
    "float int parse Version LooseVersion StrictVersion match search fullmatch map list tuple len".split()
)


def _is_guarded(node: ast.expr, home: FileModel) -> bool:
    """Whether code runs only where a test before says that the same is not None."""
    text = home.source.code(node)
    there = (text, f"{text} is not None", f"{text} != None")
    missing = (f"not {text}", f"{text} is None", f"{text} == None")
    current: Any = node
    for up in home.ancestors(node):
        tests: list[ast.expr] = []
        if isinstance(up, ast.BoolOp) and isinstance(up.op, ast.And) and current in up.values:
            tests = up.values[: up.values.index(current)]
        elif isinstance(up, ast.IfExp):
            tests = [up.test] if current is up.body else []
            if current is up.orelse and home.source.code(up.test) in missing:
                return True
        elif isinstance(up, ast.If) and current in up.body:
            tests = up.test.values if isinstance(up.test, ast.BoolOp) and isinstance(up.test.op, ast.And) else [up.test]
        if any(home.source.code(test) in there for test in tests):
            return True
        if isinstance(up, ast.If) and current in up.orelse and home.source.code(up.test) in missing:
            return True
        if isinstance(current, ast.stmt) and _ended_before(current, up, missing, home):
            return True
        if isinstance(up, ast.Try) and current in up.body and up.handlers:
            return True
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
        current = up
    return False


def _ended_before(statement: ast.stmt, block: ast.AST, missing: tuple[str, ...], home: FileModel) -> bool:
    """Whether a statement before, in the same block, ends it where the same is None."""
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(block, field, None)
        for one in (
            statements[: statements.index(statement)]
            if isinstance(statements, list) and statement in statements
            else ()
        ):
            if isinstance(one, ast.If) and isinstance(one.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                tests = (
                    one.test.values
                    if isinstance(one.test, ast.BoolOp) and isinstance(one.test.op, ast.Or)
                    else [one.test]
                )
                if any(home.source.code(test) in missing for test in tests):
                    return True
    return False


def _word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
