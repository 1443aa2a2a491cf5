"""Which option has to be given before a place runs: conditions, judged with the defaults that the project declares.

What cannot be told counts as running: only a condition that is surely false with every declared default keeps a place
from it.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.rules.context import PythonFile

_DEPTH: Final = 4
"""Names that are followed, one after another."""
_MOST_FILES: Final = 12
"""Files that may declare an option; of a name that more have, nothing is known."""
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
_CONVERSIONS: Final[dict[str, Callable[[Any], object]]] = {"bool": bool, "int": int, "str": str}
_USUAL: Final = re.compile(r"(?i)(?:.*_)?(?:args?|arguments|opts?|options|flags|hparams|hps)")
"""What programs call the options that they have read."""
_ENVIRONMENT: Final = frozenset(("os.environ.get", "os.getenv"))
_FLAGS: Final = frozenset(
    ("DEFINE_bool", "DEFINE_boolean", "DEFINE_string", "DEFINE_integer", "DEFINE_float", "DEFINE_enum")
)


class _Known(NamedTuple):
    """What an expression is when the program is started without options, and which switch decides that."""

    value: Any
    switch: str


def only_with(node: ast.AST, file: PythonFile) -> str:
    """The option, variable or constant without which a place does not run; empty where it may run without one.

    Args:
        node: the place.
        file: its file.
    """
    current = node
    for up in file.ancestors(node):
        for test, wanted in _conditions(current, up):
            known = _evaluate(test, file, _DEPTH)
            if known is not None and known.switch and bool(known.value) is not wanted:
                return known.switch
        current = up
    return ""


def _conditions(node: ast.AST, up: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """What must hold, or must not, for ``node`` to run within ``up``."""
    if isinstance(up, (ast.If, ast.While)):
        if node in up.body:
            yield up.test, True
        elif node in up.orelse and isinstance(up, ast.If):
            yield up.test, False
    elif isinstance(up, ast.IfExp) and node is not up.test:
        yield up.test, node is up.body
    elif isinstance(up, ast.BoolOp) and isinstance(node, ast.expr) and node in up.values:
        for earlier in up.values[: up.values.index(node)]:
            yield earlier, isinstance(up.op, ast.And)
    if isinstance(node, ast.stmt):
        for block in (getattr(up, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block and not isinstance(up, ast.ClassDef):
                # What stands behind "if not args.amp: return" runs only with the option.
                for before in block[: block.index(node)]:
                    if isinstance(before, ast.If) and not before.orelse and _leaves(before.body[-1], up):
                        yield before.test, False


def _leaves(last: ast.stmt, block: ast.AST) -> bool:
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.Continue) and isinstance(block, (ast.For, ast.While))


def _evaluate(node: ast.expr, file: PythonFile, depth: int) -> _Known | None:
    """An expression with all options at their defaults; None where that is not known."""
    if isinstance(node, ast.Constant):
        return _Known(node.value, "")
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = [_evaluate(one, file, depth) for one in node.elts]
        return None if None in parts else _Known([one.value for one in parts if one is not None], "")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = _evaluate(node.operand, file, depth)
        return known and _Known(not known.value, known.switch)
    if isinstance(node, ast.BoolOp):
        return _all_or_any([_evaluate(one, file, depth) for one in node.values], isinstance(node.op, ast.And))
    if isinstance(node, ast.Compare):
        return _compared(node, file, depth)
    if isinstance(node, ast.Call):
        return _called(node, file, depth)
    if depth and isinstance(node, ast.Name):
        return _of_name(node, file, depth - 1)
    if depth and isinstance(node, ast.Attribute):
        return _of_attribute(node, file, depth - 1)
    return None


def _all_or_any(parts: list[_Known | None], is_and: bool) -> _Known | None:
    for one in parts:
        if one is not None and bool(one.value) is not is_and:
            return one
    if None in parts:
        return None
    return next((one for one in parts if one is not None and one.switch), parts[-1])


def _compared(node: ast.Compare, file: PythonFile, depth: int) -> _Known | None:
    compare = _COMPARISONS.get(type(node.ops[0]))
    if compare is None or len(node.ops) > 1:
        return None
    left, right = _evaluate(node.left, file, depth), _evaluate(node.comparators[0], file, depth)
    if left is None or right is None:
        return None
    try:
        holds = compare(left.value, right.value)
    except TypeError:
        return None
    switch = left.switch or right.switch
    if isinstance(node.ops[0], ast.Eq) and left.switch.startswith("--") and isinstance(right.value, (str, int, float)):
        switch = f"{left.switch} {right.value}"
    return _Known(holds, switch)


def _called(node: ast.Call, file: PythonFile, depth: int) -> _Known | None:
    """A variable of the environment, or a conversion of what is known."""
    name = file.qualname(node.func) or ""
    if name in _ENVIRONMENT and node.args and not node.keywords:
        variable = node.args[0]
        default = _evaluate(node.args[1], file, depth) if len(node.args) > 1 else _Known(None, "")
        if default is None or not isinstance(variable, ast.Constant) or not isinstance(variable.value, str):
            return None
        return _Known(default.value, f"the variable {variable.value}")
    convert = (
        _CONVERSIONS.get(node.func.id) if isinstance(node.func, ast.Name) and not file.assigned(node.func) else None
    )
    known = _evaluate(node.args[0], file, depth) if convert and len(node.args) == 1 and not node.keywords else None
    if convert is None or known is None:
        return None
    try:
        return _Known(convert(known.value), known.switch)
    except (TypeError, ValueError):
        return None


def _of_name(node: ast.Name, file: PythonFile, depth: int) -> _Known | None:
    """A name that is bound once: to a constant at the top of a file, or to something that is known."""
    bound = file.assigned(node)
    if len(bound) != 1 or bound[0] is None:
        return None
    value = bound[0]
    known = _evaluate(value, file, depth)
    if known is None or known.switch or not isinstance(value, ast.Constant):
        return known
    is_switch = node.id.isupper() and isinstance(known.value, bool)
    return _Known(known.value, f"{node.id} = True") if is_switch and not known.value else None


def _of_attribute(node: ast.Attribute, file: PythonFile, depth: int) -> _Known | None:
    """An option as the program reads it, or what an object was given once."""
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        stored = [
            one.value
            for one in file.nodes_on_lines_with(node.attr)
            if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign))
            and any(isinstance(target, ast.Attribute) and target.attr == node.attr for target in _targets(one))
        ]
        return _evaluate(stored[0], file, depth) if len(stored) == 1 and stored[0] is not None else None
    if not _is_namespace(node.value, file):
        return None
    key = ("default", node.attr)
    found = file.recall(key)
    if found is None:
        found = file.remember(key, tuple(_defaults(node.attr, file)))
    values = {repr(one.value) for one in found if one is not None}
    if not found or None in found or len(values) != 1:
        return None
    known: _Known = found[0]
    return known


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_namespace(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression holds the options that a parser of argparse, or absl, has read.

    Beyond the file the name tells: it counts only where the project declares an option of the attribute's name, and to
    follow parameters through all callers of a large project takes minutes.
    """
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if _USUAL.fullmatch(name):
        return True
    values = file.values(node)
    return any(
        value.name.startswith(("absl.flags.FLAGS", "argparse."))
        or any("argparse." in step.text for step in values.why(value))
        for value in values
    )


