"""What has to be on the device, since models, losses or operators get it: followed to where it is made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.targets import Bound
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.rules.placement.plan import Unproven
from npuify.rules.placement.presence import FACTS, NO_TENSOR, OPERATIONS, Presence
from npuify.rules.placement.view import returns

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.rules.placement.view import Expression

CONSTRUCTORS: Final = frozenset(
    f"torch.{name}"
    for name in (
        "tensor as_tensor zeros ones empty full rand randn randint arange linspace logspace eye randperm range "
        "zeros_like ones_like rand_like randn_like full_like empty_like scalar_tensor tril_indices triu_indices"
    ).split()
)
"""Functions that make a tensor and take ``device``."""
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
_PLAIN: Final = frozenset(
    f"builtins.{name}"
    for name in (
        "len int float str bool print range isinstance round repr format type id hasattr getattr max min abs sum zip "
        "enumerate sorted open next iter tuple list dict set"
    ).split()
)
_OF_NUMBERS: Final = ("math.", "numpy.", "random.")
_HOSTS: Final = ("numpy.", "scipy.", "sklearn.", "matplotlib.", "PIL.", "pandas.", "cv2.")
_KEEPING: Final = frozenset(("to", "view", "reshape", "permute", "append"))
"""Methods that take no tensor beside their own."""


class Needs(Presence):
    """What of one file has to be on the device.

    Raises:
        Unproven: something that has to be moved cannot be followed.
    """

    def all(self) -> None:
        """One round of following what has to be on the device."""
        for call in self.plan.called:
            self._need_each(call)
        for node in self.plan.nodes:
            if isinstance(node, ast.BinOp):
                self._need_beside([node.left, node.right])
            elif isinstance(node, ast.Compare):
                self._need_beside([node.left, *node.comparators])
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and self.on_device(node.value):
                self._need_added_to(node.target)
            elif isinstance(node, ast.Call) and node not in self.plan.called:
                self._need_of_call(node)
                if self._is_method_of_model(node):
                    self._need_each(node)

    def hosts(self) -> None:
        """What leaves the device."""
        for node in self.plan.calls:
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr == "numpy" and self.on_device(function.value):
                self._bring_back(function.value)
            elif self.view.name(function, self.file).startswith(_HOSTS):
                for argument in node.args:
                    if self.on_device(argument) and not isinstance(argument, (ast.List, ast.Tuple)):
                        self._bring_back(argument)

    def _bring_back(self, node: ast.expr) -> None:
        if self.view.values(node, self.file).of_kind(Kind.CONTAINER, Kind.LIBRARY_OBJECT, Kind.NUMBER):
            raise self._unproven(node, "it is unclear whether this is a tensor on the device")
        self.plan.host[node] = None

    # --- what gets something on the device ---

    def _need_each(self, call: ast.Call) -> None:
        for argument in (*call.args, *call.keywords):
            self.need(argument)

    def _is_method_of_model(self, node: ast.Call) -> bool:
        """``model.generate(x)``: a method of the model's own, which gets what forward gets."""
        function = node.func
        if not isinstance(function, ast.Attribute) or self.view.kind(function.value, self.file) is not Kind.MODEL:
            return False
        return function.attr not in _OF_MODULES and not function.attr.startswith(
            ("register_", "named_", "get_", "set_")
        )

    def _need_beside(self, sides: list[ast.expr]) -> None:
        placed = [self.on_device(side) for side in sides]
        if any(placed):
            for side, is_placed in zip(sides, placed, strict=True):
                if not is_placed:
                    self.need(side)

    def _need_added_to(self, target: ast.Name) -> None:
        """``total += loss`` keeps a tensor of one element where it was made; only a tensor has to move."""
        for bound in self.view.bounds(target, self.file):
            if isinstance(bound, Bound) and bound.how == "value" and not bound.path and bound.source is not None:
                if self.view.is_tensor(bound.source, self.file):
                    self.place(bound.source)

    def _need_of_call(self, node: ast.Call) -> None:
        name = self.view.name(node.func, self.file)
        operands: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and self.on_device(node.func.value):
            if node.func.attr not in NO_TENSOR and node.func.attr not in _KEEPING:
                for operand in operands:
                    if self.view.is_tensor(operand, self.file) and not self.on_device(operand):
                        self.need(operand)
        elif (
            name.startswith("torch.")
            and name not in CONSTRUCTORS
            and not name.startswith(("torch.save", "torch.optim"))
        ):
            self._need_beside(
                [item for one in operands for item in (one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one])]
            )

    # --- to where it is made ---

    def need(self, node: ast.AST) -> None:
        """See that an expression is on the device, unless it is no tensor."""
        if isinstance(node, ast.Constant):
            return
        if self.on_device(node) and not isinstance(node, ast.Name):
            return  # a name may be on the device by one of its bindings only: hidden = rnn(x, hidden)
        if isinstance(node, ast.expr) and self.view.is_no_tensor(self.view.values(node, self.file)):
            return
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
            if node.attr not in FACTS:
                self._need_attribute(node)
        elif isinstance(node, ast.Call):
            self._need_call(node)
        elif isinstance(node, OPERATIONS):
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            for child in children:
                if not (isinstance(node, ast.IfExp) and child is node.test):
                    self.need(child)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                self.need(value)
        elif not isinstance(node, ast.JoinedStr):
            raise self._unproven(node, "it is unclear where this comes from")

    def place(self, node: ast.expr) -> None:
        """Move a value where it is made, or assigned."""
        if isinstance(node, ast.Constant) or self.on_device(node) or self.view.kind(node, self.file) is not None:
            return
        if isinstance(node, ast.Call) and self.view.name(node.func, self.file) in CONSTRUCTORS:
            self._make(node)
        elif isinstance(node, (ast.Call, ast.BinOp)) and not self._is_of_project(node) and self._is_movable(node):
            self.plan.values[node] = None
        else:
            self.need(node)

    def _is_of_project(self, node: ast.expr) -> bool:
        """Whether a call is one of a function of the group, which makes what it returns on the device."""
        called = self.view.surely_called(node, self.file) if isinstance(node, ast.Call) else []
        return bool(called) and all(self.together.plan_of(home) is not None for home, _ in called)

    def _is_movable(self, node: ast.expr) -> bool:
        """Whether a call gives a tensor, or what moves like one."""
        if self.view.is_tensor(node, self.file):
            return True
        name = self.view.name(node.func, self.file) if isinstance(node, ast.Call) else ""
        return name == "torch.autograd.Variable" or name.startswith("torch.nn.utils.rnn.pa")

    def _make(self, node: ast.Call) -> None:
        name = self.view.name(node.func, self.file).rpartition(".")[2]
        if name.startswith("rand") and not name.endswith("_like"):
            # Each kind of device has its own random numbers; drawn on the CPU they stay those of the program.
            self.plan.values[node] = None
        elif not any(keyword.arg in ("device", None) for keyword in node.keywords):
            self.plan.made[node] = None

    def _need_call(self, node: ast.Call) -> None:
        name = self.view.name(node.func, self.file)
        word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CONSTRUCTORS:
            self._make(node)
        elif (
            name in _PLAIN or (isinstance(node.func, ast.Attribute) and word in NO_TENSOR) or self._need_returned(node)
        ):
            return
        elif self._is_movable(node):
            self.plan.values[node] = None
        elif name not in _NUMBERS and not name.startswith(_OF_NUMBERS):
            gives = (
                phrase("whether {word}() gives a tensor", word=word)
                if isinstance(node.func, ast.Attribute)
                else phrase("what {word}() gives", word=word)
            )
            raise self._unproven(node, phrase("it is unclear {gives}", gives=gives))

    def _need_returned(self, node: ast.Call) -> bool:
        """See to it that what a function of the group returns is on the device; False for any other call."""
        called = self.view.surely_called(node, self.file) if self._is_of_project(node) else []
        values = [(home, value) for home, one in called for value in returns(one, home)]
        if not values or node in self.together.giving:
            return False
        self.together.giving.add(node)
        try:
            for expression in values:
                self._place_there(expression)
        finally:
            self.together.giving.discard(node)
        return True

    def _need_attribute(self, node: ast.Attribute) -> None:
        stores = self.view.stores(node, self.file)
        if stores:
            for file, bound in stores:
                self._need_stored(node, file, bound)
        elif isinstance(node.value, ast.Name) and node.value.id == "self":
            raise self._unproven(node, phrase("it is unclear where self.{attr} comes from", attr=node.attr))
        elif node.attr in ("T", "data", "mT", "real", "imag", "grad"):
            self.need(node.value)
        elif not self.view.name(node, self.file).startswith(("torch.", "math.")):
            raise self._unproven(node, phrase("it is unclear whether {attr} is a tensor", attr=node.attr))

    def _need_subscript(self, node: ast.Subscript) -> None:
        key, base = node.slice, node.value
        if (
            isinstance(base, ast.Name)
            and isinstance(key, ast.Constant)
            and self.view.is_batch(self.view.values(base, self.file))
        ):
            self._need_whole(base, "dict" if isinstance(key.value, str) else "list")
        elif self.view.is_tensor(base, self.file) and self._is_made_here(base):
            self.plan.values[node] = None
        else:
            self.need(base)

    def _is_made_here(self, node: ast.expr) -> bool:
        """Whether a tensor is none that a function of the project gives, or gets: that one moves as a whole."""
        for bound in self.view.bounds(node, self.file) if isinstance(node, ast.Name) else ():
            if isinstance(bound, ast.arg) or bound.source is None:
                return False
            if isinstance(bound.source, ast.Call) and self.view.surely_called(bound.source, self.file):
                return False
        return True

    # --- names ---

    def _need_name(self, node: ast.Name) -> None:
        bounds = self.view.bounds(node, self.file)
        if not bounds:
            is_builtin = self.view.name(node, self.file).startswith("builtins.")
            where = "is not bound in this file" if is_builtin else "comes from another file"
            raise self._unproven(node, f"{node.id} {where}")
        for bound in bounds:
            key = bound if isinstance(bound, ast.arg) else (bound.source or bound.node)
            if key not in self.together.open:
                self.together.open.add(key)
                try:
                    self._need_bound(node, bound)
                finally:
                    self.together.open.discard(key)

    def _need_bound(self, node: ast.Name, bound: Bound | ast.arg) -> None:
        if self.is_bound_to_placed(bound):
            return
        if isinstance(bound, ast.arg):
            for expression in self._given(node, bound):
                self._there(node, expression, "passes").need(expression[1])
        elif bound.how == "element":
            self._need_element(node, bound)
        elif bound.source is not None and bound.how in ("value", "added"):
            if bound.path:
                self._need_part(node, bound)
            else:
                self.place(bound.source)
        else:
            raise self._unproven(node, phrase("it is unclear where {id} comes from", id=node.id))

    def _given(self, node: ast.Name, arg: ast.arg) -> list[Expression]:
        given = self.view.passed(arg, self.file)
        if not given:
            raise self._unproven(node, phrase("no call in this file shows what {id} is", id=node.id))
        return given

    def _need_part(self, node: ast.Name | ast.Attribute, bound: Bound) -> None:
        """``x, y = batch``: the parts are moved where they are unpacked."""
        parts = self.view.parts(bound, self.file)
        word = node.id if isinstance(node, ast.Name) else node.attr
        for part in parts:
            there = self._there(node, part, "makes")
            there.place(part[1])
        if parts:
            return
        values = self.view.model.bound(bound, self.file)
        if self.view.is_no_tensor(values):
            return
        if isinstance(node, ast.Name) and isinstance(bound.node, ast.stmt) and self.view.is_batch(values):
            self.plan.unpacked.setdefault(bound.node, {})[node.id] = None
            return
        raise self._unproven(node, phrase("it is unclear whether {word} is a tensor", word=word))

    def _need_element(self, node: ast.Name, bound: Bound) -> None:
        values = self.view.model.bound(bound, self.file)
        over = self.view.gone_through(bound, self.file)
        if over is None or self.on_device(over) or self.view.is_no_tensor(values):
            return
        if not self.view.is_batch(values):
            raise self._unproven(
                node, phrase("{id} comes from a loop over something that may not be a DataLoader", id=node.id)
            )
        if not isinstance(bound.node, (ast.For, ast.AsyncFor)):
            raise self._unproven(node, phrase("{id} is bound in a comprehension", id=node.id))
        if bound.node not in self.plan.batches:
            self.plan.elements.setdefault(bound.node, {})[node.id] = None

    def _need_whole(self, node: ast.expr, shape: str) -> None:
        """``model(**batch)`` and ``model(*batch)``: all of a batch is moved."""
        if self.on_device(node):
            return
        bounds = self.view.bounds(node, self.file) if isinstance(node, ast.Name) else []
        sole = bounds[0] if len(bounds) == 1 else None
        if isinstance(node, ast.Name) and self.view.is_batch(self.view.values(node, self.file)):
            if isinstance(sole, ast.arg) and sole not in self.together.open:
                self.together.open.add(sole)
                for expression in self._given(node, sole):
                    self._there(node, expression, "passes")._need_whole(expression[1], shape)
                self.together.open.discard(sole)
                return
            if isinstance(sole, Bound) and sole.how == "element" and isinstance(sole.node, (ast.For, ast.AsyncFor)):
                self.plan.batches[sole.node] = (node.id, shape)
                return
        raise self._unproven(node, "it is unclear what is unpacked here")

    # --- other files ---

    def _need_stored(self, node: ast.Attribute, file: FileModel, bound: Bound) -> None:
        plan = self.together.plan_of(file)
        if plan is None:
            raise self._unproven(
                node,
                phrase(
                    "{relative} sets {attr}, and is not placed with this file", relative=file.relative, attr=node.attr
                ),
            )
        there = Needs(plan, self.together)
        if bound.source is None or bound.how not in ("value", "added"):
            raise self._unproven(node, phrase("it is unclear where {attr} comes from", attr=node.attr))
        if bound.path:
            there._need_part(node, bound)
        else:
            there.place(bound.source)

    def _there(self, node: ast.AST, expression: Expression, what: str) -> Needs:
        """What has to be on the device in the file of an expression."""
        file, _ = expression
        plan = self.together.plan_of(file)
        if plan is None:
            word = getattr(node, "id", getattr(node, "attr", ""))
            raise self._unproven(
                node,
                phrase(
                    "{relative} {what} {word}, and is not placed with this file",
                    relative=file.relative,
                    what=what,
                    word=word,
                ),
            )
        return Needs(plan, self.together)

    def _place_there(self, expression: Expression) -> None:
        plan = self.together.plan_of(expression[0])
        if plan is not None:
            Needs(plan, self.together).place(expression[1])

    def _unproven(self, node: ast.AST, reason: str) -> Unproven:
        return Unproven(node, reason, self.file)
