"""Works out which values of a program have to be moved to the device, from what its models and losses get."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.rules.placement.flow import Flow, Unproven, returns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from npuify.rules.placement.flow import Bound, Function

CONSTRUCTORS: Final = frozenset(
    f"torch.{name}"
    for name in (
        "tensor as_tensor zeros ones empty full rand randn randint arange linspace logspace eye randperm range "
        "zeros_like ones_like rand_like randn_like full_like empty_like scalar_tensor tril_indices triu_indices"
    ).split()
)
"""Functions that make a tensor and take ``device``."""
_NO_TENSOR: Final = frozenset(
    "item tolist numpy size dim numel element_size nelement get_device is_contiguous stride backward cpu keys "
    "state_dict parameters named_parameters children modules".split()
)
"""Methods whose result is no tensor on the device."""
_NUMBERS: Final = frozenset(
    ("torch.Size", "torch.device", "torch.finfo", "torch.iinfo", "torch.numel", "torch.is_tensor")
)
"""Functions of torch that give no tensor."""
_OF_MODULES: Final = frozenset(
    "add_module apply bfloat16 buffers children compile cpu cuda double eval extra_repr float half load_state_dict "
    "modules parameters requires_grad_ share_memory state_dict to to_empty train type zero_grad append extend insert "
    "from_pretrained save_pretrained forward".split()
)
"""Methods of torch's modules, which get no tensor that has to be on the device."""
_FACTS: Final = frozenset("shape dtype ndim requires_grad is_leaf layout device training".split())
_PLAIN: Final = frozenset(
    "len int float str bool print range isinstance round repr format type id hasattr getattr max min abs sum zip "
    "enumerate sorted open next iter tuple list dict set".split()
)
_HOSTS: Final = ("numpy.", "scipy.", "sklearn.", "matplotlib.", "PIL.", "pandas.", "cv2.")
_MAX_ROUNDS: Final = 12


