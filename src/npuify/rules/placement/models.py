"""Which models and losses move where: each once, where it is made, before an optimizer gets its parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.values import MODELS, Kind
from npuify.language import phrase
from npuify.rules.placement.module_code import made_in_modules, makes_tensor, runs_in_module
from npuify.rules.placement.plan import Unproven
from npuify.rules.placement.view import returns

if TYPE_CHECKING:
    from npuify.rules.placement.plan import Plan, Together
    from npuify.rules.placement.view import Definition


class Models:
    """The models of one file.

    Raises:
        Unproven: one of them cannot be moved, or a module makes a tensor on the CPU, and nothing says where it is.
    """

    def __init__(self, plan: Plan, together: Together) -> None:
        self.plan = plan
        self.file = plan.file
        self.together = together
        self.view = together.view

    def place(self) -> None:
        """Plan to move the models that this file makes."""
        for made, device in made_in_modules(self.file, self.view):
            if not device:
                reason = "a module makes this tensor on the CPU, and nothing in the method says where it is"
                raise Unproven(made, reason, self.file)
        for node in self.view.nodes(self.file):
            if isinstance(node, ast.Call) and runs_in_module(node, self.file, self.view):
                self._look_into(node)
        for item in self.plan.nodes:
            if isinstance(item, ast.Call):
                self._follow_into(item)
            elif isinstance(item, (ast.List, ast.Dict, ast.Set, ast.Tuple)):
                self._refuse_kept(item)
        for call in self.plan.calls:
            self._place(call)

    def check(self) -> None:
        """See that all models that this file runs are moved."""
        for call in self.plan.called:
            for value in self.view.values(call.func, self.file).of_kind(Kind.MODEL):
                if value.place in self.together.settled:
                    continue
                home = self.view.model.node(value.place, self.file)
                if home is None or not self.view.in_module(home[1], home[0]):
                    raise Unproven(call, "where this model is made, nothing can move it", self.file)

    # --- code of modules, and what gets models ---

    def _look_into(self, call: ast.Call) -> None:
        """See that what module code calls works wherever the module is; bring back what numpy gets."""
        for home, one in self.view.called(call, self.file):
            if home is self.file or one.name == "__init__" or self.view.in_module(one, home):
                continue
            if any(isinstance(item, ast.Call) and makes_tensor(item, home, self.view) for item in ast.walk(one)):
                reason = phrase("a module calls {name}(), which creates a tensor on the CPU", name=one.name)
                raise Unproven(call, reason, self.file)
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "numpy" and not call.args:
            value = function.value
            back = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "cpu"
            if not back and (self.view.is_tensor(value, self.file) or _shows_tensor(value)):
                self.plan.host[value] = None
            elif not back:
                raise Unproven(call, "it is unclear whether this is a tensor on the device", self.file)

    def _follow_into(self, call: ast.Call) -> None:
        """See that a function of the project to which a model or loss is handed is known to get one.

        Where its calls disagree, or cannot be read, what it does with a batch would be missed.
        """
        for value, arg, home, function in self.view.handed(call, self.file):
            kind = self.view.kind(value, self.file)
            if kind not in MODELS or self.view.in_module(function, home):
                continue
            self.view.nodes(home)
            uses = [
                use
                for use in ast.walk(function)
                if isinstance(use, ast.Name) and use.id == arg.arg and isinstance(use.ctx, ast.Load)
            ]
            if all(isinstance(home.parent(use), ast.Attribute) for use in uses):
                continue
            if not all(self.view.is_model(use, home) for use in uses):
                said = "model" if kind is Kind.MODEL else "loss"
                reason = phrase(
                    "{name}() does not get the same {said} as {arg} everywhere",
                    name=function.name,
                    said=said,
                    arg=arg.arg,
                )
                raise Unproven(call, reason, self.file)

    def _refuse_kept(self, node: ast.List | ast.Dict | ast.Set | ast.Tuple) -> None:
        """Refuse a list or dictionary of models: where they are called cannot be told."""
        parent = self.file.parent(node)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return
        if isinstance(node, ast.Tuple) and isinstance(parent, (ast.Assign, ast.Return)):
            return
        if isinstance(parent, ast.Call) and self.view.name(parent.func, self.file).startswith("torch."):
            return
        inside = node.values if isinstance(node, ast.Dict) else node.elts
        kept = next((item for item in inside if self.view.is_model(item, self.file)), None)
        if kept is not None:
            reason = "it is kept in a list or dictionary, and it is unclear where it is called"
            raise Unproven(kept, reason, self.file)

    # --- where models are made ---

    def _place(self, node: ast.Call) -> None:
        kind = self.view.kind(node, self.file)
        base = _constructor(node)
        if kind not in MODELS or base is None:
            return
        place = self.file.place(base)
        made_here = all(value.place == place for value in self.view.values(node, self.file) if value.kind in MODELS)
        if self._is_part_of_another(node):
            if made_here:
                self.together.settled.add(place)
            return
        called = [home for home, one in self.view.called(base, self.file) if one.name != "__init__"]
        if not (made_here or called) or self.file in called:
            return
        if self.view.name(base.func, self.file) == "copy.deepcopy":
            self.together.settled.add(place)  # it is where the model is that it copies
            return
        if made_here and self._is_moved_by_caller(node):
            self.together.settled.add(place)
        elif not self._is_moved_where_made(node):
            self.together.settled |= {value.place for value in self.view.values(node, self.file) if value.place}
            weights = any(keyword.arg in ("weight", "pos_weight") for keyword in base.keywords)
            if kind is Kind.MODEL or weights:
                self.plan.models[node] = None

    def _is_moved_by_caller(self, node: ast.Call) -> bool:
        """Whether a function returns this model to other files, which move it before an optimizer is built."""
        function = self.file.frame(node)
        return isinstance(function, DEFINITIONS) and self.leaves_its_model(function)

    def _is_moved_where_made(self, node: ast.Call) -> bool:
        """Whether a function of another file gives this model, and moves it itself."""
        called = self.view.surely_called(node, self.file)
        plans = [(self.together.plan_of(home), one) for home, one in called if home is not self.file]
        return bool(plans) and all(
            plan is not None and not Models(plan, self.together).leaves_its_model(one) for plan, one in plans
        )

    def leaves_its_model(self, function: Definition) -> bool:
        """Whether the model that a function makes is moved where it is called: only other files call it."""
        if len(self.together.plans) < 2:
            return False
        callers = [home for home, _ in self.view.calls_of(function, self.file)]
        if not callers or self.file in callers:
            return False
        if any(self.view.kind(item, self.file) is not Kind.MODEL for item in returns(function, self.file)):
            return False
        return not any(isinstance(item, ast.Attribute) and item.attr == "parameters" for item in ast.walk(function))

    def _is_part_of_another(self, node: ast.Call) -> bool:
        """Whether a model is made for a larger one, which moves with it, or is the beginning of a longer chain."""
        parent = self.file.parent(node)
        while isinstance(parent, (ast.keyword, ast.Starred, ast.List, ast.Tuple, ast.ListComp)):
            parent = self.file.parent(parent)
        if isinstance(parent, ast.Call):
            return parent.func is not node and self.view.kind(parent, self.file) is Kind.MODEL
        return isinstance(parent, (ast.Attribute, ast.Expr))


def _constructor(node: ast.Call) -> ast.Call | None:
    """The call at the beginning of a chain of methods, ``Net()`` of ``Net().eval()``."""
    current = node
    while isinstance(current.func, ast.Attribute) and isinstance(current.func.value, ast.Call):
        current = current.func.value
    return current


def _shows_tensor(node: ast.expr) -> bool:
    """``x.data`` and ``x.detach()``, which only tensors have beside ``numpy()``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
    return isinstance(node, ast.Attribute) and node.attr == "data"
