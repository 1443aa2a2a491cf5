"""Losses that are printed, added up or tested while training: of all processes, not of one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.distribute.edits import Unprovable
from npuify.distribute.loops import LOOPS, inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.edits import Page
    from npuify.distribute.flow import Flow
    from npuify.distribute.loops import Loops, Pass
    from npuify.distribute.program import Unit

_SAME_VALUE = frozenset(("detach", "cpu", "clone", "float", "item"))
_UNSTEADY = ("time.", "random.", "numpy.random.", "torch.rand", "os.getpid", "socket.", "datetime.")


class Losses:
    """The names and attributes that hold losses, by the function (for attributes: the class) that they belong to."""

    def __init__(self, flow: Flow, loops: Loops) -> None:
        self.flow = flow
        self.names: dict[ast.AST, set[str]] = {}
        self.attributes: set[tuple[ast.AST, str]] = set()
        for call, unit in loops.backwards:
            assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            value: ast.expr = call.func.value
            if isinstance(value, ast.Call) and value.args:
                value = value.args[0]
            for node in ast.walk(value) if isinstance(value, ast.BinOp) else [value]:
                self._add(node, unit)
        self._spread(loops)

    def _add(self, node: ast.AST, unit: Unit) -> bool:
        if isinstance(node, ast.Name):
            known = self.names.setdefault(unit.frame(node), set())
            new = node.id not in known
            known.add(node.id)
            return new
        if isinstance(node, ast.Attribute):
            keys = {
                (thing.definition, node.attr)
                for thing in self.flow.things(node.value, unit)
                if isinstance(thing.definition, ast.ClassDef) and thing.kind == "instance"
            }
            new = not keys <= self.attributes
            self.attributes |= keys
            return new
        return False

    def has(self, node: ast.expr, unit: Unit) -> bool:
        """Whether an expression is a loss."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_VALUE:
            node = node.func.value
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        if isinstance(node, ast.Name):
            return node.id in self.names.get(unit.frame(node), ())
        if isinstance(node, ast.Attribute):
            return any((thing.definition, node.attr) in self.attributes for thing in self.flow.things(node.value, unit))
        return False

    def _spread(self, loops: Loops) -> None:
        """Parts that a loss is added up from, sums of losses, and what functions that train return are losses, too."""
        for _ in range(5):
            changed = False
            for region, unit in loops.training:
                for node in ast.walk(region):
                    if isinstance(node, (ast.Assign, ast.AugAssign)):
                        changed |= self._spread_one(node, unit)
            if not changed:
                return

    def _spread_one(self, node: ast.Assign | ast.AugAssign, unit: Unit) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        changed = False
        parts = list(terms_of(node.value))
        for target in targets:
            if isinstance(target, (ast.Name, ast.Attribute)):
                if self.has(target, unit):
                    for part in parts:
                        if isinstance(part, ast.Name) and self._is_computed(part, unit):
                            changed |= self._add(part, unit)
                elif isinstance(node, ast.Assign) and any(
                    self.has(part, unit) and not _is_number(part) for part in parts
                ):
                    changed |= self._add(target, unit)
            if isinstance(node.value, ast.Call):
                changed |= self._from_call(target, node.value, unit)
        return changed

    def _is_computed(self, name: ast.Name, unit: Unit) -> bool:
        """Whether a name is assigned something that is called, in its own function: a loss, not a weight."""
        for node in ast.walk(unit.frame(name)):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                named = any(isinstance(target, ast.Name) and target.id == name.id for target in targets)
                if named and any(isinstance(item, ast.Call) for item in ast.walk(node.value)):
                    if not any(_is_number(item) for item in ast.walk(node.value)):
                        return True
        return False

    def _from_call(self, target: ast.expr, call: ast.Call, unit: Unit) -> bool:
        changed = False
        for callee in self.flow.callees.get(call, ()):
            home = self.flow.unit_with(callee)
            for item in ast.walk(callee):
                if not isinstance(item, ast.Return) or item.value is None or home.frame(item) is not callee:
                    continue
                if isinstance(item.value, ast.Tuple) and isinstance(target, ast.Tuple):
                    for element, value in zip(target.elts, item.value.elts, strict=False):
                        if self.has(value, home) and not _is_number(value):
                            changed |= self._add(element, unit)
                elif self.has(item.value, home) and not _is_number(item.value):
                    changed |= self._add(target, unit)
        return changed


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"


