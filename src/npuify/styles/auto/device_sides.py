"""Comparisons of a device that a program made with what torch says: ``transfer_to_npu`` changes one of them only."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.operators import formatted
from npuify.analysis.values import Kind
from npuify.model import Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Place, Value
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_WHOLE: Final = frozenset(("lower", "strip"))
"""Methods of a text that leave a device's name what it is."""
_PARTS: Final = frozenset(("split", "partition"))
_NUMBERS: Final = frozenset(("shape", "size", "numel", "dim", "ndim", "dtype", "stride", "item", "requires_grad"))
"""What tensors say of themselves that is no device."""
_DEVICES: Final = frozenset((Kind.DEVICE, Kind.DEVICE_STRING, Kind.STRING))


@rule(
    "NPU123",
    "device-compared-as-a-whole",
    Safety.SAFE,
    Severity.WARNING,
    words=("==", "!=", " in ", "assertequal(", "assertnotequal(", "device("),
    also_in_file=("device",),
    style="auto",
    common_words=True,
    source="torch_npu/contrib/transfer_to_npu.py: torch.device is not replaced",
)
def device_compared_as_a_whole(
    node: ast.Compare | ast.Call | ast.Dict | ast.DictComp, file: PythonFile
) -> Iterator[Diagnostic]:
    """``x.device == torch.device("cuda:0")`` is false under ``transfer_to_npu``: the tensor says ``npu:0``.

    So is a comparison of their types, or of their names. A table with such keys has none for the tensor's.

    Before::

        import torch

        def there(x: torch.Tensor) -> bool:
            return x.device == torch.device("cuda:0")

    After::

        import torch
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401

        def there(x: torch.Tensor) -> bool:
            return x.device == torch.device("npu:0")
    """
    if file.plan.style != "auto":
        return
    if isinstance(node, (ast.Dict, ast.DictComp)):
        yield from _keyed(node, file)
        return
    for said, other in _sides(node):
        of_torch, own = device_of(said), device_of(other)
        if isinstance(own, ast.Constant) or isinstance(of_torch, ast.Constant):
            continue  # a word is NPU120's
        if not (_may_be_device(own, file) and _may_be_device(of_torch, file)):
            continue
        sure = _is_of_torch(of_torch, file)
        numbered = _is_numbered(of_torch, file)
        if not (sure or numbered) and not (isinstance(of_torch, ast.Attribute) and of_torch.attr == "device"):
            continue
        if not (is_own(own, file) or _may_be_own(own, file)) or (not (sure or numbered) and is_own(of_torch, file)):
            continue
        word = _word_within(own, file)
        edits = []
        if sure and word is not None:
            start = file.source.start(word) + file.code(word).index("cuda")
            edits = [file.edit(start, start + len("cuda"), "npu")]
        yield file.report(
            node,
            "on an NPU what a tensor says of its device never equals a torch.device('cuda') of the program's own, "
            "which transfer_to_npu does not replace",
            edits=edits,
            subject="torch.device",
            advice="" if edits else 'compare the types: x.device.type in ("cuda", "npu")',
        )
        return


def _keyed(node: ast.Dict | ast.DictComp, file: PythonFile) -> Iterator[Diagnostic]:
    """A table whose keys are devices that the program makes."""
    for key in node.keys if isinstance(node, ast.Dict) else [node.key]:
        if isinstance(key, ast.Call) and file.qualname(key.func) == "torch.device" and _may_be_own(key, file):
            yield file.report(
                key,
                "a torch.device('cuda') as a key, which transfer_to_npu does not replace: the device of a tensor on an "
                "NPU is another key",
                subject="torch.device",
                advice="use the device's index or its text as the key",
            )
            return


