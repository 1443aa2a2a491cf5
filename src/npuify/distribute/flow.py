"""Where the models, loaders and optimizers of a program come from, and where each goes.

Every expression is given the set of things that it may stand for. Things are followed through names, attributes, calls,
returned values, lists and dictionaries, over all files of the program, without regard to the order of statements, until
nothing is added any more. Nothing is told by what a variable is called.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.distribute.program import Program, Unit

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROUNDS = 12
_LOADER = frozenset(
    (
        "torch.utils.data.DataLoader",
        "torch.utils.data.dataloader.DataLoader",
        "torch_geometric.loader.DataLoader",
        "torch_geometric.data.DataLoader",
    )
)
_SAME = frozenset(
    "to cuda npu cpu train eval half float double bfloat16 requires_grad_ apply share_memory compile type".split()
)
_PASSING = frozenset(("enumerate", "tqdm", "trange", "iter", "list", "reversed", "track", "cycle", "islice", "auto"))
"""Functions that hand the elements of their first argument on."""
_CONTAINERS = frozenset(("collections.defaultdict", "collections.OrderedDict", "collections.deque"))
_WRAPPING = ("torch.compile", "copy.copy", "torch.jit.script")
DATA_PARALLEL = frozenset(
    ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel")
)
_BASES = {
    "torch.nn.Module": "model",
    "torch.nn.modules.module.Module": "model",
    "torch.utils.data.Dataset": "dataset",
    "torch.utils.data.dataset.Dataset": "dataset",
    "torch.utils.data.IterableDataset": "iterable",
    "torch.utils.data.dataset.IterableDataset": "iterable",
    "torch.utils.data.Sampler": "sampler",
    "torch.utils.data.sampler.Sampler": "sampler",
    "torch.optim.Optimizer": "optimizer",
    "torch.optim.optimizer.Optimizer": "optimizer",
}


class Thing(NamedTuple):
    """An object that the program makes.

    ``kind`` is ``model``, ``loss``, ``loader``, ``dataset``, ``iterable`` (a dataset without indices), ``sampler``,
    ``optimizer``, ``scaler``, ``parameters`` (of the model ``of``), ``instance``, ``class``, ``function``, ``module``
    or ``container``. ``node`` is the expression that makes it, ``definition`` its class or function, if the program
    has it.
    """

    kind: str
    node: ast.AST
    unit: Unit
    definition: ast.AST | None = None
    of: ast.AST | None = None


Things = frozenset[Thing]
_NOTHING: Things = frozenset()


class Flow:
    """What each expression of a program may stand for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unit_of: dict[ast.AST, Unit] = {unit.source.tree: unit for unit in program.units}
        self._values: dict[tuple[ast.AST, str], Things] = {}
        self._changed = False
        self._busy: set[ast.AST] = set()
        self.callees: dict[ast.Call, set[ast.AST]] = {}
        self.callers: dict[ast.AST, set[ast.Call]] = {}
        self.call_unit: dict[ast.Call, Unit] = {}
        self._definitions: dict[ast.AST, Unit] = {}
        for unit in program.units:
            for node in unit.nodes:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    self._definitions[node] = unit
        self._kinds: dict[ast.ClassDef, str] = {}
        for node, unit in self._definitions.items():
            holder = unit.source.parent(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(holder, ast.ClassDef):
                first = [*node.args.posonlyargs, *node.args.args][:1]
                if first and not any(getattr(item, "id", "") == "staticmethod" for item in node.decorator_list):
                    self._add(node, first[0].arg, frozenset([Thing("instance", holder, unit, holder)]))
        for _ in range(_ROUNDS):
            self._changed = False
            for unit in program.units:
                self._pass(unit)
            if not self._changed:
                break

    # --- asking ------------------------------------------------------------------------------------------------------

    def things(self, node: ast.AST | None, unit: Unit) -> Things:
        """What an expression may stand for; empty where nothing is known."""
        return self._eval(node, unit) if node is not None else _NOTHING

    def of_kind(self, node: ast.AST | None, unit: Unit, *kinds: str) -> list[Thing]:
        """The things of these kinds that an expression may stand for."""
        return [thing for thing in self.things(node, unit) if thing.kind in kinds]

    def unit_with(self, node: ast.AST) -> Unit:
        """The file that a function or class is defined in."""
        return self._definitions.get(node) or self.unit_of[node]

    def iterated(self, node: ast.expr, unit: Unit) -> tuple[ast.expr, list[Thing]]:
        """The expression of the loader that a loop goes through, behind ``enumerate`` and progress bars, and what it
        may be."""
        while isinstance(node, ast.Call) and node.args and not self.of_kind(node, unit, "loader"):
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if word not in _PASSING and "track" not in word:
                break
            node = node.args[0]
        return node, self.of_kind(node, unit, "loader")

    def reached(self, nodes: Iterable[ast.AST]) -> set[ast.AST]:
        """The functions of the program that code may call, directly or not."""
        found: set[ast.AST] = set()
        pending = list(nodes)
        while pending:
            for node in ast.walk(pending.pop()):
                for callee in self.callees.get(node, ()) if isinstance(node, ast.Call) else ():
                    if callee not in found:
                        found.add(callee)
                        pending.append(callee)
        return found

    def kind_of_class(self, node: ast.ClassDef, unit: Unit, hops: int = 8) -> str:
        """``model``, ``dataset`` and so on, by what a class derives from; ``instance`` for any other."""
        if node in self._kinds:
            return self._kinds[node]
        kind = "instance"
        for base in node.bases if hops else ():
            name = unit.qualname(base)
            if name in _LOADER:
                kind = "loader"
            elif name in _BASES:
                kind = _BASES[name]
            elif name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
                kind = "loss" if name.endswith("Loss") else "model"
            elif name.startswith("torchvision.datasets."):
                kind = "dataset"
            elif name.startswith("torch.optim."):
                kind = "optimizer"
            elif name.startswith("torchvision.models."):
                kind = "model"
            else:
                for thing in self._eval(base, unit):
                    if isinstance(thing.definition, ast.ClassDef) and thing.definition is not node:
                        kind = self.kind_of_class(thing.definition, thing.unit, hops - 1)
            if kind != "instance":
                break
        self._kinds[node] = kind
        return kind

    def bases(self, node: ast.ClassDef, hops: int = 6) -> Iterator[ast.ClassDef]:
        """A class of the program and those of the program that it derives from."""
        yield node
        unit = self.unit_with(node)
        for base in node.bases if hops else ():
            for thing in self._eval(base, unit):
                if isinstance(thing.definition, ast.ClassDef) and thing.definition is not node:
                    yield from self.bases(thing.definition, hops - 1)

    def method(self, node: ast.ClassDef, name: str) -> Function | None:
        """A method of a class, inherited ones too."""
        for one in self.bases(node):
            for item in one.body:
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == name:
                    return item
        return None

    # --- one pass over the statements --------------------------------------------------------------------------------

    def _add(self, frame: ast.AST, name: str, things: Things) -> None:
        known = self._values.get((frame, name), _NOTHING)
        if not things <= known:
            self._values[frame, name] = known | things
            self._changed = True

    def _pass(self, unit: Unit) -> None:
        for node in unit.nodes:
            if isinstance(node, ast.Assign):
                value = self._eval(node.value, unit)
                for target in node.targets:
                    self._assign(target, value, node.value, unit)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                self._assign(node.target, self._eval(node.value, unit), node.value, unit)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                self._assign_turn(node.target, node.iter, unit)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._assign(node.optional_vars, self._eval(node.context_expr, unit), None, unit)
            elif isinstance(node, ast.Return) and node.value is not None:
                self._add(unit.frame(node), "return", self._eval(node.value, unit))
            elif isinstance(node, ast.Call):
                self._eval(node, unit)

    def _assign(self, target: ast.expr, value: Things, node: ast.expr | None, unit: Unit) -> None:
        if isinstance(target, ast.Name):
            self._add(self._owner(target, unit), target.id, value)
        elif isinstance(target, ast.Attribute):
            for thing in self._eval(target.value, unit):
                if thing.kind in ("instance", "model", "dataset", "loader", "class") and thing.definition is not None:
                    self._add(thing.definition, f".{target.attr}", value)
                elif thing.kind == "module":
                    self._add(thing.node, target.attr, value)
        elif isinstance(target, ast.Subscript):
            for thing in self._eval(target.value, unit):
                if thing.kind == "container":
                    key = _key(target.slice)
                    self._add(thing.node, f"[{key}]", value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for place, element in enumerate(target.elts):
                if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(target.elts):
                    self._assign(element, self._eval(node.elts[place], unit), node.elts[place], unit)
                else:
                    parts = [self._item(thing, str(place)) for thing in value]
                    self._assign(element, _union(parts), None, unit)

    def _assign_turn(self, target: ast.expr, data: ast.expr, unit: Unit) -> None:
        """What the target of a loop gets in a turn, through ``zip``, ``enumerate`` and ``items``."""
        parts = parts_of_turn(target, data)
        for element, held in parts:
            self._assign_turn(element, held, unit)
        if not parts:
            self._assign(target, self._elements(self._eval(data, unit)), None, unit)

    def _owner(self, name: ast.Name, unit: Unit) -> ast.AST:
        """The function, class or module that a name belongs to."""
        scope = unit.source.scope_of(name)
        found = scope.lookup(name.id)
        if found is not None:
            return found[0].node
        return unit.source.tree if name.id in scope.outward else scope.node

    def _item(self, thing: Thing, key: str) -> Things:
        if thing.kind != "container":
            return _NOTHING
        return self._values.get((thing.node, f"[{key}]"), _NOTHING) | self._values.get((thing.node, "[*]"), _NOTHING)

    def _elements(self, things: Things) -> Things:
        found = _NOTHING
        for thing in things:
            if thing.kind == "container":
                for (frame, name), value in self._values.items():
                    if frame is thing.node and name.startswith("["):
                        found |= value
        return found

    # --- expressions -------------------------------------------------------------------------------------------------

    def _eval(self, node: ast.AST, unit: Unit) -> Things:
        if node in self._busy:
            return _NOTHING
        self._busy.add(node)
        try:
            return self._eval_new(node, unit)
        finally:
            self._busy.discard(node)

    def _eval_new(self, node: ast.AST, unit: Unit) -> Things:
        if isinstance(node, ast.Name):
            return self._eval_name(node, unit)
        if isinstance(node, ast.Attribute):
            return self._eval_attribute(node, unit)
        if isinstance(node, ast.Call):
            return self._eval_call(node, unit)
        if isinstance(node, ast.Subscript):
            things = self._eval(node.value, unit)
            if isinstance(node.slice, ast.Constant):
                return _union([self._item(thing, _key(node.slice)) for thing in things])
            return self._elements(things)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            for place, element in enumerate(node.elts):
                self._add(node, f"[{place}]", self._eval(element, unit))
            return frozenset([Thing("container", node, unit)])
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                word = _key(key)
                self._add(node, f"[{word}]", self._eval(value, unit))
            return frozenset([Thing("container", node, unit)])
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            self._add(node, "[*]", self._eval(node.elt, unit))
            return frozenset([Thing("container", node, unit)])
        if isinstance(node, ast.IfExp):
            return self._eval(node.body, unit) | self._eval(node.orelse, unit)
        if isinstance(node, ast.BoolOp):
            return _union([self._eval(value, unit) for value in node.values])
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)):
            return self._eval(node.value, unit)
        return _NOTHING

    def _eval_name(self, node: ast.Name, unit: Unit) -> Things:
        found = unit.source.scope_of(node).lookup(node.id)
        if found is None:
            return _NOTHING
        scope, bindings = found
        things = self._values.get((scope.node, node.id), _NOTHING)
        for binding in bindings:
            if binding.kind == "import":
                things |= self._imported(binding.target)
            elif isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)) and binding.kind == "function":
                things |= {Thing("function", binding.node, unit, binding.node)}
            elif isinstance(binding.node, ast.ClassDef) and binding.kind == "class":
                things |= {Thing("class", binding.node, unit, binding.node)}
        return things

    def _imported(self, target: str) -> Things:
        """What an imported name is: a module of the program, or what one of them defines."""
        whole = self.program.module(target, self.program.entry)
        if whole is not None and whole in self.program.units:
            return frozenset([Thing("module", whole.source.tree, whole)])
        found = self.program.binding(target)
        if found is None or found[0] not in self.program.units:
            return _NOTHING
        unit, bindings = found
        return self._member(unit, target.rpartition(".")[2], bindings)

    def _member(self, unit: Unit, name: str, bindings: Iterable[object]) -> Things:
        things = self._values.get((unit.source.tree, name), _NOTHING)
        for binding in bindings:
            node = getattr(binding, "node", None)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                things |= {Thing("function", node, unit, node)}
            elif isinstance(node, ast.ClassDef):
                things |= {Thing("class", node, unit, node)}
            elif getattr(binding, "kind", "") == "import" and getattr(binding, "target", ""):
                things |= self._imported(getattr(binding, "target", ""))
        return things

    def _eval_attribute(self, node: ast.Attribute, unit: Unit) -> Things:
        found: Things = _NOTHING
        for thing in self._eval(node.value, unit):
            if thing.kind == "module":
                found |= self._member(thing.unit, node.attr, thing.unit.source.scope.names.get(node.attr, ()))
            elif isinstance(thing.definition, ast.ClassDef):
                for one in self.bases(thing.definition):
                    found |= self._values.get((one, f".{node.attr}"), _NOTHING)
                method = self.method(thing.definition, node.attr)
                if method is not None:
                    home = self.unit_with(method)
                    if any(getattr(item, "id", "") == "property" for item in method.decorator_list):
                        found |= self._values.get((method, "return"), _NOTHING)
                    else:
                        self._bind_self(method, thing)
                        found |= {Thing("function", method, home, method, of=thing.node)}
            if thing.kind == "model" and node.attr == "module":
                found |= {thing}
            if thing.kind == "loader" and node.attr == "dataset":
                found |= {Thing("dataset", thing.node, thing.unit)}
        return found

    def _bind_self(self, method: Function, thing: Thing) -> None:
        arguments = [*method.args.posonlyargs, *method.args.args]
        if arguments and thing.kind != "class":
            self._add(method, arguments[0].arg, frozenset([thing]))

    def _eval_call(self, node: ast.Call, unit: Unit) -> Things:
        name = unit.qualname(node.func)
        made = self._library(node, name, unit)
        found: Things = made if made is not None else _NOTHING
        for callee in self._eval(node.func, unit):
            if isinstance(callee.definition, (ast.FunctionDef, ast.AsyncFunctionDef)) and callee.kind == "function":
                self._call(node, callee.definition, callee.of is not None, unit)
                returned = self._values.get((callee.definition, "return"), _NOTHING)
                found |= self._as_of_call(returned, callee.definition, node, unit)
            elif isinstance(callee.definition, ast.ClassDef) and callee.kind == "class":
                found |= self._construct(node, callee.definition, unit)
            elif isinstance(callee.definition, ast.ClassDef):
                word = "forward" if callee.kind in ("model", "loss") else "__call__"
                method = self.method(callee.definition, word)
                if method is not None:
                    self._bind_self(method, callee)
                    self._call(node, method, True, unit)
                    found |= self._values.get((method, "return"), _NOTHING)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            # A function that is handed over is called by whoever gets it.
            for thing in self._eval(argument, unit):
                if thing.kind == "function" and not found and made is None:
                    self._record(node, thing.node, unit)
        return found

    def _as_of_call(self, returned: Things, function: ast.AST, node: ast.Call, unit: Unit) -> Things:
        """What a function that is called in several places makes is another thing for each of them."""
        if len(self.callers.get(function, ())) < 2:
            return returned
        own = {
            thing
            for thing in returned
            if thing.kind in ("model", "loader", "dataset", "optimizer")
            and isinstance(thing.node, ast.Call)
            and thing.unit.frame(thing.node) is function
        }
        return (returned - own) | {thing._replace(node=node, unit=unit) for thing in own}

    def _construct(self, node: ast.Call, definition: ast.ClassDef, unit: Unit) -> Things:
        kind = self.kind_of_class(definition, self.unit_with(definition))
        thing = Thing(kind, node if kind != "instance" else definition, unit, definition)
        initial = self.method(definition, "__init__")
        if initial is not None:
            self._bind_self(initial, thing)
            self._call(node, initial, True, unit)
        return frozenset([thing])

    def _record(self, node: ast.Call, function: ast.AST, unit: Unit) -> None:
        if function not in self.callees.setdefault(node, set()):
            self.callees[node].add(function)
            self.callers.setdefault(function, set()).add(node)
            self.call_unit[node] = unit
            self._changed = True

    def _call(self, node: ast.Call, function: Function, bound: bool, unit: Unit) -> None:
        """Hand the arguments of a call to the parameters."""
        self._record(node, function, unit)
        for name, value in self.parameters(node, function, bound):
            self._add(function, name, self._eval(value, unit))

    def parameters(self, node: ast.Call, function: Function, bound: bool) -> Iterator[tuple[str, ast.expr]]:
        """Which argument each parameter of a function gets from a call, as far as that is written there."""
        names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        names = names[1:] if bound else names
        for name, value in zip(names, node.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            yield name, value
        allowed = {*names, *(item.arg for item in function.args.kwonlyargs)}
        for keyword in node.keywords:
            if keyword.arg in allowed:
                yield keyword.arg, keyword.value

    def _library(self, node: ast.Call, name: str, unit: Unit) -> Things | None:
        """What a call of something outside the program makes; None where that is not known."""
        last = name.rpartition(".")[2]
        first = node.args[0] if node.args else None
        if name in _LOADER:
            return frozenset([Thing("loader", node, unit)])
        if name in DATA_PARALLEL or name in _WRAPPING or name.endswith("DistributedDataParallel"):
            return self._eval(first, unit) if first is not None else _NOTHING
        if name == "copy.deepcopy" and first is not None:
            return frozenset(thing._replace(node=node, unit=unit) for thing in self._eval(first, unit))
        if name.startswith("torch.optim.") and last[:1].isupper() and ".lr_scheduler" not in name:
            return frozenset([Thing("optimizer", node, unit)])
        if name.startswith("torch.nn.") and last[:1].isupper() and ".utils." not in name:
            if last.endswith("Loss"):
                return frozenset([Thing("loss", node, unit)])
            if last in ("ModuleList", "ModuleDict") and first is not None:
                return self._eval(first, unit) | {Thing("model", node, unit)}
            return None if last in ("Parameter", "Buffer") else frozenset([Thing("model", node, unit)])
        if name.startswith(("torchvision.models.", "timm.create_model", "torch.hub.load", "timm.models.")):
            return frozenset([Thing("model", node, unit)])
        if name.startswith("transformers.") and last == "from_pretrained" and "Model" in name:
            return frozenset([Thing("model", node, unit)])
        if name.startswith(("torchvision.datasets.", "torch.utils.data.")) and last[:1].isupper():
            kind = "sampler" if "Sampler" in last else "iterable" if last == "IterDataPipe" else "dataset"
            return frozenset([Thing(kind, node, unit)])
        if name in _CONTAINERS or (isinstance(node.func, ast.Name) and node.func.id in ("dict", "set") and not name):
            return frozenset([Thing("container", node, unit)])
        if last == "GradScaler":
            return frozenset([Thing("scaler", node, unit)])
        if isinstance(node.func, ast.Attribute):
            return self._library_method(node, node.func, unit)
        if isinstance(node.func, ast.Name) and node.func.id in _PASSING and first is not None:
            things = self._eval(first, unit)
            return frozenset(thing for thing in things if thing.kind != "loader" or node.func.id in ("iter",)) or None
        return None

    def _library_method(self, node: ast.Call, function: ast.Attribute, unit: Unit) -> Things | None:
        held = self._eval(function.value, unit)
        if any(thing.kind == "model" for thing in held):
            models = [thing for thing in held if thing.kind == "model"]
            owns = [
                thing
                for thing in models
                if isinstance(thing.definition, ast.ClassDef) and self.method(thing.definition, function.attr)
            ]
            if function.attr in _SAME and not owns:
                return frozenset(models)
            if function.attr in ("parameters", "named_parameters"):
                return frozenset(Thing("parameters", node, unit, of=thing.node) for thing in models)
        if function.attr in _SAME and any(thing.kind == "loss" for thing in held):
            return held
        if function.attr in ("append", "add", "insert") and node.args:
            for thing in held:
                if thing.kind == "container":
                    self._add(thing.node, "[*]", self._eval(node.args[-1], unit))
        if function.attr == "get" and any(thing.kind == "container" for thing in held):
            return self._elements(held)
        if function.attr in ("values", "items") and any(thing.kind == "container" for thing in held):
            return held
        return None


def parts_of_turn(target: ast.expr, data: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
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


def list_of_loop(name: str, loop: ast.AST) -> ast.expr | None:
    """The list that ``name`` goes through in a loop; None where that is not known."""
    pending = [(loop.target, loop.iter)] if isinstance(loop, (ast.For, ast.AsyncFor, ast.comprehension)) else []
    while pending:
        target, data = pending.pop()
        if isinstance(target, ast.Name) and target.id == name:
            return data if isinstance(data, (ast.Name, ast.Attribute)) else None
        pending += parts_of_turn(target, data)
    return None


def _key(node: ast.expr | None) -> str:
    """How an item of a container is called here: by its constant key, or ``*`` for any."""
    return repr(node.value) if isinstance(node, ast.Constant) else "*"


def _union(parts: Iterable[Things]) -> Things:
    return frozenset().union(*parts)
