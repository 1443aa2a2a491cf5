"""Initialisers of variables and of iterators, which must not run together on an NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_VARIABLES: Final = frozenset(
    f"tf.{name}"
    for name in (
        *("global_variables_initializer", "local_variables_initializer", "variables_initializer"),
        *("initialize_all_variables", "initialize_local_variables", "initialize_variables"),
        *("initializers.global_variables", "initializers.local_variables", "initializers.variables"),
    )
)
_MADE_OF_VARIABLES: Final = ("tf.Variable", "tf.get_variable")
_DEPTH: Final = 3
"""Names through which an initialiser is followed."""


@rule(
    "NPU902",
    "initialisers-in-one-group",
    Safety.REVIEW,
    words=("initializer", "initialize_"),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter, faq: variables and preprocessing initialised in one subgraph; "
    "om_partition_subgraphs_pass.cc: a graph with an iterator and its initialiser stays on the host",
)
def initialisers_in_one_group(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Variables and iterators whose initialisers run together stay 0 on an NPU: nothing fails, and nothing is learned.

    The graph of such a call runs on the host because of the iterator, and the variables on the device never see their
    values. One group and one list are the same to it. Tables count where iterators are initialised with them.

    Before::

        import tensorflow as tf

        data = tf.data.Dataset.range(8).make_initializable_iterator()
        tf.get_default_session().run([tf.global_variables_initializer(), data.initializer])

    After::

        import tensorflow as tf

        data = tf.data.Dataset.range(8).make_initializable_iterator()
        tf.get_default_session().run(tf.global_variables_initializer())
        tf.get_default_session().run(data.initializer)
    """
    if api_name(node.func, file) not in _VARIABLES:
        return
    for place in _run_with(node, file, _DEPTH):
        parts = _parts(place)
        kinds = [_kinds(part, file, _DEPTH) for part in parts]
        if not any("iterator" in kind for kind in kinds) or any(len(kind) > 1 for kind in kinds):
            continue  # none, or told of where the two come together
        first = next((part for part, kind in zip(parts, kinds, strict=True) if "variables" in kind), None)
        if first is None or not _leads_to(first, node, file, _DEPTH):
            continue  # told of once for each place
        is_group = place.args and not isinstance(place.args[0], (ast.List, ast.Tuple))
        yield file.report(
            place,
            "variables that are initialised in one group with an iterator stay 0 on the NPU"
            if is_group
            else "variables that are initialised in one call with an iterator stay 0 on the NPU",
            edits=_group_apart(place, file) if is_group else _list_apart(place, kinds, file),
            subject="tf.group" if is_group else "run",
            advice="run tf.global_variables_initializer() and iterator.initializer in two calls of sess.run",
        )


def _run_with(node: ast.expr, file: PythonFile, depth: int) -> Iterator[ast.Call]:
    """The calls, of ``tf.group`` or of a session's ``run`` with a list, that an initialiser is given to."""
    parent = file.parent(node)
    if isinstance(parent, ast.Call) and node in parent.args and api_name(parent.func, file) == "tf.group":
        yield parent
        yield from _run_with(parent, file, depth)
    elif isinstance(parent, (ast.List, ast.Tuple)):
        call = file.parent(parent)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "run":
            if call.args and call.args[0] is parent:
                yield call
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and depth:
        target = parent.targets[0]
        if not isinstance(target, ast.Name):
            return
        for use in file.nodes_on_lines_with(target.id):
            if isinstance(use, ast.Name) and use.id == target.id and isinstance(use.ctx, ast.Load):
                if parent.value in file.assigned(use):
                    yield from _run_with(use, file, depth - 1)


def _parts(call: ast.Call) -> list[ast.expr]:
    """What a group or a call of ``run`` puts together."""
    given = call.args[0] if call.args else None
    return given.elts if isinstance(given, (ast.List, ast.Tuple)) else call.args


def _kinds(node: ast.expr, file: PythonFile, depth: int) -> set[str]:
    """What an expression initialises, ``variables`` or an ``iterator`` or both; nothing where that is not known."""
    if isinstance(node, ast.Attribute) and node.attr == "initializer":
        made = file.assigned(node.value) if isinstance(node.value, ast.Name) else [node.value]
        are_variables = made and all(
            isinstance(one, ast.Call) and api_name(one.func, file) in _MADE_OF_VARIABLES for one in made
        )
        return set() if are_variables else {"iterator"}
    if isinstance(node, ast.Name) and depth:
        values = [value for value in file.assigned(node) if value is not None]
        return set().union(*(_kinds(value, file, depth - 1) for value in values))
    if not isinstance(node, ast.Call):
        return set()
    name = api_name(node.func, file)
    if name in _VARIABLES:
        return {"variables"}
    if name == "tf.tables_initializer":
        return {"iterator"} if file.contains(b"TABLE_INITIALIZERS") else set()
    if isinstance(node.func, ast.Attribute) and node.func.attr == "make_initializer":
        return {"iterator"}
    if name == "tf.group":
        return set().union(*(_kinds(part, file, depth) for part in node.args))
    return set()


def _leads_to(node: ast.expr, made: ast.Call, file: PythonFile, depth: int) -> bool:
    """Whether an expression is made by a call: the call itself, a group of it, or a name that is assigned it."""
    if node is made:
        return True
    if isinstance(node, ast.Name) and depth:
        first = next((value for value in file.assigned(node) if value is not None), None)
        return first is not None and _leads_to(first, made, file, depth - 1)
    if isinstance(node, ast.Call) and api_name(node.func, file) == "tf.group":
        part = next((one for one in node.args if "variables" in _kinds(one, file, _DEPTH)), None)
        return part is not None and _leads_to(part, made, file, depth)
    return False


def _group_apart(group: ast.Call, file: PythonFile) -> list[Edit]:
    """Edits that run the parts of a group one after the other, where nothing else is done with it."""
    run = file.parent(group)
    if not (isinstance(run, ast.Call) and run.args == [group] and not run.keywords):
        return []
    if group.keywords or any(isinstance(one, ast.Starred) for one in group.args):
        return []
    func = file.code(run.func)
    return _one_by_one(run, [f"{func}({file.code(one)})" for one in group.args], file)


def _list_apart(run: ast.Call, kinds: list[set[str]], file: PythonFile) -> list[Edit]:
    """Edits that run what initialises iterators in a second call, where nothing is done with what ``run`` returns."""
    parts = _parts(run)
    fed = argument(run, 1, "feed_dict")
    if any(isinstance(one, ast.Starred) for one in parts) or len(run.args) + len(run.keywords) > 1 + (fed is not None):
        return []
    if fed is not None and any(isinstance(one, (ast.Call, ast.Await, ast.NamedExpr)) for one in ast.walk(fed)):
        return []  # evaluated twice
    func, feeds = file.code(run.func), f", feed_dict={file.code(fed)}" if fed is not None else ""
    calls = []
    for is_iterator in (False, True):
        codes = [file.code(one) for one, kind in zip(parts, kinds, strict=True) if ("iterator" in kind) is is_iterator]
        calls.append(f"{func}({codes[0] if len(codes) == 1 else '[' + ', '.join(codes) + ']'}{feeds})")
    return _one_by_one(run, calls, file)


def _one_by_one(run: ast.Call, calls: list[str], file: PythonFile) -> list[Edit]:
    """Edits that put several calls in the place of one that is a statement on lines of its own."""
    statement = file.parent(run)
    if not isinstance(statement, ast.Expr):
        return []
    indent = indentation(statement, file)
    if indent is None or not ends_its_line(statement, file):
        return []
    return [file.replace(run, (file.source.text.newline + indent).join(calls))]