def _sides(node: ast.Compare | ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """What is compared with what, each of the two first; of a list, what is sought in it with each of its items."""
    if isinstance(node, ast.Call):
        asserts = isinstance(node.func, ast.Attribute) and node.func.attr in ("assertEqual", "assertNotEqual")
        return [(node.args[0], node.args[1]), (node.args[1], node.args[0])] if asserts and len(node.args) > 1 else []
    if len(node.ops) != 1:
        return []
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return [(left, right), (right, left)]
    if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(right, (ast.List, ast.Tuple, ast.Set)):
        return [(left, item) for item in right.elts]
    return []


def device_of(node: ast.expr) -> ast.expr:
    """The device of which the type or the name is compared: ``x.device`` in ``str(x.device).split(":")[0]``."""
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return device_of(node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in _PARTS:
            return device_of(function.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("str", "format") and len(node.args) == 1:
            return device_of(node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr in _WHOLE:
            return device_of(node.func.value)
    said = formatted(node)
    return node if said is None else device_of(said)


def _may_be_device(node: ast.expr, file: PythonFile) -> bool:
    """Whether something may be a device or its name, as far as its file alone tells: most of what is compared is not.

    What the whole program makes of it takes long to tell.
    """
    if any(isinstance(one, ast.Attribute) and one.attr in _NUMBERS for one in (node, *_owners(node))):
        return False
    if isinstance(node, (ast.UnaryOp, ast.Compare)):
        return False
    if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Mod)):
        return False  # a name is put together with + and % only
    values = file.values(node, Reach.FILE)
    if isinstance(node, ast.Attribute) and node.attr == "device" and values.of_kind(Kind.BATCH):
        return True  # what a batch is made of is not told apart from it
    return not values.is_known or any(value.kind in _DEVICES for value in values)


def _owners(node: ast.expr) -> Iterator[ast.expr]:
    """What is indexed or called in ``x.shape[0]`` and ``x.size(0)``."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
        yield node


def _is_of_torch(node: ast.expr, file: PythonFile) -> bool:
    """Whether torch itself says a device: that of a tensor or a parameter."""
    values = file.values(node, Reach.PROGRAM)
    return bool(values) and all(value.kind is Kind.DEVICE and not value.name for value in values)


def _is_numbered(node: ast.expr, file: PythonFile) -> bool:
    """Whether a device is made of a card's number alone, ``torch.device(0)``: its type is that of the machine."""
    if not isinstance(node, ast.Call) or file.qualname(node.func) != "torch.device" or node.keywords:
        return False
    if len(node.args) != 1:
        return False
    given = node.args[0]
    if isinstance(given, ast.Constant):
        return isinstance(given.value, int)
    if isinstance(given, ast.Attribute):
        return given.attr == "index"
    if isinstance(given, ast.Call) and (file.qualname(given.func) or "").endswith(".current_device"):
        return True
    return _is_numbered(given, file)


def is_own(node: ast.expr, file: PythonFile) -> bool:
    """Whether the program itself makes a device, or its name, and it may be one of CUDA."""
    values = file.values(node, Reach.PROGRAM)
    made = [_made(value, file, frozenset()) for value in values]
    return bool(made) and None not in made and any(made)


def _may_be_own(node: ast.expr, file: PythonFile) -> bool:
    """Whether one of the devices that an expression may be is one of CUDA that the program makes.

    One that is made of a text that nothing is known of may be: what a program reads stays what it is.
    """
    return any(
        made or (made is None and value.kind is Kind.DEVICE and value.name == "torch.device")
        for value in file.values(node, Reach.PROGRAM)
        for made in (_made(value, file, frozenset()),)
    )


def _made(value: Value, file: PythonFile, within: frozenset[Place]) -> bool | None:
    """Whether a device that the program makes is one of CUDA; None where it makes none, or that is not known.

    Args:
        value: what stands on one side.
        file: where.
        within: places of devices that this one is made from: ``device = torch.device(device)`` is made from itself.
    """
    if value.kind is Kind.DEVICE_STRING and value.name:
        return value.name.startswith("cuda")
    if value.kind is not Kind.DEVICE or value.name != "torch.device" or value.place is None or value.place in within:
        return None
    model = file.reaching(Reach.PROGRAM)
    where, call = model.node(value.place, file.model) or (None, None)
    if where is None or not isinstance(call, ast.Call):
        return None
    given = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "type"), None)
    if given is None:
        return None
    within |= {value.place}
    kinds = [_made(one, file, within) for one in model.values(given, where) if one.place not in within]
    return None if None in kinds else any(kinds)


def _word_within(node: ast.expr, file: PythonFile) -> ast.Constant | None:
    """The one word ``cuda`` in a ``torch.device(…)`` that is written here."""
    if not isinstance(node, ast.Call) or file.qualname(node.func) != "torch.device":
        return None
    words = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("cuda")
    ]
    return words[0] if len(words) == 1 and file.code(words[0]).count("cuda") == 1 else None
