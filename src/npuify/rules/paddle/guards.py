"""What a program does only where Paddle is built for CUDA: whether an NPU may take the same way."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.engine import Reach
from npuify.analysis.flow.flows import flow_of
from npuify.knowledge.frameworks.paddle import paddle_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.knowledge.frameworks.paddle import PaddleName
    from npuify.rules.context import PythonFile

_NAMES_DEVICE = re.compile(r"(?i)gpu|cuda|place\b|set_device")
_SHARED = re.compile(r"\buva\b", re.IGNORECASE)
_TOOLS = re.compile(r"\bnvidia-smi\b|\bnvcc\b|libcud\w+\.so")


class Guarded(NamedTuple):
    """What stands behind the question whether Paddle is built for CUDA.

    Attributes:
        only_cuda: names that an NPU has no counterpart of, in the order of the file.
        chooses_device: whether each branch speaks of devices; true where there is no branch.
    """

    only_cuda: tuple[str, ...] = ()
    chooses_device: bool = True


def guarded_by(node: ast.expr, file: PythonFile) -> Guarded:
    """What runs where ``node``, a call of ``is_compiled_with_cuda``, is true.

    Branches in the same file count: those that ask it, and those that ask a variable which holds its answer.
    """
    names: list[str] = []
    chooses = True
    for occurrence in flow_of(node, file.model, file.reaching(Reach.FILE)).occurrences:
        if occurrence.file.relative != file.source.relative or occurrence.depth:
            continue
        branch = _branch(occurrence.node, file)
        for statement in (*branch, *_behind(occurrence.node, file)):
            names += _only_cuda(statement, file)
        if _names_shared_memory(occurrence.node, file):
            names.append("paddle.base.core.to_uva_tensor")
        chooses = chooses and (not branch or any(_NAMES_DEVICE.search(file.code(one)) for one in branch))
    return Guarded(tuple(dict.fromkeys(names)), chooses)


def asks_for_gpu(node: ast.expr, file: PythonFile) -> bool:
    """Whether a question stands beside the program's own switch: ``use_gpu and not is_compiled_with_cuda()``."""
    whole: ast.AST = node
    while isinstance(up := file.parent(whole), (ast.BoolOp, ast.UnaryOp)):
        whole = up
    return whole is not node and "use_gpu" in file.code(whole)


def _branch(node: ast.expr, file: PythonFile) -> Sequence[ast.AST]:
    """The statements, or the expression, that a true answer leads to."""
    is_negated = False
    here: ast.AST = node
    while (up := file.parent(here)) is not None:
        if isinstance(up, ast.UnaryOp) and isinstance(up.op, ast.Not):
            is_negated = not is_negated
        elif isinstance(up, ast.BoolOp) and isinstance(up.op, ast.And) and here is not up.values[-1]:
            # What is asked afterwards runs behind it, too; the branch itself is looked at further up.
            pass
        elif not isinstance(up, ast.BoolOp):
            break
        here = up
    if isinstance(up, (ast.If, ast.IfExp)) and here is up.test:
        taken = up.orelse if is_negated else up.body
        return taken if isinstance(taken, list) else [taken]
    return ()


def _behind(node: ast.expr, file: PythonFile) -> Sequence[ast.AST]:
    """The statement behind ``if not paddle.is_compiled_with_cuda(): raise …``, which only a true answer leads to."""
    branch = next((up for up in file.ancestors(node) if isinstance(up, ast.stmt)), None)
    if not isinstance(branch, ast.If) or branch.orelse or not isinstance(branch.body[-1], (ast.Raise, ast.Return)):
        return ()
    if node not in ast.walk(branch.test):
        return ()
    block = getattr(file.parent(branch), "body", [])
    for statements in (block, getattr(file.parent(branch), "orelse", [])):
        if isinstance(statements, list) and branch in statements:
            return statements[statements.index(branch) + 1 :][:1]
    return ()


def _names_shared_memory(node: ast.expr, file: PythonFile) -> bool:
    """Whether the question stands beside one for memory that the host and a card of CUDA's share."""
    whole: ast.AST = node
    while isinstance(up := file.parent(whole), (ast.BoolOp, ast.UnaryOp)):
        whole = up
    return whole is not node and _SHARED.search(file.code(whole)) is not None


def _only_cuda(tree: ast.AST, file: PythonFile) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            row = paddle_name(file.qualname(node) or "")
            if row is not None and _needs_cuda(row):
                yield row.cuda.rstrip(".*")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _TOOLS.search(node.value)
            if match is not None:
                yield match.group()


def _needs_cuda(row: PaddleName) -> bool:
    return row.how == "tell" and row.severity == "error" and not row.with_keyword and "fluid" not in row.cuda
