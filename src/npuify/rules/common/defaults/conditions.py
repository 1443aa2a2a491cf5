"""Which option has to be given before a place runs: conditions, judged with the defaults that the project declares.

What cannot be told counts as running: only a condition that is surely false with every declared default keeps a place
from it.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING, Any, Final

from npuify.language import phrase
from npuify.rules.common.blocks import ifs_before
from npuify.rules.common.defaults.callers import switch_of_callers
from npuify.rules.common.defaults.model_formats import of_model_format
from npuify.rules.common.defaults.options import Known, defaults_of
from npuify.rules.common.defaults.parameters import default_of_parameter
from npuify.rules.common.defaults.process_groups import of_environment, of_group, of_own_function
from npuify.rules.common.defaults.settings import default_of_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.rules.context import PythonFile

_DEPTH: Final = 4
"""Names that are followed, one after another."""
_CALLERS: Final = 3
"""Functions, one calling another, through which a place is followed back to the switch that it is behind."""
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


def only_with(node: ast.AST, file: PythonFile, callers: int = _CALLERS) -> str:
    """The option, variable or constant without which a place does not run; empty where it may run without one.

    Args:
        node: the place.
        file: its file.
        callers: how many functions to go back, to where they are called.
    """
    return _switch_at(node, file, callers)


def _switch_at(node: ast.AST, file: PythonFile, callers: int) -> str:
    current = node
    for up in file.ancestors(node):
        for test, wanted in _conditions(current, up, file):
            known = _by_default(test, file)
            if known is not None and known.switch and bool(known.value) is not wanted:
                return known.switch
        for chain in _chains_before(current, up, file):
            switch = _switch_of_chain(chain, up, file)
            if switch:
                return switch
        current = up
    return switch_of_callers(node, file, callers, only_with)


def _by_default(test: ast.expr, file: PythonFile) -> Known | None:
    """A condition with all options at their defaults, asked once for all that stands behind it."""
    key = ("by default", test)
    known: tuple[Known | None] | None = file.recall(key)
    if known is None:
        known = file.remember(key, (_evaluate(test, file, _DEPTH),))
    return known[0]


def holds_by_default(test: ast.expr, file: PythonFile) -> bool:
    """Whether a condition surely holds where the program is started without options, by what an option defaults to."""
    known = _by_default(test, file)
    return known is not None and bool(known.switch) and bool(known.value)


def by_default(node: ast.expr, file: PythonFile) -> Known | None:
    """What an expression is where the program is started without options, and which decides it; None: not known."""
    return _evaluate(node, file, _DEPTH)


def _conditions(node: ast.AST, up: ast.AST, file: PythonFile) -> Iterator[tuple[ast.expr, bool]]:
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
    if isinstance(node, ast.stmt) and not isinstance(up, ast.ClassDef):
        # What stands behind "if not args.amp: return" runs only with the option.
        for before in ifs_before(node, up, file):
            if not before.orelse and _leaves(before.body[-1], up):
                yield before.test, False


def _chains_before(node: ast.AST, up: ast.AST, file: PythonFile) -> list[ast.If]:
    """The chains of ``if``, ``elif`` and ``else`` before a statement in its block."""
    if not isinstance(node, ast.stmt) or isinstance(up, ast.ClassDef):
        return []
    return [before for before in ifs_before(node, up, file) if before.orelse]


def _switch_of_chain(chain: ast.If, up: ast.AST, file: PythonFile) -> str:
    """The switch of the first condition of a chain whose branch, taken by default, leaves the block; else empty."""
    switch = ""
    while True:
        known = _by_default(chain.test, file)
        if known is None:
            return ""
        switch = switch or known.switch
        if known.value:
            return switch if _leaves(chain.body[-1], up) else ""
        if len(chain.orelse) == 1 and isinstance(chain.orelse[0], ast.If):
            chain = chain.orelse[0]
            continue
        return switch if chain.orelse and _leaves(chain.orelse[-1], up) else ""


def _leaves(last: ast.stmt, block: ast.AST) -> bool:
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.Continue) and isinstance(block, (ast.For, ast.While))


def _evaluate(node: ast.expr, file: PythonFile, depth: int) -> Known | None:
    """An expression with all options at their defaults; None where that is not known."""
    if isinstance(node, ast.Constant):
        return Known(node.value, "")
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = [_evaluate(one, file, depth) for one in node.elts]
        return None if None in parts else Known([one.value for one in parts if one is not None], "")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = _evaluate(node.operand, file, depth)
        return known and Known(not known.value, known.switch)
    if isinstance(node, ast.BoolOp):
        return _all_or_any([_evaluate(one, file, depth) for one in node.values], isinstance(node.op, ast.And))
    if isinstance(node, ast.Compare):
        return _compared(node, file, depth)
    if isinstance(node, ast.Call):
        return _called(node, file, depth)
    if depth and isinstance(node, ast.Name):
        return _of_name(node, file, depth - 1)
    if depth and isinstance(node, ast.Subscript):
        return default_of_setting(node, file)
    if depth and isinstance(node, ast.Attribute):
        return default_of_setting(node, file) or _of_attribute(node, file, depth - 1)
    return None


def _all_or_any(parts: list[Known | None], is_and: bool) -> Known | None:
    for one in parts:
        if one is not None and bool(one.value) is not is_and:
            return one
    if None in parts:
        return None
    return next((one for one in parts if one is not None and one.switch), parts[-1])


def _compared(node: ast.Compare, file: PythonFile, depth: int) -> Known | None:
    compare = _COMPARISONS.get(type(node.ops[0]))
    if compare is None or len(node.ops) > 1:
        return None
    if isinstance(node.ops[0], (ast.In, ast.NotIn)) and file.qualname(node.comparators[0]) == "os.environ":
        variable = node.left.value if isinstance(node.left, ast.Constant) else None
        known = of_environment(variable) if isinstance(variable, str) else None
        return known and Known(isinstance(node.ops[0], ast.NotIn), known.switch)
    # Most are compared with a constant; an option's default takes a look at where it is declared.
    right = _evaluate(node.comparators[0], file, depth)
    left = None if right is None else _evaluate(node.left, file, depth)
    if left is None or right is None:
        return None
    try:
        holds = compare(left.value, right.value)
    except TypeError:
        return None
    switch = left.switch or right.switch
    if isinstance(node.ops[0], ast.Eq) and left.switch.startswith("--") and isinstance(right.value, (str, int, float)):
        switch = f"{left.switch} {right.value}"
    return Known(holds, switch)


def _called(node: ast.Call, file: PythonFile, depth: int) -> Known | None:
    """A variable of the environment, a question about the process group, or a conversion of what is known."""
    name = file.qualname(node.func) or ""
    if name.startswith("torch.distributed."):
        return of_group(name, file, only_with)
    own = of_own_function(node, file, lambda value, home: _evaluate(value, home, depth - 1)) if depth else None
    if own is not None:
        return own
    if name in _ENVIRONMENT and node.args and not node.keywords:
        variable = node.args[0]
        default = _evaluate(node.args[1], file, depth) if len(node.args) > 1 else Known(None, "")
        if default is None or not isinstance(variable, ast.Constant) or not isinstance(variable.value, str):
            return None
        return Known(default.value, phrase("the variable {value}", value=variable.value))
    convert = (
        _CONVERSIONS.get(node.func.id) if isinstance(node.func, ast.Name) and not file.assigned(node.func) else None
    )
    known = _evaluate(node.args[0], file, depth) if convert and len(node.args) == 1 and not node.keywords else None
    if convert is None or known is None:
        return None
    try:
        return Known(convert(known.value), known.switch)
    except (TypeError, ValueError):
        return None


def _of_name(node: ast.Name, file: PythonFile, depth: int) -> Known | None:
    """A name that is bound once: to a constant at the top of a file, or to something that is known."""
    bound = file.assigned(node)
    if bound == [None]:
        return default_of_parameter(node, file) or of_model_format(node, file)
    if len(bound) != 1 or bound[0] is None:
        return None
    value = bound[0]
    known = _evaluate(value, file, depth)
    if known is None or known.switch or not isinstance(value, ast.Constant):
        return known
    is_switch = node.id.isupper() and isinstance(known.value, bool)
    return Known(known.value, f"{node.id} = True") if is_switch and not known.value else None


def _of_attribute(node: ast.Attribute, file: PythonFile, depth: int) -> Known | None:
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
    found = defaults_of(node.attr, file.project, file.source.relative)
    values = {repr(one.value) for one in found if one is not None}
    if not found or None in found or len(values) != 1:
        return None
    return found[0]


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