def _defaults(name: str, file: PythonFile) -> Iterator[_Known | None]:
    """What each declaration of an option gives where it is not asked for; None where that is not known."""
    words = {name.encode(), name.replace("_", "-").encode()}
    quoted = {quote + dashes + word + quote for word in words for quote in (b'"', b"'") for dashes in (b"--", b"")}
    declaring = {relative for word in quoted for relative in file.project.files_with(word)}
    storing = set(file.project.files_storing(name.encode()))
    if len(declaring) > _MOST_FILES or len(storing) > _MOST_FILES:
        yield None
        return
    for relative in sorted(declaring | storing):
        file.project.dependencies.add(relative)
        tree = _tree(relative, file)
        if tree is None:
            yield None
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _overwrites(node, name):
                yield None
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "add_argument" and _declares(node, name):
                    yield _default(node, name)
                elif node.func.attr in _FLAGS and node.args and _text(node.args[0]) == name:
                    yield _default_of_flag(node, name)
                elif node.func.attr == "set_defaults" and any(one.arg in (name, None) for one in node.keywords):
                    yield None


def _tree(relative: str, file: PythonFile) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse((file.project.root / relative).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _overwrites(node: ast.Assign | ast.AnnAssign | ast.AugAssign, name: str) -> bool:
    """Whether a statement sets the option after it was read: an attribute of that name, but not one of ``self``."""
    return any(
        isinstance(target, ast.Attribute)
        and target.attr == name
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
        for target in _targets(node)
    )


def _declares(call: ast.Call, name: str) -> bool:
    dest = next((_text(one.value) for one in call.keywords if one.arg == "dest"), "")
    names = [_text(one) for one in call.args]
    return dest == name or (
        not dest and any(one.startswith("-") and one.lstrip("-").replace("-", "_") == name for one in names)
    )


def _default(call: ast.Call, name: str) -> _Known | None:
    given = {one.arg: one.value for one in call.keywords}
    option = next((text for one in call.args if (text := _text(one)).startswith("--")), f"--{name}")
    if None in given:
        return None
    if "default" in given:
        try:
            return _Known(ast.literal_eval(given["default"]), option)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
    action = _text(given["action"]) if "action" in given else ""
    if action in ("store_true", "store_false"):
        return _Known(action == "store_false", option)
    if "nargs" in given and _text(given["nargs"]) == "?":
        return _Known(None, option)
    return None if action not in ("", "store") or "required" in given else _Known(None, option)


def _default_of_flag(call: ast.Call, name: str) -> _Known | None:
    default = (
        call.args[1] if len(call.args) > 1 else next((one.value for one in call.keywords if one.arg == "default"), None)
    )
    return _Known(default.value, f"--{name}") if isinstance(default, ast.Constant) else None


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
