"""Models: which of them train, and where each is wrapped, after it was moved and loaded, before it trains."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.distribute.edits import Unprovable
from npuify.distribute.flow import DATA_PARALLEL, list_of_loop
from npuify.distribute.loops import inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.edits import Draft
    from npuify.distribute.flow import Flow, Function, Thing
    from npuify.distribute.loops import Loops
    from npuify.distribute.program import Unit

_MOVES = frozenset(("to", "cuda", "npu", "cpu"))
_HOPS = 12


class Site(NamedTuple):
    """Where a model is wrapped: ``name = wrap(name)`` above (or, ``below``, under) a statement."""

    unit: Unit
    name: str
    statement: ast.stmt
    below: bool
    many: bool = False
    """The name holds a list of models."""


class Models:
    """The models that a program trains.

    Args:
        wanted: the name of the model, as ``--model`` gives it; empty for all that are found.
    """

    def __init__(self, flow: Flow, loops: Loops, wanted: str) -> None:
        self.flow = flow
        self.loops = loops
        self.wanted = wanted
        self.uses = list(self._forward_calls())
        self.things = {thing for call, unit in self.uses for thing in self._models(call.func, unit)}

    def _models(self, node: ast.expr, unit: Unit) -> list[Thing]:
        return self.flow.of_kind(node, unit, "model")

    def _forward_calls(self) -> Iterator[tuple[ast.Call, Unit]]:
        """Calls of models, with gradients, while training; those inside of models themselves left out."""
        seen: set[ast.AST] = set()
        optimized = self._optimized()
        for region, unit in self.loops.training:
            for node in ast.walk(region):
                if not isinstance(node, ast.Call) or node in seen:
                    continue
                seen.add(node)
                models = self._models(node.func, unit)
                if not models or self._in_model(node, unit) or self.loops.without_gradient(node, unit):
                    continue
                if self.wanted:
                    text = unit.source.code(node.func)
                    if self.wanted not in (text, text.rpartition(".")[2], text.partition("[")[0]):
                        continue
                elif optimized and optimized.isdisjoint(thing.node for thing in models):
                    continue
                yield node, unit

    def _optimized(self) -> set[ast.AST]:
        """The models whose parameters an optimizer gets, if that is known for every optimizer."""
        found: set[ast.AST] = set()
        for unit in self.flow.program.units:
            for node in unit.nodes:
                if isinstance(node, ast.Call) and any(
                    thing.node is node for thing in self.flow.of_kind(node, unit, "optimizer")
                ):
                    given = {
                        thing.of
                        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
                        for inner in ast.walk(argument)
                        if isinstance(inner, ast.expr)
                        for thing in self.flow.of_kind(inner, unit, "parameters")
                    }
                    if not given:
                        return set()
                    found |= {one for one in given if one is not None}
        return found

    def _in_model(self, node: ast.AST, unit: Unit) -> bool:
        holder = unit.class_around(node)
        return holder is not None and self.flow.kind_of_class(holder, unit) in ("model", "loss")

    # --- where it is wrapped ----------------------------------------------------------------------------------------

    def sites(self) -> set[Site]:
        """Where the models that train are wrapped.

        Raises:
            Unprovable: a model cannot be followed to where it is made.
        """
        found: set[Site] = set()
        for call, unit in self.uses:
            found |= set(self._sites(call.func, unit, call, _HOPS))
        return found

    def _sites(self, node: ast.expr, unit: Unit, use: ast.AST, hops: int) -> Iterator[Site]:
        """Follow ``node``, which is used by ``use``, to where it is bound."""
        if not hops:
            raise Unprovable(node, "the model is passed on too many times")
        if isinstance(node, ast.Name):
            yield from self._sites_of_name(node, unit, use, hops)
        elif isinstance(node, ast.Attribute):
            if node.attr == "module":
                yield from self._sites(node.value, unit, use, hops - 1)
                return
            yield from self._sites_of_attribute(node, unit, hops)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield self._site_in_block(node, unit, use)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            yield from self._sites(node.func.value, unit, use, hops - 1)
        else:
            raise Unprovable(node, "the model has no name here")

    def _sites_of_name(self, node: ast.Name, unit: Unit, use: ast.AST, hops: int) -> Iterator[Site]:
        found = unit.source.scope_of(node).lookup(node.id)
        if found is None:
            raise Unprovable(node, f"{node.id} is not bound in this file")
        scope, bindings = found
        owner = scope.node
        kinds = {binding.kind for binding in bindings}
        if "import" in kinds:
            raise Unprovable(node, f"{node.id} is created in another module")
        turns = [_loop_that_binds(binding.node, unit) for binding in bindings]
        if all(turn is not None for turn in turns):
            around = [turn for turn in turns if turn is not None and inside(use, turn)] or turns[:1]
            held = list_of_loop(node.id, around[-1]) if around[-1] is not None else None
            if held is None or any(_is_list(thing) for thing in self._models(held, unit)):
                raise Unprovable(node, f"{node.id} comes from a list that cannot be analyzed")
            for site in self._sites(held, unit, use, hops - 1):
                yield site._replace(many=True)
            return
        if "parameter" in kinds and isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if self._moved_in(owner, node.id, unit):
                yield self._site_in_block(node, unit, use)
                return
            calls = sorted(self.flow.callers.get(owner, ()), key=lambda call: call.lineno)
            if not calls:
                raise Unprovable(node, f"nothing in the program calls {owner.name}()")
            for call in calls:
                where = self.flow.call_unit[call]
                bound = isinstance(where.source.parent(owner), ast.ClassDef) or self._is_method(owner)
                given = dict(self.flow.parameters(call, owner, bound)).get(node.id)
                if given is not None and self._models(given, where):
                    yield from self._sites(given, where, call, hops - 1)
            return
        values = [binding.value for binding in bindings if binding.kind == "assign" and binding.value is not None]
        alias = [value for value in values if isinstance(value, ast.Attribute) and self._models(value, unit)]
        if len(alias) == len(bindings) and all(one.attr != "module" for one in alias):
            for value in alias:
                yield from self._sites(value, unit, use, hops - 1)
            return
        yield self._site_in_block(node, unit, use)

    def _is_method(self, function: Function) -> bool:
        return isinstance(self.flow.unit_with(function).source.parent(function), ast.ClassDef)

    def _moved_in(self, function: Function, name: str, unit: Unit) -> bool:
        """Whether a function puts its parameter on a device, outside of loops."""
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
                if isinstance(node.func.value, ast.Name) and node.func.value.id == name:
                    if not any(isinstance(up, (ast.For, ast.While)) for up in unit.ancestors(node)):
                        return True
        return False

    def _site_in_block(self, node: ast.Name | ast.Subscript, unit: Unit, use: ast.AST) -> Site:
        """The place after the last binding of a name, right before the statement that begins to train with it."""
        base = node if isinstance(node, ast.Name) else node.value
        assert isinstance(base, ast.Name)
        found = unit.source.scope_of(base).lookup(base.id)
        assert found is not None
        scope, bindings = found
        frame = scope.node
        text = unit.source.code(node)
        many = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant)
        bound = [unit.statement(binding.node) for binding in bindings if binding.kind != "parameter"]
        if not bound and isinstance(frame, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = [frame.body[0]]
        for start in self._beginnings(use, unit, frame):
            current: ast.AST = start
            for up in (start, *unit.ancestors(start)):
                if isinstance(up, ast.stmt) and up is not frame:
                    current = up
                    block, place = unit.block(up)
                    # A model made anew in each turn of the loop stands in the block around its training.
                    before = [one for one in block[:place] if any(inside(item, one) for item in bound)]
                    moved = isinstance(frame, (ast.FunctionDef, ast.AsyncFunctionDef)) and bound == [frame.body[0]]
                    if before or (moved and block is getattr(frame, "body", None)):
                        return Site(unit, base.id if many else text, current, False, many)
                if up is frame:
                    break
        raise Unprovable(node, f"{text} is not bound before the statement that trains")

    def _beginnings(self, use: ast.AST, unit: Unit, frame: ast.AST) -> Iterator[ast.stmt]:
        """The statements of ``frame`` that lead to a use of one of its names."""
        if unit.frame(use) is frame or inside(use, frame):
            around = use
            for up in (use, *unit.ancestors(use)):
                if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and up is not frame:
                    around = up
                if up is frame:
                    break
            if not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield unit.statement(use)
                return
            wanted: set[ast.AST] = {around}
        else:
            wanted = {unit.frame(use)}
        for node in unit.nodes:
            if isinstance(node, ast.Call) and unit.frame(node) is frame:
                callees = self.flow.callees.get(node, set())
                if wanted & callees or any(wanted & self.flow.reached([callee]) for callee in callees):
                    yield unit.statement(node)
                    return

    def _sites_of_attribute(self, node: ast.Attribute, unit: Unit, hops: int) -> Iterator[Site]:
        holders = {
            thing.definition
            for thing in self.flow.things(node.value, unit)
            if isinstance(thing.definition, ast.ClassDef) and thing.kind == "instance"
        }
        for holder in sorted(holders, key=lambda item: item.lineno):
            site = None
            for one in self.flow.bases(holder):
                site = site or self._site_in_class(one, node.attr)
            if site is None:
                raise Unprovable(node, f"no method of {holder.name} sets {node.attr}")
            yield site
        if not holders:
            raise Unprovable(node, "the model's owner is unknown")

    def _site_in_class(self, holder: ast.ClassDef, attribute: str) -> Site | None:
        """After the last statement of a class that makes or moves ``self.attribute``."""
        unit = self.flow.unit_with(holder)
        found: list[tuple[bool, ast.stmt, str]] = []
        for method in holder.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or not method.args.args:
                continue
            own = f"{method.args.args[0].arg}.{attribute}"
            for statement in ast.walk(method):
                if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
                    continue
                if any(isinstance(up, (ast.For, ast.While)) for up in unit.ancestors(statement)):
                    continue
                moves = self._is_move(statement, own, unit)
                if moves or self._sets(statement, own, unit):
                    found.append((moves, statement, own))
        if not found:
            return None
        moving = [one for one in found if one[0]]
        _, statement, own = (moving or found)[-1]
        # A branch that sets it must not be the only one that wraps it.
        block, _ = unit.block(statement)
        method_body = getattr(unit.frame(statement), "body", block)
        if block is not method_body:
            for up in unit.ancestors(statement):
                if isinstance(up, ast.stmt) and up in method_body:
                    statement = up
                    break
        return Site(unit, own, statement, True)

    def _sets(self, statement: ast.stmt, own: str, unit: Unit) -> bool:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        empty = isinstance(value, ast.Constant) and value.value is None
        names = [item for target in targets if target is not None for item in getattr(target, "elts", [target])]
        return not empty and any(unit.source.code(target) == own for target in names)

    def _is_move(self, statement: ast.stmt, own: str, unit: Unit) -> bool:
        value = getattr(statement, "value", None)
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in _MOVES and unit.source.code(value.func.value) == own:
                return True
            value = value.func.value
        return False


def _loop_that_binds(node: ast.AST, unit: Unit) -> ast.For | ast.comprehension | None:
    """The loop whose target a binding is, or a part of it."""
    for up in (node, *unit.ancestors(node)):
        if isinstance(up, (ast.For, ast.comprehension)):
            return up if up is node or inside(node, up.target) else None
    return None


def _is_list(thing: Thing) -> bool:
    """Whether a thing is a ``ModuleList``, whose models are its parts and cannot be replaced one by one."""
    return isinstance(thing.node, ast.Call) and getattr(thing.node.func, "attr", "") in ("ModuleList", "ModuleDict")


def replace_data_parallel(flow: Flow, draft: Draft) -> bool:
    """Take ``DataParallel`` from around models; what is inside it stays.

    Returns:
        Whether the program uses it: its batch size is then that of all cards already.
    """
    wrapped: set[ast.AST] = set()
    for unit in flow.program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Call) or unit.qualname(node.func) not in DATA_PARALLEL or not node.args:
                continue
            editor = draft.editor(unit)
            statement = unit.statement(node)
            inner = unit.source.code(node.args[0])
            wrapped |= {thing.node for thing in flow.of_kind(node.args[0], unit, "model")}
            message = "DataParallel drives all cards from one process; there is now one process per card"
            try:
                whole = isinstance(statement, ast.Assign) and statement.value is node
                if whole and unit.source.code(statement.targets[0]) == inner:  # type: ignore[attr-defined]
                    doomed: ast.stmt = statement
                    block, _ = unit.block(statement)
                    parent = unit.source.parent(statement)
                    others = [one for one in block if one is not statement and not _says(one)]
                    if isinstance(parent, ast.If) and not others and not parent.orelse and block is parent.body:
                        grand = unit.source.parent(parent)
                        is_elif = isinstance(grand, ast.If) and parent in grand.orelse
                        if not is_elif:
                            doomed = parent
                    if len(unit.block(doomed)[0]) > 1:
                        draft.done("NPU364", unit, node, message, [editor.delete(doomed)])
                        continue
                draft.done("NPU364", unit, node, message, [editor.replace(node, inner)])
            except Unprovable as problem:
                draft.left("NPU364", unit, node, message, problem.message)
    _without_module(wrapped, flow, draft)
    return bool(wrapped)


def _without_module(wrapped: set[ast.AST], flow: Flow, draft: Draft) -> None:
    """``model.module``, which was the model inside of DataParallel, is the model itself now."""
    for unit in flow.program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != "module" or isinstance(node.ctx, ast.Store):
                continue
            things = flow.of_kind(node.value, unit, "model")
            asked = any(
                "hasattr" in unit.source.code(up.test) or "isinstance" in unit.source.code(up.test)
                for up in unit.ancestors(node)
                if isinstance(up, (ast.If, ast.IfExp))
            )
            if asked or not things or not all(thing.node in wrapped for thing in things):
                continue
            editor = draft.editor(unit)
            edit = editor.remove(unit.source.end(node.value), unit.source.end(node))
            draft.done(
                "NPU364", unit, node, "without DataParallel, the model is no longer in the attribute module", [edit]
            )


def _says(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) in ("print", "info")