class PlacementPlan:
    """What to edit so that a file's models, data and losses are on one device.

    Attributes:
        models: constructor calls of models and of losses with weights, to be followed by ``.to(device)``.
        values: expressions to be followed by ``.to(device)``.
        made: calls that make a tensor, to be given ``device=device``.
        elements: loops whose elements are moved: loop → the names of tensors that it binds.
        batches: loops whose whole batch is moved: loop → its name, and ``dict`` or ``list``.
        unpacked: statements behind which names that they unpack are moved.
        host: expressions on the device that numpy and its like get, to be followed by ``.cpu()``.

    Raises:
        Unproven: something that has to be moved cannot be followed.
    """

    def __init__(self, flow: Flow, group: Mapping[str, PlacementPlan] | None = None) -> None:
        self.flow = flow
        self._group = group if group is not None else {}
        """The plans of the files that are placed together with this one, by path."""
        self.models: dict[ast.Call, None] = {}
        self.values: dict[ast.expr, None] = {}
        self.made: dict[ast.Call, None] = {}
        self.elements: dict[ast.For | ast.AsyncFor, dict[str, None]] = {}
        self.batches: dict[ast.For | ast.AsyncFor, tuple[str, str]] = {}
        self.unpacked: dict[ast.stmt, dict[str, None]] = {}
        self.host: dict[ast.expr, None] = {}
        self._open: set[ast.AST] = set()
        self._returning: set[ast.AST] = set()
        """Calls whose results are being looked at, since functions may call each other."""
        self._placed: set[tuple[ast.AST, str]] = set()
        """Names whose values are on the device, with the function that binds them."""
        self._nodes = [node for node in flow.nodes if not flow.in_module_class(node)]
        self.called = [node for node in self._nodes if isinstance(node, ast.Call) and _is_run(node, flow)]

    def work_out(self) -> None:
        """Plan this file alone."""
        if not self.called:
            return
        self.begin()
        for _ in range(_MAX_ROUNDS):
            before = self.size()
            self.advance()
            if self.size() == before:
                break
        self.finish()

    def begin(self) -> None:
        """Place the models.

        Raises:
            Unproven: a module makes a tensor on the CPU, and nothing says where the module is.
        """
        for made, device in layers_made_elsewhere(self.flow):
            if not device:
                raise Unproven(
                    made, "a module makes this tensor on the CPU, and nothing in the method says where it is"
                )
        for node in self.flow.nodes:
            if isinstance(node, ast.Call) and _runs_in_module(node, self.flow):
                self._look_into(node)
        for item in self._nodes:
            if isinstance(item, ast.Call):
                self._follow_into(item)
            elif isinstance(item, (ast.List, ast.Dict, ast.Set, ast.Tuple)):
                self._refuse_kept(item)
        self._place_models()

    def _look_into(self, call: ast.Call) -> None:
        """See that what module code calls works wherever the module is; bring back what numpy gets.

        Raises:
            Unproven: a function of another file makes tensors on the CPU, or numpy gets what may be no tensor.
        """
        called = self.flow.target(call)
        if called is not None and called[0] is not self.flow and not called[0].in_module_class(called[1]):
            inside = (item for item in ast.walk(called[1]) if isinstance(item, ast.Call))
            if called[1].name != "__init__" and any(makes_tensor(item, called[0]) for item in inside):
                raise Unproven(call, f"a module calls {called[1].name}(), which makes a tensor on the CPU")
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "numpy" and not call.args:
            value = function.value
            back = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "cpu"
            if not back and (self.flow.is_tensor(value) or _shows_tensor(value)):
                self.host[value] = None
            elif not back:
                raise Unproven(call, "whether this is a tensor on the device cannot be told")

    def _follow_into(self, call: ast.Call) -> None:
        """See that a function of the project to which a model or loss is handed is known to get one.

        Raises:
            Unproven: its calls disagree, or cannot be read, so that what it does with a batch would be missed.
        """
        called = self.flow.target(call)
        if called is None or called[0].in_module_class(called[1]):
            return
        flow, function = called
        parameters = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        if parameters[:1] == ["self"]:
            del parameters[0]
        given = [*zip(parameters, call.args, strict=False), *((item.arg or "", item.value) for item in call.keywords)]
        for name, value in given:
            kind = self.flow.kind(value)
            if kind not in ("model", "loss"):
                continue
            uses = [
                use
                for use in ast.walk(function)
                if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)
            ]
            if all(isinstance(flow.file.parent(use), ast.Attribute) for use in uses):
                continue
            if any(flow.kind(use) != kind for use in uses):
                raise Unproven(call, f"what {function.name}() gets as {name} is not the same {kind} everywhere")

    def _refuse_kept(self, node: ast.List | ast.Dict | ast.Set | ast.Tuple) -> None:
        """Refuse a list or dictionary of models: where they are called cannot be told."""
        inside = node.values if isinstance(node, ast.Dict) else node.elts
        if isinstance(node, ast.Tuple) and isinstance(self.flow.file.parent(node), (ast.Assign, ast.Return)):
            return
        parent = self.flow.file.parent(node)
        if isinstance(parent, ast.Call) and (self.flow.file.qualname(parent.func) or "").startswith("torch."):
            return
        kept = next((item for item in inside if self.flow.kind(item) in ("model", "loss")), None)
        if kept is not None:
            raise Unproven(kept, "it is kept in a list or dictionary, and where it is called cannot be told")

    def advance(self) -> None:
        """One round of following what is on the device, and what has to be."""
        self._spread()
        self._need_all()

    def finish(self) -> None:
        self._hosts()

    @property
    def first(self) -> ast.AST | None:
        """Where to say something of the program: where a model is called, else where one is made."""
        made = (node for node in self._nodes if isinstance(node, ast.Call) and self.flow.kind(node) == "model")
        return next(iter(self.called), None) or next(made, None)

    @property
    def changes(self) -> bool:
        """Whether anything is to be edited."""
        return bool(
            self.models or self.values or self.made or self.elements or self.batches or self.unpacked or self.host
        )

    def _plan_of(self, flow: Flow) -> PlacementPlan | None:
        """The plan of a file; None where it does not belong to the group."""
        return self if flow is self.flow else self._group.get(flow.source.relative)

    def size(self) -> int:
        """A number that grows as long as anything is found."""
        own = len(self.values) + len(self.made) + len(self.batches) + len(self._placed)
        return own + sum(map(len, self.elements.values())) + sum(map(len, self.unpacked.values()))

    # --- models ---

    def _place_models(self) -> None:
        for node in self._nodes:
            if not isinstance(node, ast.Call):
                continue
            if self._is_part_of_another(node):
                continue
            kind = self.flow.kind(node)
            base = _constructor(node)
            if kind not in ("model", "loss") or base is None or self.flow.function(base) is not None:
                continue
            if self._is_moved_by_caller(node) or self._is_moved_where_made(node):
                continue
            name = self.flow.file.qualname(base.func) or ""
            if name.startswith(("torch.compile", "torch.nn.DataParallel", "torch.nn.parallel.")):
                continue
            weights = any(keyword.arg in ("weight", "pos_weight") for keyword in base.keywords)
            if kind == "model" or weights:
                self.models[node] = None

    def _is_moved_by_caller(self, node: ast.Call) -> bool:
        """Whether a function returns this model to other files, which move it before an optimizer is built."""
        function = self.flow.frame(node)
        return isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and self._leaves_its_model(function)

    def _is_moved_where_made(self, node: ast.Call) -> bool:
        """Whether a function of another file gives this model, and moves it itself."""
        called = self.flow.target(node)
        plan = self._plan_of(called[0]) if called is not None else None
        if called is None or plan is None or plan is self or called[1].name == "__init__":
            return False
        return not plan._leaves_its_model(called[1])

    def _leaves_its_model(self, function: Function) -> bool:
        if len(self._group) < 2:
            return False
        called = [flow for flow, calls in self.flow.callers(function) if calls]
        if not called or self.flow in called or any(self.flow.kind(item) != "model" for item in returns(function)):
            return False
        return not any(isinstance(item, ast.Attribute) and item.attr == "parameters" for item in ast.walk(function))

    def _is_part_of_another(self, node: ast.Call) -> bool:
        """Whether a model is made for a larger one, which moves with it, or is the beginning of a longer chain."""
        parent = self.flow.file.parent(node)
        while isinstance(parent, (ast.keyword, ast.Starred, ast.List, ast.Tuple, ast.ListComp)):
            parent = self.flow.file.parent(parent)
        if isinstance(parent, ast.Call):
            return parent.func is not node and self.flow.kind(parent) == "model"
        return isinstance(parent, (ast.Attribute, ast.Expr))

    # --- what is on the device ---

    def _spread(self) -> None:
        """Names that are bound to something on the device are on the device, too."""
        for node in self._nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
                for name, bounds in self.flow.bindings(node).items():
                    if (node, name) not in self._placed and any(self._is_placed_bound(bound) for bound in bounds):
                        self._placed.add((node, name))
        for loop, names in self.elements.items():
            frame = self.flow.frame(loop)
            self._placed |= {(frame, name) for name in names}
        for loop, (name, _) in self.batches.items():
            self._placed.add((self.flow.frame(loop), name))
        for statement, names in self.unpacked.items():
            self._placed |= {(self.flow.frame(statement), name) for name in names}

    def _is_placed_bound(self, bound: Bound) -> bool:
        part = self.flow.part(bound) if bound.how == "part" else None
        if part is not None:
            plan = self._plan_of(part[0])
            return plan is not None and plan.on_device(part[1])
        if bound.how in ("value", "added", "part"):
            return self.on_device(bound.node)
        if bound.how == "element":
            return isinstance(bound.node, ast.expr) and self.on_device(self.flow.loop_over(bound.node)[0])
        if bound.how == "parameter":
            given = [(self._plan_of(flow), value) for flow, value in self.flow.passed(bound)]
            return bool(given) and all(plan is not None and plan.on_device(value) for plan, value in given)
        return False

    def on_device(self, node: ast.AST) -> bool:
        """Whether an expression is a tensor on the device, or holds one."""
        if node in self.values or node in self.made:
            return True
        if isinstance(node, ast.Name):
            frame = self.flow.frame(node)
            while True:
                if node.id in self.flow.bindings(frame):
                    return (frame, node.id) in self._placed
                if isinstance(frame, ast.Module):
                    return False
                frame = self.flow.frame(frame)
        if isinstance(node, ast.Call):
            return self._call_on_device(node)
        if isinstance(node, ast.Attribute):
            return node.attr not in _FACTS and self.on_device(node.value)
        if isinstance(node, ast.Subscript):
            return self.on_device(node.value)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.Tuple, ast.List, ast.IfExp)):
            return any(self.on_device(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        if isinstance(node, (ast.Starred, ast.NamedExpr, ast.keyword)):
            return self.on_device(node.value)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return False
        return False

    def _call_on_device(self, node: ast.Call) -> bool:
        if _is_run(node, self.flow):
            return True
        function = node.func
        if isinstance(function, ast.Attribute) and self.on_device(function.value):
            return function.attr not in _NO_TENSOR
        name = self.flow.file.qualname(function) or ""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name.startswith("torch.") and name != "torch.save":
            return any(self.on_device(value) for value in given)
        called = self.flow.target(node)
        plan = self._plan_of(called[0]) if called is not None else None
        if called is None or plan is None or node in plan._returning:
            return False
        plan._returning.add(node)
        try:
            return any(plan.on_device(value) for value in returns(called[1]))
        finally:
            plan._returning.discard(node)

    # --- what has to be on the device ---

    def _need_all(self) -> None:
        for call in self.called:
            for argument in (*call.args, *call.keywords):
                self.need(argument)
        for node in self._nodes:
            if isinstance(node, (ast.BinOp, ast.Compare)):
                sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
                self._need_beside(sides)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and self.on_device(node.value):
                self._need_added_to(node)
            elif isinstance(node, ast.Call) and node not in self.called:
                self._need_of_call(node)
                if self._is_method_of_model(node):
                    for argument in (*node.args, *node.keywords):
                        self.need(argument)

    def _is_method_of_model(self, node: ast.Call) -> bool:
        """``model.generate(x)``: a method of the model's own, which gets what forward gets."""
        function = node.func
        if not isinstance(function, ast.Attribute) or self.flow.kind(function.value) != "model":
            return False
        return function.attr not in _OF_MODULES and not function.attr.startswith(
            ("register_", "named_", "get_", "set_")
        )

    def _need_beside(self, sides: list[ast.expr]) -> None:
        if any(self.on_device(side) for side in sides):
            for side in sides:
                if not self.on_device(side):
                    self.need(side)

    def _need_added_to(self, node: ast.AugAssign) -> None:
        """``total += loss`` keeps a tensor of one element where it was made; only a tensor has to move."""
        for bound in self.flow.lookup(node.target.id, node) if isinstance(node.target, ast.Name) else ():
            if bound.how == "value" and isinstance(bound.node, ast.expr) and self.flow.is_tensor(bound.node):
                self._place(bound.node)

    def _need_of_call(self, node: ast.Call) -> None:
        name = self.flow.file.qualname(node.func) or ""
        operands: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and self.on_device(node.func.value):
            if node.func.attr not in _NO_TENSOR and node.func.attr not in (
                "to",
                "view",
                "reshape",
                "permute",
                "append",
            ):
                for operand in operands:
                    if self.flow.is_tensor(operand) and not self.on_device(operand):
                        self.need(operand)
        elif (
            name.startswith("torch.")
            and name not in CONSTRUCTORS
            and not name.startswith(("torch.save", "torch.optim"))
        ):
            self._need_beside_tensors(operands)

    def _need_beside_tensors(self, operands: list[ast.expr]) -> None:
        flat = [item for one in operands for item in (one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one])]
        if any(self.on_device(item) for item in flat):
            for item in flat:
                if not self.on_device(item):
                    self.need(item)

    def need(self, node: ast.AST) -> None:
        """See that an expression is on the device, unless it is no tensor.

        Raises:
            Unproven: where it comes from cannot be told.
        """
        if isinstance(node, ast.Constant):
            return
        if self.on_device(node) and not isinstance(node, ast.Name):
            return  # a name may be on the device by one of its bindings only: hidden = rnn(x, hidden)
        if isinstance(node, ast.keyword):
            if node.arg is None:
                self._need_whole(node.value, "dict")
            else:
                self.need(node.value)
        elif isinstance(node, ast.Starred):
            self._need_whole(node.value, "list")
        elif isinstance(node, ast.Name):
            self._need_name(node)
        elif isinstance(node, ast.Subscript):
            self._need_subscript(node)
        elif isinstance(node, ast.Attribute):
            if node.attr not in _FACTS:
                self._need_attribute(node)
        elif isinstance(node, ast.Call):
            self._need_call(node)
        elif isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.Tuple, ast.List, ast.IfExp)):
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            for child in children:
                if not (isinstance(node, ast.IfExp) and child is node.test):
                    self.need(child)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                self.need(value)
        elif not isinstance(node, ast.JoinedStr):
            raise Unproven(node, "where this comes from cannot be told")

    def _need_attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            values = self.flow.assigned_to_self(node)
            if not values:
                raise Unproven(node, f"where self.{node.attr} comes from cannot be told")
            for value in values:
                self._place(value)
        elif node.attr in ("T", "data", "mT", "real", "imag", "grad"):
            self.need(node.value)
        elif not (self.flow.file.qualname(node) or "").startswith(("torch.", "math.")):
            raise Unproven(node, f"whether {node.attr} is a tensor cannot be told")

    def _need_call(self, node: ast.Call) -> None:
        name = self.flow.file.qualname(node.func) or ""
        word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CONSTRUCTORS:
            self._make(node)
        elif (
            (
                isinstance(node.func, ast.Name)
                and word in _PLAIN
                and self.flow.file.source.is_builtin(word, self.flow.file.scope(node))
            )
            or (isinstance(node.func, ast.Attribute) and word in _NO_TENSOR)
            or self._need_returned(node)
        ):
            return
        elif self._is_movable(node):
            self.values[node] = None
        elif isinstance(node.func, ast.Attribute) and not name.startswith(("math.", "numpy.", "random.")):
            if name not in _NUMBERS:
                raise Unproven(node, f"whether {word}() gives a tensor cannot be told")
        elif name not in _NUMBERS and not name.startswith(("math.", "numpy.", "random.")):
            raise Unproven(node, f"what {word}() gives cannot be told")

    def _is_movable(self, node: ast.expr) -> bool:
        """Whether a call gives a tensor, or what moves like one."""
        if self.flow.is_tensor(node):
            return True
        name = self.flow.file.qualname(node.func) if isinstance(node, ast.Call) else None
        return name is not None and (name == "torch.autograd.Variable" or name.startswith("torch.nn.utils.rnn.pa"))

    def _need_returned(self, node: ast.Call) -> bool:
        """See to it that what a function of the project returns is on the device; False for any other call."""
        called = self.flow.target(node)
        plan = self._plan_of(called[0]) if called is not None else None
        if called is None or plan is None or called[1].name == "__init__" or self.flow.is_tensor(node):
            return False
        values = returns(called[1])
        if not values or node in plan._open:
            return False
        plan._open.add(node)
        try:
            for value in values:
                _there(plan, plan._place, value)
        finally:
            plan._open.discard(node)
        return True

    def _make(self, node: ast.Call) -> None:
        name = (self.flow.file.qualname(node.func) or "").rpartition(".")[2]
        if name.startswith("rand") and not name.endswith("_like"):
            # Each kind of device has its own random numbers; drawn on the CPU they stay those of the program.
            self.values[node] = None
        elif not any(keyword.arg in ("device", None) for keyword in node.keywords):
            self.made[node] = None

    def _need_name(self, node: ast.Name) -> None:
        bounds = self.flow.lookup(node.id, node)
        if not bounds:
            if self.flow.file.source.is_builtin(node.id, self.flow.file.scope(node)):
                raise Unproven(node, f"{node.id} is not bound in this file")
            raise Unproven(node, f"{node.id} comes from another file")
        for bound in bounds:
            if bound.node in self._open:
                continue
            self._open.add(bound.node)
            try:
                self._need_bound(node, bound)
            finally:
                self._open.discard(bound.node)

    def _need_bound(self, node: ast.Name, bound: Bound) -> None:
        if self._is_placed_bound(bound):
            return
        if bound.how in ("value", "added") and isinstance(bound.node, ast.expr):
            self._place(bound.node)
        elif bound.how == "part" and isinstance(bound.statement, ast.stmt):
            self._need_part(node, bound)
        elif bound.how == "element":
            self._need_element(node, bound)
        elif bound.how == "parameter":
            given = self.flow.passed(bound)
            if not given:
                raise Unproven(node, f"no call in this file shows what {node.id} is")
            for flow, value in given:
                plan = self._plan_of(flow)
                if plan is None:
                    raise Unproven(node, f"{flow.source.relative} passes {node.id}, and is not placed with this file")
                _there(plan, plan.need, value)
        else:
            raise Unproven(node, f"where {node.id} comes from cannot be told")

    def _need_part(self, node: ast.Name, bound: Bound) -> None:
        """``x, y = batch``: the parts are moved where they are unpacked."""
        part = self.flow.part(bound)
        if part is not None:
            plan = self._plan_of(part[0])
            if plan is None:
                raise Unproven(node, f"{part[0].source.relative} makes {node.id}, and is not placed with this file")
            _there(plan, plan._place, part[1])
            return
        if self._is_batch(bound.node):
            assert isinstance(bound.statement, ast.stmt)
            self.unpacked.setdefault(bound.statement, {})[node.id] = None
            return
        raise Unproven(node, f"whether {node.id} is a tensor cannot be told")

    def _is_batch(self, node: ast.AST) -> bool:
        """Whether an expression is a batch of a loader: the element of a loop over one, or ``next(iter(loader))``."""
        if isinstance(node, ast.Name):
            bounds = self.flow.lookup(node.id, node)
            return bool(bounds) and all(bound.how == "element" and self._loop_of_batches(bound) for bound in bounds)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
            return self.flow.kind(self.flow.loop_over(node.args[0])[0]) == "loader"
        return False

    def _loop_of_batches(self, bound: Bound) -> bool:
        if not isinstance(bound.node, ast.expr):
            return False
        over, path = self.flow.loop_over(bound.node)
        return self.flow.kind(over) == "loader" and bound.path[: len(path)] == path

    def _need_element(self, node: ast.Name, bound: Bound) -> None:
        loop = bound.statement
        if not isinstance(bound.node, ast.expr):
            return
        over, path = self.flow.loop_over(bound.node)
        if bound.path[: len(path)] != path:
            return  # the number that enumerate gives
        if self.on_device(over):
            return
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in ("range", "trange"):
            return
        if self.flow.kind(over) != "loader":
            raise Unproven(node, f"{node.id} comes from a loop over something that is not known to be a DataLoader")
        if not isinstance(loop, (ast.For, ast.AsyncFor)):
            raise Unproven(node, f"{node.id} is bound in a comprehension")
        if loop in self.batches:
            return
        self.elements.setdefault(loop, {})[node.id] = None

    def _need_whole(self, node: ast.expr, shape: str) -> None:
        """``model(**batch)`` and ``model(*batch)``: all of a batch is moved."""
        if self.on_device(node):
            return
        bounds = self.flow.lookup(node.id, node) if isinstance(node, ast.Name) else []
        if not isinstance(node, ast.Name) or len(bounds) != 1 or not self._is_batch(node):
            raise Unproven(node, "what is unpacked here cannot be told")
        loop = bounds[0].statement
        assert isinstance(loop, (ast.For, ast.AsyncFor))
        self.batches[loop] = (node.id, shape)

    def _need_subscript(self, node: ast.Subscript) -> None:
        key, base = node.slice, node.value
        if isinstance(base, ast.Name) and isinstance(key, ast.Constant) and self._is_batch(base):
            self._need_whole(base, "dict" if isinstance(key.value, str) else "list")
        elif self.flow.is_tensor(base):
            self.values[node] = None
        else:
            self.need(base)

    def _place(self, node: ast.expr) -> None:
        """Move a value where it is made, or assigned."""
        if isinstance(node, ast.Constant) or self.on_device(node) or self.flow.kind(node) is not None:
            return
        if isinstance(node, ast.Call) and self.flow.file.qualname(node.func) in CONSTRUCTORS:
            self._make(node)
        elif isinstance(node, (ast.Call, ast.BinOp)) and self._is_movable(node):
            self.values[node] = None
        else:
            self.need(node)

    # --- what leaves the device ---

    def _hosts(self) -> None:
        for node in self._nodes:
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr == "numpy" and self.on_device(function.value):
                self.host[function.value] = None
            elif (self.flow.file.qualname(function) or "").startswith(_HOSTS):
                for argument in node.args:
                    if self.on_device(argument) and not isinstance(argument, (ast.List, ast.Tuple)):
                        self.host[argument] = None


