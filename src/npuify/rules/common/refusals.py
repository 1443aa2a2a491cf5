"""What a check comes to where parts of its condition are known, and whether the program then refuses to go on."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any, Final, Protocol

from npuify.model import Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

UNKNOWN: Final = object()


class Tree(Protocol):
    """What the checks of a file are asked for; a file of the rules has it."""

    @property
    def parent(self) -> Callable[[ast.AST], ast.AST | None]:
        """Gives the node around a node."""

    @property
    def ancestors(self) -> Callable[[ast.AST], Iterator[ast.AST]]:
        """Gives all nodes around a node."""

    @property
    def qualname(self) -> Callable[[ast.AST], str | None]:
        """Gives the dotted name that an expression denotes."""


_COMPARISONS: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_OPERATORS: dict[type[ast.operator], Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_ENDS = frozenset(("sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"))


def value_of(node: ast.expr, known: Callable[[ast.expr], Any]) -> Any:
    """What an expression comes to; ``UNKNOWN`` where that is not known."""
    given = known(node)
    if given is not UNKNOWN:
        return given
    try:
        return _computed(node, known)
    except (TypeError, ValueError, IndexError, KeyError):
        return UNKNOWN


def _computed(node: ast.expr, known: Callable[[ast.expr], Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        items = [value_of(item, known) for item in node.elts]
        return UNKNOWN if UNKNOWN in items else tuple(items)
    if isinstance(node, ast.BoolOp):
        return _joined(node, known)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = value_of(node.operand, known)
        return UNKNOWN if inner is UNKNOWN else not inner
    if isinstance(node, ast.Subscript):
        whole, key = value_of(node.value, known), value_of(node.slice, known)
        return UNKNOWN if UNKNOWN in (whole, key) else whole[key]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = value_of(node.left, known), value_of(node.right, known)
        if not all(isinstance(side, (int, float)) for side in sides):
            return UNKNOWN
        return _OPERATORS[type(node.op)](*sides)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        sides = value_of(node.left, known), value_of(node.comparators[0], known)
        return UNKNOWN if UNKNOWN in sides else _COMPARISONS[type(node.ops[0])](*sides)
    return UNKNOWN


def _joined(node: ast.BoolOp, known: Callable[[ast.expr], Any]) -> Any:
    """What ``and`` and ``or`` come to: one part may decide alone."""
    deciding = isinstance(node.op, ast.Or)
    values = [value_of(item, known) for item in node.values]
    if any(value is not UNKNOWN and bool(value) is deciding for value in values):
        return deciding
    return UNKNOWN if UNKNOWN in values else not deciding


def check_around(node: ast.AST, file: Tree) -> ast.If | ast.Assert | None:
    """The ``if`` or ``assert`` in whose condition an expression stands."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.Assert)):
            return up if current is up.test else None
        if isinstance(up, (ast.stmt, ast.Lambda, ast.comprehension)):
            return None
        current = up
    return None


def may_refuse(check: ast.If | ast.Assert, known: Callable[[ast.expr], Any], file: Tree) -> bool:
    """Whether a check may end the program, or its function, with an error, for all that is known."""
    result = value_of(check.test, known)
    if isinstance(check, ast.Assert):
        return result is UNKNOWN or not result
    if (result is UNKNOWN or result) and ends_in_error(check.body, file):
        return True
    if result is UNKNOWN or not result:
        return ends_in_error(check.orelse or _behind(check, file), file)
    return False


def _behind(check: ast.If, file: Tree) -> list[ast.stmt]:
    """What only follows where the condition is false: the rest of the block, where the ``if`` returns."""
    if not isinstance(check.body[-1], (ast.Return, ast.Continue)):
        return []
    parent = file.parent(check)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and check in block:
            rest: list[ast.stmt] = block[block.index(check) + 1 :]
            return rest[:1]
    return []


def ends_in_error(body: list[ast.stmt], file: Tree) -> bool:
    """Whether a block surely raises, or ends the program."""
    last = body[-1] if body else None
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, ast.Assert):
        return isinstance(last.test, ast.Constant) and not last.test.value
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    named = file.qualname(call.func) or ""
    return named in _ENDS or getattr(call.func, "id", "") in ("exit", "quit")


def opens_refusal(node: ast.expr, file: PythonFile) -> bool:
    """Whether a test for CUDA, being true for an NPU too, lets the program run into an error.

    ``if x.is_cuda: raise NotImplementedError`` does nothing on the CPU and would stop on an NPU. A check that also asks
    torch for the machine (``device.type == "cuda" and not torch.cuda.is_available()``) is one of any device.
    """
    check = check_around(node, file)
    if check is None or _asks_for_machine(check.test, file):
        return False
    on_npu = not (isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.NotEq, ast.NotIn, ast.IsNot)))
    refuses, refused = (
        may_refuse(check, lambda one, answer=answer: answer if one is node else UNKNOWN, file)  # type: ignore[misc]
        for answer in (on_npu, not on_npu)
    )
    return refuses and not refused


def _asks_for_machine(test: ast.expr, file: PythonFile) -> bool:
    for node in ast.walk(test):
        name = file.qualname(node.func) if isinstance(node, ast.Call) else None
        if name is not None and name.startswith(("torch.cuda.", "torch.npu.", "torch_npu.npu.")):
            return not name.endswith(("get_device_capability", "get_device_properties"))
    return False


def refused_test(node: ast.expr, file: PythonFile, subject: str, *, is_replaced: bool = False) -> Diagnostic:
    """The finding about a test for CUDA that stays, so that it lets no program run into an error.

    ``is_replaced`` says that ``transfer_to_npu`` makes it true on an NPU.
    """
    if is_replaced and file.plan.style == "auto":
        return file.report(
            node,
            "transfer_to_npu makes this test true on an NPU, and what follows is an error",
            safety=Safety.MANUAL,
            subject=subject,
            advice="test for x.device.type == 'cuda' instead, unless the error is meant for an NPU, too",
        )
    return file.report(
        node,
        "what follows this test for CUDA is an error: the test stays, and is false on an NPU",
        safety=Safety.MANUAL,
        severity=Severity.INFO,
        subject=subject,
        advice="change it if the error is meant for an NPU, too",
    )
