"""What a function of one tensor computes, found by computing it with numbers."""

from __future__ import annotations

import ast
import math
import operator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from npuify.rules.tensorflow.names import api_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.rules.context import PythonFile


class Gelu(Enum):
    """The two formulas of GELU."""

    TANH = "tanh"
    ERF = "erf"


_POINTS: Final = (-4.0, -2.2, -1.0, -0.3, 0.0, 0.4, 1.1, 2.0, 3.5)
_NEAR: Final = 2e-6
"""Constants are written with seven digits and more; the two formulas are 1e-4 apart where they are closest here."""
_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    "tanh": math.tanh,
    "erf": math.erf,
    "sqrt": math.sqrt,
    "square": lambda x: x * x,
    "exp": math.exp,
    "pow": lambda x, y: _power(x, y),
    "power": lambda x, y: _power(x, y),
    "multiply": operator.mul,
    "add": operator.add,
    "cast": lambda x, *_: x,
    "constant": lambda x, *_: x,
    "convert_to_tensor": lambda x, *_: x,
    "float32": float,
}
"""By the last part of the name, of functions of TensorFlow, NumPy and ``math``."""
_LONGEST: Final = 8


class _Unknown(Exception):
    """Something in the function is not known to be arithmetic."""


def gelu_of(function: ast.FunctionDef, file: PythonFile) -> tuple[Gelu | None, str]:
    """Which formula of GELU a function computes, and the parameter of which.

    Args:
        function: any function or method; one with more than one parameter (``self`` apart) is never judged.

    Returns:
        No formula where it computes something else, or where that cannot be told.
    """
    arguments = function.args
    names = [one.arg for one in [*arguments.posonlyargs, *arguments.args]]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    others = [arguments.vararg, arguments.kwarg, *arguments.kwonlyargs]
    if len(names) != 1 or any(others) or len(function.body) > _LONGEST:
        return None, ""
    try:
        found = [_result(function, names[0], point, file) for point in _POINTS]
    except (_Unknown, ArithmeticError, ValueError, TypeError, RecursionError):
        return None, ""
    for kind, formula in ((Gelu.TANH, _by_tanh), (Gelu.ERF, _by_erf)):
        if all(abs(value - formula(point)) <= _NEAR for value, point in zip(found, _POINTS, strict=True)):
            return kind, names[0]
    return None, ""


def _by_tanh(x: float) -> float:
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _by_erf(x: float) -> float:
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))


def _result(function: ast.FunctionDef, parameter: str, point: float, file: PythonFile) -> float:
    known: dict[str, float] = {parameter: point}
    for item in function.body:
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            continue
        if isinstance(item, ast.Return) and item.value is not None and item is function.body[-1]:
            return _value(item.value, known, file)
        if not (isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name)):
            raise _Unknown
        known[item.targets[0].id] = _value(item.value, known, file)
    raise _Unknown


def _value(node: ast.expr, known: dict[str, float], file: PythonFile) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known, file)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, known, file), _value(node.right, known, file)
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        found = _BINARY.get(type(node.op))
        if found is not None:
            return float(found(left, right))
    if isinstance(node, ast.Attribute) and file.qualname(node) in ("numpy.pi", "math.pi"):
        return math.pi
    if isinstance(node, ast.Call):
        return _called(node, known, file)
    raise _Unknown


def _called(node: ast.Call, known: dict[str, float], file: PythonFile) -> float:
    name = api_name(node.func, file) or file.qualname(node.func) or ""
    top, _, _ = name.partition(".")
    last = name.rpartition(".")[2]
    if top not in ("tf", "numpy", "math") or last not in _FUNCTIONS or not node.args:
        raise _Unknown
    if last in ("cast", "constant", "convert_to_tensor"):
        return _value(node.args[0], known, file)
    if node.keywords:
        raise _Unknown
    return float(_FUNCTIONS[last](*(_value(one, known, file) for one in node.args)))


def _power(base: float, exponent: float) -> float:
    if not exponent.is_integer() or abs(exponent) > 8:
        raise _Unknown
    return float(base**exponent)