def _there(plan: PlacementPlan, follow: Callable[[ast.expr], None], value: ast.expr) -> None:
    """Follow a value in the file that it stands in, which a problem then names."""
    try:
        follow(value)
    except Unproven as problem:
        problem.flow = problem.flow or plan.flow
        raise


def _is_run(node: ast.Call, flow: Flow) -> bool:
    """Whether a call runs a model or loss: ``model(x)``, and ``model.forward(x)`` as well."""
    if flow.kind(node.func) in ("model", "loss"):
        return True
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "forward"
        and flow.kind(function.value) in ("model", "loss")
    )


def _shows_tensor(node: ast.expr) -> bool:
    """``x.data`` and ``x.detach()``, which only tensors have beside ``numpy()``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
    return isinstance(node, ast.Attribute) and node.attr == "data"


def _constructor(node: ast.Call) -> ast.Call | None:
    """The call at the beginning of a chain of methods, ``Net()`` of ``Net().eval()``; None for other chains."""
    current = node
    while isinstance(current.func, ast.Attribute) and isinstance(current.func.value, ast.Call):
        current = current.func.value
    return current if _is_name(current.func) else None


def _is_name(node: ast.expr) -> bool:
    """Whether a callee is a plain dotted name whose first part is no object that a method is called of."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def layers_made_elsewhere(flow: Flow) -> Iterator[tuple[ast.Call, str]]:
    """Calls that make a tensor without a device while a module runs, with an expression for the module's device.

    They stand in a module's methods, or in functions of the file that such methods call. The device is that of a
    parameter that is known to be a tensor, else that of the module's own weights; empty where nothing says it. What is
    made in ``__init__`` becomes part of the module, or not.
    """
    helpers = _called_by_modules(flow)
    for node in flow.nodes:
        if not isinstance(node, ast.Call) or not makes_tensor(node, flow):
            continue
        method = flow.frame(node)
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.name == "__init__":
            continue
        if flow.in_module_class(node) or method in helpers:
            parameter = _tensor_parameter(method, flow)
            yield node, f"{parameter}.device" if parameter else _device_of_weights(method, flow)


