"""Where models are wrapped: after they were moved and loaded, before they train."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.arguments import argument_for
from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable
from npuify.distribute.reading.loops import inside
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.reading.models import Models
    from npuify.distribute.reading.program import Function, Program, Unit

_MOVES = frozenset(("to", "cuda", "npu", "cpu"))
_LISTS = ("torch.nn.ModuleList", "torch.nn.ModuleDict")
_HOPS = 12


class Site(NamedTuple):
    """Where a model is wrapped: ``name = wrap(name)`` above (or, ``below``, under) a statement."""

    unit: Unit
    name: str
    statement: ast.stmt
    below: bool
    many: bool = False
    """The name holds a list of models."""


def sites_of(models: Models, program: Program) -> set[Site]:
    """Where the models that train are wrapped.

    Raises:
        Unprovable: a model cannot be followed to where it is made.
    """
    search = _Search(models, program)
    return {site for call, unit in models.uses for site in search.sites(call.func, unit, call, _HOPS)}


class _Search:
    def __init__(self, models: Models, program: Program) -> None:
        self.models = models
        self.program = program

    def sites(self, node: ast.expr, unit: Unit, use: ast.AST, hops: int) -> Iterator[Site]:
        """Follow ``node``, which is used by ``use``, to where it is bound."""
        if not hops:
            raise Unprovable(node, "the model is passed on too many times")
        if isinstance(node, ast.Name):
            yield from self._sites_of_name(node, unit, use, hops)
        elif isinstance(node, ast.Attribute):
            if node.attr == "module":
                yield from self.sites(node.value, unit, use, hops - 1)
                return
            yield from self._sites_of_attribute(node, unit, hops)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield self._site_in_block(node, unit, use)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            yield from self.sites(node.func.value, unit, use, hops - 1)
        else:
            raise Unprovable(node, "the model has no name here")

    def _sites_of_name(self, node: ast.Name, unit: Unit, use: ast.AST, hops: int) -> Iterator[Site]:
        found = unit.source.scope_of(node).lookup(node.id)
        if found is None:
            raise Unprovable(node, phrase("{id} is not bound in this file", id=node.id))
        scope, bindings = found
        owner = scope.node
        kinds = {binding.kind for binding in bindings}
        if "import" in kinds:
            raise Unprovable(node, phrase("{id} is created in another module", id=node.id))
        turns = [_loop_that_binds(binding.node, unit) for binding in bindings]
        if all(turn is not None for turn in turns):
            around = [turn for turn in turns if turn is not None and inside(use, turn)] or turns[:1]
            held = _list_of_loop(node.id, around[-1]) if around[-1] is not None else None
            if held is None or self._is_list(held, unit):
                raise Unprovable(node, phrase("{id} comes from a list that cannot be analyzed", id=node.id))
            for site in self.sites(held, unit, use, hops - 1):
                yield site._replace(many=True)
            return
        if "parameter" in kinds and isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if self._moved_in(owner, node.id, unit):
                yield self._site_in_block(node, unit, use)
                return
            calls = self.program.callers(owner)
            if not calls:
                raise Unprovable(node, phrase("nothing in the program calls {name}()", name=owner.name))
            for call, where in calls:
                taken = int(unit.holder(owner) is not None)
                given = argument_for(node.id, owner, call.args, call.keywords, taken)
                if isinstance(given, ast.expr) and self.models.known(given, where):
                    yield from self.sites(given, where, call, hops - 1)
            return
        values = [binding.value for binding in bindings if binding.kind == "assign" and binding.value is not None]
        alias = [value for value in values if isinstance(value, ast.Attribute) and self.models.known(value, unit)]
        if len(alias) == len(bindings) and all(one.attr != "module" for one in alias):
            for value in alias:
                yield from self.sites(value, unit, use, hops - 1)
            return
        yield self._site_in_block(node, unit, use)

    def _is_list(self, node: ast.expr, unit: Unit) -> bool:
        """Whether an expression is a ``ModuleList``, whose models are its parts and cannot be replaced one by one."""
        return any(value.name in _LISTS for value in self.program.of_kind(node, unit, Kind.MODEL))

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
        raise Unprovable(node, phrase("{text} is not bound before the statement that trains", text=text))

    def _beginnings(self, use: ast.AST, unit: Unit, frame: ast.AST) -> Iterator[ast.stmt]:
        """The statements of ``frame`` that lead to a use of one of its names."""
        if unit.function_around(use) is frame or inside(use, frame):
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
            wanted = {unit.function_around(use)}
        for node in unit.nodes:
            if isinstance(node, ast.Call) and unit.function_around(node) is frame:
                if not wanted.isdisjoint(self.program.reached((node, unit))):
                    yield unit.statement(node)
                    return

    def _sites_of_attribute(self, node: ast.Attribute, unit: Unit, hops: int) -> Iterator[Site]:
        objects = self.program.of_kind(node.value, unit, Kind.INSTANCE, Kind.HEIR)
        holders = dict(filter(None, map(self.program.class_of, objects)))
        if not holders:
            raise Unprovable(node, "the model's owner is unknown")
        found = set()
        for holder, home in holders.items():
            sites = (self._site_in_class(*one, node.attr) for one in self.program.lineage(holder, home))
            found.add(next(filter(None, sites), None))
        # A base class may leave it to those that derive from it.
        known = [site for site in found if site is not None]
        if not known:
            names = ", ".join(sorted(holder.name for holder in holders))
            raise Unprovable(node, phrase("no method of {names} sets {attr}", names=names, attr=node.attr))
        yield from known

    def _site_in_class(self, holder: ast.ClassDef, unit: Unit, attribute: str) -> Site | None:
        """After the last statement of a class that makes or moves ``self.attribute``."""
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
        method_body = getattr(unit.function_around(statement), "body", block)
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


def _list_of_loop(name: str, loop: ast.AST) -> ast.expr | None:
    """The list that ``name`` goes through in a loop; None where that is not known."""
    pending = [(loop.target, loop.iter)] if isinstance(loop, (ast.For, ast.AsyncFor, ast.comprehension)) else []
    while pending:
        target, data = pending.pop()
        if isinstance(target, ast.Name) and target.id == name:
            return data if isinstance(data, (ast.Name, ast.Attribute)) else None
        pending += _parts_of_turn(target, data)
    return None


def _parts_of_turn(target: ast.expr, data: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The parts of a loop's target with what each goes through; empty where the target goes through ``data`` itself."""
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(data, ast.Call):
        return []
    word = data.func.attr if isinstance(data.func, ast.Attribute) else getattr(data.func, "id", "")
    if word == "zip" and len(data.args) == len(target.elts):
        return list(zip(target.elts, data.args, strict=True))
    if word == "enumerate" and data.args and len(target.elts) == 2:
        return [(target.elts[1], data.args[0])]
    if word == "items" and isinstance(data.func, ast.Attribute) and len(target.elts) == 2:
        return [(target.elts[1], data.func.value)]
    return []
