"""What torch modules make while they run: that has to be where the module is, wherever that is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.values import Kind
from npuify.rules.placement.needs import CONSTRUCTORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.rules.placement.view import Definition, ProgramView

_OF_TENSORS: Final = frozenset(
    "shape size dim view unsqueeze transpose permute reshape contiguous squeeze matmul bmm softmax argmax".split()
)
_WITH_WEIGHTS: Final = frozenset(
    "Parameter Linear Bilinear Embedding EmbeddingBag LSTM GRU RNN LSTMCell GRUCell RNNCell Conv1d Conv2d Conv3d "
    "ConvTranspose1d ConvTranspose2d ConvTranspose3d MultiheadAttention Transformer TransformerEncoderLayer".split()
)


def made_in_modules(file: FileModel, view: ProgramView) -> Iterator[tuple[ast.Call, str]]:
    """Calls that make a tensor without a device while a module runs, with an expression for the module's device.

    They stand in a module's methods, or in functions of the file that such methods call. The device is that of a
    parameter that is known to be a tensor, else that of the module's own weights; empty where nothing says it. What is
    made in ``__init__`` becomes part of the module, or not.
    """
    helpers: set[ast.AST] | None = None
    for node in view.nodes(file):
        if not isinstance(node, ast.Call) or not makes_tensor(node, file, view):
            continue
        method = file.frame(node)
        if not isinstance(method, DEFINITIONS) or method.name == "__init__":
            continue
        if not view.in_module(node, file):
            if helpers is None:
                helpers = _called_by_modules(file, view)
            if method not in helpers:
                continue
        parameter = _tensor_parameter(method, file, view)
        yield node, f"{parameter}.device" if parameter else _device_of_weights(method, file, view)


def makes_tensor(node: ast.Call, file: FileModel, view: ProgramView) -> bool:
    """Whether a call makes a tensor on the CPU, and nothing moves it at once."""
    name = view.name(node.func, file)
    if name in CONSTRUCTORS:
        return not any(keyword.arg in ("device", None) for keyword in node.keywords)
    if name != "torch.from_numpy" and not (name.startswith("torch.") and name.endswith("Tensor")):
        return False
    moved = file.parent(node)
    return not (isinstance(moved, ast.Attribute) and moved.attr in ("to", "type_as"))


def runs_in_module(node: ast.Call, file: FileModel, view: ProgramView) -> bool:
    """Whether a call belongs to a module's code, and not to what builds it."""
    return view.in_module(node, file) and getattr(file.frame(node), "name", "") != "__init__"


def _called_by_modules(file: FileModel, view: ProgramView) -> set[ast.AST]:
    """The functions of the file that code of modules calls, directly or through each other."""
    found: set[ast.AST] = set()
    pending = [node for node in view.nodes(file) if isinstance(node, ast.Call) and runs_in_module(node, file, view)]
    while pending:
        for home, function in view.called(pending.pop(), file):
            if home is file and function.name != "__init__" and function not in found:
                if not view.in_module(function, file):
                    found.add(function)
                    pending += [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return found


def _tensor_parameter(method: Definition, file: FileModel, view: ProgramView) -> str:
    """A parameter of a method that is used as only tensors are: by an annotation, its shape, or a layer's input."""
    names = [arg.arg for arg in method.args.args if arg.arg != "self"]
    for arg in method.args.args:
        if arg.annotation is not None and view.name(arg.annotation, file) == "torch.Tensor":
            return arg.arg
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            if isinstance(node.value, ast.Name) and node.value.id in names:
                return node.value.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            given = node.args[0]
            own = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
            if own and isinstance(given, ast.Name) and given.id in names:
                if view.kind(node.func, file) is Kind.MODEL:
                    return given.id
    return ""


def _device_of_weights(method: Definition, file: FileModel, view: ProgramView) -> str:
    """``next(self.parameters()).device``, where the module has a layer with weights or a parameter of its own."""
    holder = file.class_around(method)
    if holder is None or not method.args.args or method.args.args[0].arg != "self":
        return ""
    for item in ast.walk(holder):
        if not isinstance(item, ast.Assign) or not isinstance(item.value, ast.Call):
            continue
        name = view.name(item.value.func, file)
        target = item.targets[0]
        own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        if own and name.startswith("torch.nn.") and name.rpartition(".")[2] in _WITH_WEIGHTS:
            return "next(self.parameters()).device"
    return ""
