"""What is on the device, and what bindings, operators and calls make of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.rules.placement.view import returns
from npuify.source.python.scopes import ComprehensionNode, FunctionNode

if TYPE_CHECKING:
    from npuify.analysis.targets import Bound
    from npuify.rules.placement.plan import Plan, Together
    from npuify.rules.placement.view import Expression

NO_TENSOR: Final = frozenset(
    "item tolist numpy size dim numel element_size nelement get_device is_contiguous stride backward cpu keys "
    "state_dict parameters named_parameters children modules".split()
)
"""Methods whose result is no tensor on the device."""
FACTS: Final = frozenset("shape dtype ndim requires_grad is_leaf layout device training".split())
OPERATIONS: Final = (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.Tuple, ast.List, ast.IfExp)


class Presence:
    """What of one file is on the device."""

    def __init__(self, plan: Plan, together: Together) -> None:
        self.plan = plan
        self.file = plan.file
        self.together = together
        self.view = together.view

    def spread(self) -> None:
        """Names that are bound to something on the device are on the device, too."""
        placed = self.together.placed
        for node in self.plan.nodes:
            if isinstance(node, (ast.Module, *FunctionNode, *ComprehensionNode)):
                source = self.file.source
                scope = source.scope if isinstance(node, ast.Module) else source.inner_scope(node)
                for name in list(scope.names):
                    if (node, name) not in placed and any(
                        self.is_bound_to_placed(bound) for bound in self.view.bounds_in(name, scope, self.file)
                    ):
                        placed.add((node, name))
        moved = [*self.plan.elements.items(), *self.plan.unpacked.items()]
        moved += [(loop, {name: None}) for loop, (name, _) in self.plan.batches.items()]
        placed |= {(self.view.owner(name, node, self.file).node, name) for node, names in moved for name in names}

    def is_bound_to_placed(self, bound: Bound | ast.arg) -> bool:
        """Whether a binding binds to something on the device."""
        if isinstance(bound, ast.arg):
            given = self.view.passed(bound, self.file)
            return bool(given) and all(map(self.is_there, given))
        if bound.source is None:
            return False
        if bound.how == "element":
            over = self.view.gone_through(bound, self.file)
            return over is not None and self.on_device(over)
        parts = self.view.parts(bound, self.file)
        if parts:
            return all(map(self.is_there, parts))
        return bound.how in ("value", "added") and self.on_device(bound.source)

    def is_there(self, expression: Expression) -> bool:
        """Whether an expression of any file of the group is on the device."""
        file, node = expression
        plan = self.together.plan_of(file)
        return plan is not None and Presence(plan, self.together).on_device(node)

    def on_device(self, node: ast.AST) -> bool:
        """Whether an expression is a tensor on the device, or holds one."""
        if node in self.plan.values or node in self.plan.made:
            return True
        if isinstance(node, ast.Name):
            return (self.view.owner(node.id, node, self.file).node, node.id) in self.together.placed
        if isinstance(node, ast.Call):
            return self._gives_placed(node)
        if isinstance(node, ast.Attribute):
            return node.attr not in FACTS and self.on_device(node.value)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr, ast.keyword)):
            return self.on_device(node.value)
        if isinstance(node, OPERATIONS):
            return any(self.on_device(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        return False

    def _gives_placed(self, node: ast.Call) -> bool:
        if self.view.is_run(node, self.file):
            return True
        function = node.func
        if isinstance(function, ast.Attribute) and self.on_device(function.value):
            return function.attr not in NO_TENSOR
        name = self.view.name(function, self.file)
        if name.startswith("torch.") and name != "torch.save":
            return any(self.on_device(value) for value in (*node.args, *node.keywords))
        called = self.view.surely_called(node, self.file)
        if not called or node in self.together.returning:
            return False
        self.together.returning.add(node)
        try:
            return any(self.is_there((home, value)) for home, one in called for value in returns(one, home))
        finally:
            self.together.returning.discard(node)