def terms_of(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of sums, products and quotients."""
    if isinstance(node, ast.BinOp):
        yield from terms_of(node.left)
        yield from terms_of(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from terms_of(node.operand)
    else:
        yield node


def reduce_losses(flow: Flow, loops: Loops, page: Page) -> None:
    """Replace ``loss.item()`` by the mean over the processes, and sums for accuracies by those of all processes."""
    losses = Losses(flow, loops)
    seen: set[ast.AST] = set()
    frames = [(frame, flow.unit_with(frame)) for frame in losses.names]
    for region, unit in [*loops.training, *frames]:
        for node in ast.walk(region):
            if node in seen or not isinstance(node, ast.Call):
                continue
            seen.add(node)
            tensor = _tensor_of_number(node, unit)
            if tensor is None or loops.without_gradient(node, unit):
                continue
            if losses.has(tensor, unit) or (_is_mean(tensor) and (region, unit) not in frames):
                _reduce_one(node, tensor, unit, flow, loops, page)
    for region, unit in loops.training:
        for node in ast.walk(region):
            if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not loops.without_gradient(node, unit):
                _agree(node.test, unit, losses, loops, page)
    for one in loops.passes:
        if one.trains and isinstance(one.node, ast.For):
            _reduce_counts(one, losses, loops, page)
            _count_all_samples(one, page)


def _tensor_of_number(node: ast.Call, unit: Unit) -> ast.expr | None:
    """``x`` of ``x.item()`` and ``float(x)``."""
    if _is_number(node) and isinstance(node.func, ast.Attribute) and not node.args:
        return node.func.value
    if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
        return None if _is_number(node.args[0]) else node.args[0]
    return None


def _is_mean(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mean"


def _reduce_one(node: ast.Call, tensor: ast.expr, unit: Unit, flow: Flow, loops: Loops, page: Page) -> None:
    reason = unsteady_condition(node, unit, loops)
    if reason is not None:
        page.left(
            "NPU358",
            unit,
            node,
            f"{unit.source.code(node)} covers one process, and is only computed where {reason}",
            "where every process gets here, use npu_distributed.mean(value); it must not be called by only some of "
            "them",
        )
        return
    word = "total" if _summed_over_samples(node, unit, flow) else "mean"
    code = unit.source.code(tensor)
    text = f"npu_distributed.mean({code})" if word == "mean" else f"npu_distributed.total({unit.source.code(node)})"
    page.meet(unit, node)
    message = f"the {'mean' if word == 'mean' else 'sum'} over all processes"
    page.done("NPU358", unit, node, message, [page.pencil(unit).replace(node, text)])


def unsteady_condition(node: ast.AST, unit: Unit, loops: Loops, hops: int = 4) -> str | None:
    """A condition around ``node``, or around a call that leads to it, that may differ from process to process.

    None where there is none.
    """
    for up in unit.ancestors(node):
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for call in sorted(loops.flow.callers.get(up, ()), key=lambda one: one.lineno) if hops else ():
                reason = unsteady_condition(call, loops.flow.call_unit[call], loops, hops - 1)
                if reason is not None:
                    return reason
            return None
        test = up.test if isinstance(up, (ast.If, ast.IfExp, ast.While)) else None
        if test is None or inside(node, test):
            continue
        if _depends(test, _unsteady_in(unit.frame(up), unit, loops), unit):
            return unit.source.code(test)
    return None


def _unsteady_in(frame: ast.AST, unit: Unit, loops: Loops) -> set[str]:
    """The names of a function that hold something of this process's batch, or of its clock or random numbers."""
    if frame not in loops.unsteady:
        loops.unsteady[frame] = _unsteady_names(frame, unit, loops)
    return loops.unsteady[frame]


def _unsteady_names(frame: ast.AST, unit: Unit, loops: Loops) -> set[str]:
    losses = Losses(loops.flow, loops).names.get(frame, set())
    names: set[str] = set()
    for one in loops.passes:
        if one.frame is frame and isinstance(one.node, ast.For) and one.data is not None and one.iterator is None:
            target: ast.expr = one.node.target
            called = one.node.iter
            if isinstance(called, ast.Call) and getattr(called.func, "id", "") == "enumerate":
                target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
            names |= {item.id for item in ast.walk(target) if isinstance(item, ast.Name)}
    bindings = [node for node in ast.walk(frame) if isinstance(node, (ast.Assign, ast.AugAssign))]
    while True:
        before = len(names)
        for node in bindings:
            if _depends(node.value, names, unit):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                held = {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
                # Losses are averaged where they are asked for.
                names |= held - losses
        if len(names) == before:
            return names


def _depends(value: ast.expr, names: set[str], unit: Unit) -> bool:
    """Whether a value depends on some of ``names``, other than on their sizes, which are alike everywhere."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, ast.Call):
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if word in ("size", "dim", "numel", "len"):
                continue
            if word == "next" or unit.qualname(node.func).startswith(_UNSTEADY):
                return True
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim", "dtype", "device"):
            continue
        pending += ast.iter_child_nodes(node)
    return False


def _summed_over_samples(node: ast.Call, unit: Unit, flow: Flow) -> bool:
    """Whether a number is added up and later divided by the number of samples: ``… / len(loader.dataset)``."""
    statement = unit.statement(node)
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return False
    for item in ast.walk(unit.frame(node)):
        value: ast.expr | None = None
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Div) and isinstance(item.left, ast.Name):
            value = item.right if item.left.id == statement.target.id else None
        if isinstance(item, ast.AugAssign) and isinstance(item.op, ast.Div) and isinstance(item.target, ast.Name):
            value = item.value if item.target.id == statement.target.id else None
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "len" and value.args:
            given = value.args[0]
            if isinstance(given, ast.Attribute) and given.attr == "dataset":
                return True
            return bool(flow.of_kind(given, unit, "dataset", "iterable"))
    return False


def _agree(test: ast.expr, unit: Unit, losses: Losses, loops: Loops, page: Page) -> None:
    """Let a condition about a loss come out alike in all processes, since they would part ways otherwise."""
    for node in ast.walk(test):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not losses.has(node, unit):
            continue
        parent = unit.source.parent(node)
        named = isinstance(parent, ast.Compare) and any(isinstance(one, (ast.Is, ast.IsNot)) for one in parent.ops)
        counted = isinstance(parent, ast.Call) and getattr(parent.func, "id", "") in ("isinstance", "len", "hasattr")
        if named or counted or any(inside(node, one) for one in page.together):
            continue
        if unsteady_condition(test, unit, loops) is not None:
            continue
        page.meet(unit, node)
        edits = page.pencil(unit).around(node, "npu_distributed.agreed(")
        page.done("NPU358", unit, node, "all processes take the same branch", edits)


def _reduce_at_once(name: str, one: Pass, loops: Loops, page: Page) -> bool:
    """Add up over the processes what a loop adds to ``name`` in each step, where it is shown in the loop."""
    unit = one.unit
    added = [
        node
        for node in ast.walk(one.node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    ]
    reads = [
        unit.statement(node)
        for node in ast.walk(one.node)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    shown = bool(reads) and all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in reads)
    if not shown or any(unsteady_condition(node, unit, loops) is not None for node in added):
        return False
    for node in added:
        page.meet(unit, node)
        edits = page.pencil(unit).around(node.value, "npu_distributed.total(")
        page.done("NPU358", unit, node, f"{name} covers all processes", edits)
    return True


def _reduce_counts(one: Pass, losses: Losses, loops: Loops, page: Page) -> None:
    """Numbers other than losses that a training loop adds up, such as right answers, become those of all processes."""
    loop, unit = one.node, one.unit
    others: dict[str, None] = {}
    with_loss: dict[str, None] = {}
    for node in ast.walk(loop):
        if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
            continue
        if not isinstance(node.target, ast.Name) or unit.frame(node) is not one.frame:
            continue
        if any(isinstance(item, ast.expr) and losses.has(item, unit) for item in ast.walk(node.value)):
            with_loss[node.target.id] = None
        elif any(isinstance(item, (ast.Call, ast.Attribute)) for item in ast.walk(node.value)):
            others[node.target.id] = None
    end = loop.end_lineno or loop.lineno
    read = {
        node.id
        for node in ast.walk(one.frame)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno > end
    }
    at_once = {name for name in others if _reduce_at_once(name, one, loops, page)}
    names = [name for name in others if name in read and name not in at_once]
    if not names:
        return
    if any(
        isinstance(up, LOOPS) and not _begins_inside(name, up, one) for up in unit.ancestors(loop) for name in names
    ):
        return
    names += [name for name in with_loss if name in read and not _over_length(name, one)]
    text = f"{', '.join(names)} = npu_distributed.total({', '.join(names)})"
    try:
        edit = page.pencil(unit).after(loop, text)
        page.meet(unit, loop)
        page.done("NPU358", unit, loop, f"{', '.join(names)} cover all processes", [edit])
    except Unprovable as problem:
        page.left("NPU358", unit, loop, f"{', '.join(names)} cover one process", f"{problem.message}: {text}")


def _count_all_samples(one: Pass, page: Page) -> None:
    """``print(step * len(batch))``, how far the epoch has come, is about the samples of all processes."""
    target = one.node.target if isinstance(one.node, ast.For) else None
    if one.data is None or not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
        return
    number = target.elts[0].id
    batch = {item.id for part in target.elts[1:] for item in ast.walk(part) if isinstance(item, ast.Name)}
    for node in ast.walk(one.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        sides = (node.left, node.right)
        counts = any(isinstance(side, ast.Name) and side.id == number for side in sides)
        sizes = any(isinstance(side, ast.Call) and _length_of(side, batch) for side in sides)
        if counts and sizes and _is_said(node, one.unit):
            edits = page.pencil(one.unit).around(node, "", " * npu_distributed.world_size()")
            page.done("NPU358", one.unit, node, "the samples that all processes have processed so far", edits)


def _length_of(call: ast.Call, names: set[str]) -> bool:
    given = call.args[0] if getattr(call.func, "id", "") == "len" and call.args else None
    return isinstance(given, ast.Name) and given.id in names


def _is_said(node: ast.AST, unit: Unit) -> bool:
    """Whether an expression is printed or logged in its own statement."""
    statement = unit.statement(node)
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", "")) in ("print", "info", "debug", "write", "log")


def _begins_inside(name: str, up: ast.AST, one: Pass) -> bool:
    if one.unit.frame(up) is not one.frame:
        return True
    return any(
        isinstance(node, ast.Assign)
        and not inside(node, one.node)
        and any(isinstance(item, ast.Name) and item.id == name for target in node.targets for item in ast.walk(target))
        for node in ast.walk(up)
    )


def _over_length(name: str, one: Pass) -> bool:
    """Whether a sum is divided by a ``len(…)``, to which the mean over processes belongs."""
    for item in ast.walk(one.frame):
        if isinstance(item, (ast.BinOp, ast.AugAssign)) and isinstance(item.op, ast.Div):
            left = item.left if isinstance(item, ast.BinOp) else item.target
            right = item.right if isinstance(item, ast.BinOp) else item.value
            if isinstance(left, ast.Name) and left.id == name:
                return isinstance(right, ast.Call) and getattr(right.func, "id", "") == "len"
    return False
