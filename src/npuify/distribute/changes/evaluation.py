"""Evaluation: shared out among the processes where its numbers are sums over batches, else done by each in full."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.distribute.edits import Unprovable
from npuify.distribute.losses.steadiness import unsteady_condition
from npuify.distribute.reading.loops import LOOPS, inside
from npuify.language import phrase
from npuify.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.edits import Draft
    from npuify.distribute.losses.gradients import Gradients
    from npuify.distribute.reading.loops import Loops, Pass
    from npuify.distribute.reading.program import Program

_ZEROS = frozenset(("torch.zeros", "numpy.zeros", "torch.tensor"))
_TALKING = frozenset(
    "print info debug warning log write set_postfix set_description set_postfix_str eval flush add_scalar add_image "
    "save_image savefig imwrite append".split()
)


class NotShared(Exception):
    """Why an evaluation cannot be shared out."""


def share_evaluation(program: Program, loops: Loops, gradients: Gradients, draft: Draft) -> None:
    """Edit the evaluations that can be shared out, and say of the others why they are not."""
    training = {loader.place for one in loops.passes if one.trains for loader in one.loaders}
    for one in loops.passes:
        if one.trains or one.data is None or not _evaluates(one, program, loops):
            continue
        unit, editor = one.unit, draft.editor(one.unit)
        try:
            if not isinstance(one.node, ast.For) or one.iterator is not None:
                raise NotShared("its batches are fetched with next()")
            if one.others or not one.data.is_all:
                raise NotShared("its batches do not come straight from one loader")
            condition = unsteady_condition(one.node, unit, loops)
            if condition is not None:
                raise NotShared(
                    phrase("not every process may get here, since {condition} may differ", condition=condition)
                )
            if training & {loader.place for loader in one.loaders}:
                raise NotShared("its loader is the training loader")
            if any(loader.definition is not None for loader in one.loaders):
                raise NotShared("its loader is one of the program's classes")
            sums, lists = _results(one.node, one, program, loops)
            _check_gradients(one, gradients, {*sums, *lists})
            counter = _enumerate(one)
            if counter is not None:
                edits = [editor.replace(counter.func, "npu_distributed.numbered")]
            else:
                edits = editor.around(one.data.node, "npu_distributed.my_batches(")
            lines = [f"{', '.join(sums)} = npu_distributed.total({', '.join(sums)})"] if sums else []
            lines += [f"{name} = npu_distributed.gathered({name})" for name in lists]
            edits.append(editor.after(one.node, *lines))
            what = ", ".join([*sums, *lists])
            message = phrase(
                "each process evaluates its own batches, every batch once; {what} cover all processes", what=what
            )
            draft.done("NPU355", unit, one.node, message, edits)
            draft.meet(unit, one.node)
        except (NotShared, Unprovable) as problem:
            message = phrase(
                "every process evaluates everything, and gets the same results: {problem}", problem=problem
            )
            advice = "no action needed; it takes as long as on one card"
            draft.left("NPU355", unit, one.node, message, advice, Severity.INFO)


def _evaluates(one: Pass, program: Program, loops: Loops) -> bool:
    """Whether a loop calls a model."""
    for region, unit in ((one.node, one.unit), *program.reached((one.node, one.unit)).items()):
        for node in ast.walk(region):
            if isinstance(node, ast.Call) and (
                program.models(node.func, unit)
                or (isinstance(node.func, ast.Attribute) and program.models(node.func.value, unit))
            ):
                return True
    return False


def _results(loop: ast.For, one: Pass, program: Program, loops: Loops) -> tuple[list[str], list[str]]:
    """The names that the loop adds up, and the lists that it appends to.

    Raises:
        NotShared: something else comes out of the loop, or its turns depend on each other.
    """
    unit = one.unit
    for node in ast.walk(loop):
        if isinstance(node, (ast.Break, ast.Return, ast.Yield, ast.YieldFrom)):
            raise NotShared("the loop may end before its last batch")
        if isinstance(node, ast.Call) and program.models(node.func, unit):
            if not loops.without_gradient(node, unit):
                raise NotShared("it is not under torch.no_grad()")
    sums: dict[str, None] = {}
    lists: dict[str, None] = {}
    own = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for statement in _statements(loop.body):
        if isinstance(statement, ast.AugAssign):
            target = statement.target.value if isinstance(statement.target, ast.Subscript) else statement.target
            if not isinstance(target, ast.Name) or not isinstance(statement.op, ast.Add):
                raise NotShared(
                    phrase(
                        "{target} is not accumulated in a way that can be analyzed",
                        target=unit.source.code(statement.target),
                    )
                )
            if target.id not in own:
                sums[target.id] = None
        elif isinstance(statement, ast.Assign):
            _assigned(statement, own, sums, unit.source.code(statement.targets[0]))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            name = _appended(statement, loop, own, unit.source.code(statement.value.func))
            if name is not None:
                if name in lists:
                    raise NotShared(phrase("{name} gets more than one item per batch", name=name))
                lists[name] = None
        elif isinstance(statement, (ast.For, ast.AnnAssign)):
            own |= {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
        elif isinstance(statement, (ast.While, ast.Delete, ast.Global, ast.Nonlocal, ast.Try)):
            raise NotShared("the loop cannot be analyzed")
    if not sums and not lists:
        raise NotShared("nothing is accumulated that could be combined again")
    _check_index(loop, one)
    for name in (*sums, *lists):
        _check_beginning(name, loop, one, is_list=name in lists, parts=_has_parts(name, loop))
        _check_reads(name, loop)
    _check_carried(loop, own - set(sums) - set(lists), one)
    return list(sums), list(lists)


def _check_gradients(one: Pass, gradients: Gradients, names: set[str]) -> None:
    """What is put together from all processes has no gradients any more."""
    for node in ast.walk(one.node):
        if isinstance(node, ast.Name) and node.id in names and gradients.reach(node, one.unit):
            raise NotShared(phrase("{id} is what backward() is called of", id=node.id))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, None) or [])


def _assigned(statement: ast.Assign, own: set[str], sums: dict[str, None], text: str) -> None:
    for target in statement.targets:
        for element in getattr(target, "elts", [target]):
            if not isinstance(element, ast.Name):
                raise NotShared(phrase("{text} is set for each batch", text=text))
            value = statement.value
            added = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
            if added and isinstance(value.left, ast.Name) and value.left.id == element.id and element.id not in own:  # type: ignore[attr-defined]
                sums[element.id] = None
            else:
                own.add(element.id)


def _appended(statement: ast.Expr, loop: ast.For, own: set[str], text: str) -> str | None:
    """The list that a statement appends to."""
    call = statement.value
    assert isinstance(call, ast.Call)
    word = text.rpartition(".")[2]
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if word not in _TALKING or (isinstance(base, ast.Name) and base.id in own and word == "append"):
        if isinstance(base, ast.Name) and base.id in own:
            return None
        raise NotShared(phrase("what {text}() keeps cannot be combined again", text=text))
    if word != "append":
        return None
    if not isinstance(base, ast.Name) or statement not in loop.body:
        raise NotShared(phrase("{text}() is not called once per batch", text=text))
    return base.id


def _has_parts(name: str, loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Subscript)
        and getattr(node.target.value, "id", "") == name
        for node in ast.walk(loop)
    )


def _check_beginning(name: str, loop: ast.For, one: Pass, *, is_list: bool, parts: bool) -> None:
    """A sum begins with zero, a list empty, in the same function, and anew for each run of the loop."""
    unit = one.unit
    stores = [
        unit.statement(node)
        for node in ast.walk(one.frame)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    before = [item for item in stores if item.lineno < loop.lineno and not inside(item, loop)]
    if len(before) != 1 or not isinstance(before[0], (ast.Assign, ast.AnnAssign)):
        raise NotShared(phrase("{name} is not reset right before the loop", name=name))
    value = _value_of(name, before[0])
    if is_list:
        good = isinstance(value, ast.List) and not value.elts
    elif isinstance(value, ast.Call):
        zero = value.args[0] if value.args else None
        tensor = unit.qualname(value.func) == "torch.tensor"
        good = unit.qualname(value.func) in _ZEROS and (not tensor or getattr(zero, "value", 1) == 0)
    else:
        good = isinstance(value, ast.Constant) and value.value == 0 and not parts
    if not good:
        raise NotShared(
            phrase("{name} does not start as {value}", name=name, value="an empty list" if is_list else "zero")
        )
    for up in unit.ancestors(loop):
        if isinstance(up, LOOPS):
            if not inside(before[0], up):
                raise NotShared(phrase("{name} carries over from one run of the loop to the next", name=name))
            break
        if up is one.frame:
            break


def _value_of(name: str, statement: ast.Assign | ast.AnnAssign) -> ast.expr | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if isinstance(target, ast.Name) and target.id == name:
            return statement.value
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for element, value in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(element, ast.Name) and element.id == name:
                    return value
    return None


def _check_reads(name: str, loop: ast.For) -> None:
    """Inside the loop a sum may be read by its own addition and for a progress bar only."""
    for statement in _statements(loop.body):
        if isinstance(statement, (ast.If, ast.For, ast.With)):
            tests = [getattr(statement, "test", None), getattr(statement, "iter", None)]
            if any(test is not None and _reads(test, name) for test in tests):
                raise NotShared(phrase("{name} affects control flow inside the loop", name=name))
            continue
        if isinstance(statement, ast.AugAssign):
            if _reads(statement.value, name):
                raise NotShared(phrase("{name} is used inside the loop", name=name))
        elif isinstance(statement, ast.Assign):
            adds = any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
            if not adds and _reads(statement.value, name):
                raise NotShared(phrase("{name} is used inside the loop", name=name))


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(node))


def _enumerate(one: Pass) -> ast.Call | None:
    """The call of ``enumerate`` right around the loader; its numbers stay those of one process alone."""
    for node in ast.walk(one.node.iter) if isinstance(one.node, ast.For) else ():
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "enumerate" and node.args:
            return node if one.data is not None and node.args[0] is one.data.node else None
    return None


def _check_index(loop: ast.For, one: Pass) -> None:
    """The number of a batch must not be used where it is counted from outside of a progress bar."""
    called = loop.iter
    counted = isinstance(called, ast.Call) and getattr(called.func, "id", "") == "enumerate"
    if not counted or _enumerate(one) is not None or not isinstance(loop.target, ast.Tuple):
        return
    number = loop.target.elts[0]
    if isinstance(number, ast.Name) and any(_reads(statement, number.id) for statement in loop.body):
        raise NotShared(phrase("the batch number, {id}, would differ", id=number.id))


def _check_carried(loop: ast.For, names: set[str], one: Pass) -> None:
    """What a turn sets must not be read by the next turn, nor after the loop."""
    end = loop.end_lineno or loop.lineno
    target = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for name in sorted(names - target):
        places = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == name]
        statements = [(one.unit.statement(node).lineno, isinstance(node.ctx, ast.Store)) for node in places]
        if min(statements)[1] is False:
            raise NotShared(phrase("{name} carries over from one batch to the next", name=name))
    for node in ast.walk(one.frame):
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load) and node.lineno > end:
            first = min(
                (
                    item.lineno
                    for item in ast.walk(one.frame)
                    if isinstance(item, ast.Name)
                    and item.id == node.id
                    and item.lineno > end
                    and isinstance(item.ctx, ast.Store)
                ),
                default=node.lineno + 1,
            )
            if first >= node.lineno:
                raise NotShared(phrase("{id} from the last batch is used after the loop", id=node.id))