def makes_tensor(node: ast.Call, flow: Flow) -> bool:
    """Whether a call makes a tensor on the CPU, and nothing moves it at once."""
    name = flow.file.qualname(node.func) or ""
    if name in CONSTRUCTORS:
        return not any(keyword.arg in ("device", None) for keyword in node.keywords)
    if name != "torch.from_numpy" and not (name.startswith("torch.") and name.endswith("Tensor")):
        return False
    moved = flow.file.parent(node)
    return not (isinstance(moved, ast.Attribute) and moved.attr in ("to", "type_as"))


def _called_by_modules(flow: Flow) -> set[ast.AST]:
    """The functions of the file that code of modules calls, directly or through each other."""
    found: set[ast.AST] = set()
    pending = [node for node in flow.nodes if isinstance(node, ast.Call) and _runs_in_module(node, flow)]
    while pending:
        function = flow.function(pending.pop())
        if function is not None and function not in found and not flow.in_module_class(function):
            found.add(function)
            pending += [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return found


def _runs_in_module(node: ast.Call, flow: Flow) -> bool:
    """Whether a call belongs to a module's code, and not to what builds it."""
    return flow.in_module_class(node) and getattr(flow.frame(node), "name", "") != "__init__"


_OF_TENSORS: Final = frozenset(
    "shape size dim view unsqueeze transpose permute reshape contiguous squeeze matmul bmm softmax argmax".split()
)


def _tensor_parameter(method: Function, flow: Flow) -> str:
    """A parameter of a method that is used as only tensors are: by an annotation, its shape, or a layer's input."""
    names = [arg.arg for arg in method.args.args if arg.arg != "self"]
    for arg in method.args.args:
        if arg.annotation is not None and (flow.file.qualname(arg.annotation) or "") == "torch.Tensor":
            return arg.arg
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            if isinstance(node.value, ast.Name) and node.value.id in names:
                return node.value.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            given = node.args[0]
            own = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
            if own and isinstance(given, ast.Name) and given.id in names and flow.kind(node.func) == "model":
                return given.id
    return ""


def _device_of_weights(method: Function, flow: Flow) -> str:
    """``next(self.parameters()).device``, where the module has a layer with weights or a parameter of its own."""
    holder = flow.class_around(method)
    if holder is None or not method.args.args or method.args.args[0].arg != "self":
        return ""
    for item in ast.walk(holder):
        if not isinstance(item, ast.Assign) or not isinstance(item.value, ast.Call):
            continue
        name = flow.file.qualname(item.value.func) or ""
        target = item.targets[0]
        own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        if own and name.startswith("torch.nn.") and name.rpartition(".")[2] in _WITH_WEIGHTS:
            return "next(self.parameters()).device"
    return ""


_WITH_WEIGHTS: Final = frozenset(
    "Parameter Linear Bilinear Embedding EmbeddingBag LSTM GRU RNN LSTMCell GRUCell RNNCell Conv1d Conv2d Conv3d "
    "ConvTranspose1d ConvTranspose2d ConvTranspose3d MultiheadAttention Transformer TransformerEncoderLayer".split()
)
