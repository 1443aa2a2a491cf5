"""Numbers made with ``torch.tensor`` on the CPU that operators of an NPU refuse beside NPU tensors."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import add_argument
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


class _Function(NamedTuple):
    """Which arguments of a function may be no number on the CPU, and which one surely is a tensor."""

    names: tuple[str, ...]
    refused: frozenset[str]
    tensor: str


_FUNCTIONS: Final[Mapping[str, _Function]] = {
    "where": _Function(("condition", "input", "other"), frozenset(("input", "other")), "condition"),
    "clamp": _Function(("input", "min", "max"), frozenset(("min", "max")), "input"),
    "clip": _Function(("input", "min", "max"), frozenset(("min", "max")), "input"),
    "clamp_min": _Function(("input", "min"), frozenset(("min",)), "input"),
    "clamp_max": _Function(("input", "max"), frozenset(("max",)), "input"),
    "lerp": _Function(("input", "end", "weight"), frozenset(("end", "weight")), "input"),
    "fmod": _Function(("input", "other"), frozenset(("other",)), "input"),
    "atan2": _Function(("input", "other"), frozenset(("other",)), "input"),
    "logaddexp": _Function(("input", "other"), frozenset(("other",)), "input"),
    "logaddexp2": _Function(("input", "other"), frozenset(("other",)), "input"),
    "addcmul": _Function(("input", "tensor1", "tensor2"), frozenset(("tensor1", "tensor2")), "input"),
    "addcdiv": _Function(("input", "tensor1", "tensor2"), frozenset(("tensor1", "tensor2")), "input"),
    "pow": _Function(("input", "exponent"), frozenset(("input", "exponent")), ""),
    "xlogy": _Function(("input", "other"), frozenset(("input", "other")), ""),
    "mse_loss": _Function(("input", "target"), frozenset(("target",)), "input"),
    "smooth_l1_loss": _Function(("input", "target"), frozenset(("target",)), "input"),
}
_LOSSES: Final = frozenset(("mse_loss", "smooth_l1_loss"))
"""Those that are functions of torch.nn.functional, and no methods of tensors."""
_NUMBER: Final = re.compile(
    rb"\s*[-+]?(?:[\d.][\w.]*(?:e[-+]?\d+)?|float\(\s*[\"'][-+]?\w+[\"']\s*\)|(?:math|np|numpy)\.\w+)\s*[,)]"
)
_MOVING: Final = frozenset(("to", "cuda", "npu", "cpu", "type", "type_as", "item", "tolist"))
"""Methods of tensors that may give something that is elsewhere."""
_DEFAULT_DEVICE: Final = (b"set_default_device", b"set_default_tensor_type")


def no_number(lower: bytes, start: int, end: int) -> bool:
    """What is made there is made of something else than a number that is written there."""
    return _NUMBER.match(lower, end) is None


@rule(
    "NPU427",
    "number-on-the-cpu",
    Safety.SAFE,
    words=("torch.tensor(",),
    skip_if=no_number,
    evidence=Evidence.LIVE,
    source="torch_npu 2.13.0 refuses a CPU tensor without dimensions in 57 operators that CUDA takes it in; "
    "tools/cpu_scalars.py",
)
def number_on_the_cpu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A number that ``torch.tensor`` makes on the CPU meets an NPU tensor in an operator that refuses it there.

    CUDA takes such a tensor without dimensions for a number, and so do ``+``, ``*`` and comparisons on an NPU.
    ``torch.where``, ``clamp``, ``pow``, ``lerp`` and others stop. The number is made where the other tensor is.

    Before::

        import torch

        def masked(x):
            return torch.where(x > 0, x, torch.tensor(0.0))

    After::

        import torch

        def masked(x):
            return torch.where(x > 0, x, torch.tensor(0.0, device=x.device))
    """
    if not _is_number(node, file) or any(
        file.contains(word) or file.project.files_with(word) for word in _DEFAULT_DEVICE
    ):
        return
    for place in _places(node, file):
        yield from _report(place, node, file)


def _is_number(node: ast.Call, file: PythonFile) -> bool:
    """Whether a call makes a tensor of one number, where nothing says on which device."""
    if file.qualname(node.func) != "torch.tensor" or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return False
    if any(keyword.arg in (None, "device") for keyword in node.keywords):
        return False
    given = node.args[0]
    if isinstance(given, ast.UnaryOp):
        given = given.operand
    if isinstance(given, ast.Constant):
        return isinstance(given.value, (int, float))
    if isinstance(given, ast.Call):
        return isinstance(given.func, ast.Name) and given.func.id == "float"
    return isinstance(given, ast.Attribute) and file.qualname(given) in ("math.inf", "math.pi", "numpy.inf", "math.nan")


def _places(node: ast.Call, file: PythonFile) -> Iterator[ast.expr]:
    """Where the number is given to something: the call itself, or the name that alone is bound to it."""
    parent = file.parent(node)
    if not isinstance(parent, ast.Assign):
        yield node
        return
    target = parent.targets[0]
    if len(parent.targets) != 1 or not isinstance(target, ast.Name):
        yield node
        return
    for use in file.model.references(target.id):
        if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and file.assigned(use) == [node]:
            yield use


def _report(place: ast.expr, made: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    called, partner, is_tensor = _meeting(place, file)
    if not called:
        return
    message = phrase("{name} refuses a number on the CPU beside an NPU tensor", name=called)
    edits = []
    plain = _plain(partner, file) if partner is not None and is_tensor else None
    if plain is not None:
        device = f"{file.code(plain)}.device"
        if place is made:
            edits = [add_argument(made, f"device={device}", file)]
        else:
            edits = [file.replace(place, f"{file.code(place)}.to({device})")]
    yield file.report(
        place,
        message,
        edits=edits,
        severity=Severity.ERROR if edits else Severity.WARNING,
        subject=called,
        advice="" if edits else "give torch.tensor the device of the other tensor, or write the number itself",
    )


def _plain(tensor: ast.expr, file: PythonFile) -> ast.expr | None:
    """What is where a tensor is, and can be written down again; None where nothing short is."""
    if isinstance(tensor, (ast.Name, ast.Attribute)):
        return tensor
    if isinstance(tensor, ast.Subscript):
        return (
            tensor
            if _plain(tensor.value, file) is not None and isinstance(tensor.slice, (ast.Name, ast.Constant))
            else None
        )
    if isinstance(tensor, ast.UnaryOp):
        return _plain(tensor.operand, file)
    if isinstance(tensor, ast.Compare) and isinstance(tensor.comparators[0], ast.Constant):
        return _plain(tensor.left, file)  # of the two, the number is no tensor
    if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) and tensor.func.attr not in _MOVING:
        holder = tensor.func.value
        return _plain(holder, file) if file.is_tensor(holder) else None
    return None


def _meeting(place: ast.expr, file: PythonFile) -> tuple[str, ast.expr | None, bool]:
    """The function that refuses a number there, what it meets, and whether that surely is a tensor."""
    parent = file.parent(place)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow):
        other = parent.right if parent.left is place else parent.left
        return "torch.pow", other, file.is_tensor(other)
    if isinstance(parent, ast.Assign) and parent.value is place and isinstance(parent.targets[0], ast.Subscript):
        target = parent.targets[0]
        if file.is_tensor(target.slice) and file.is_tensor(target.value):
            return "torch.Tensor.index_put_", target.value, True
        return "", None, False
    keyword = parent if isinstance(parent, ast.keyword) else None
    call = file.parent(keyword) if keyword is not None else parent
    if not isinstance(call, ast.Call) or call.func is place:
        return "", None, False
    return _of_call(call, keyword.arg if keyword is not None else None, place, file)


def _of_call(
    call: ast.Call, keyword: str | None, place: ast.expr, file: PythonFile
) -> tuple[str, ast.expr | None, bool]:
    name = file.qualname(call.func) or ""
    last = name.rpartition(".")[2] if name.startswith("torch.") else ""
    arguments = list(call.args)
    if not last and isinstance(call.func, ast.Attribute):
        last = call.func.attr.removesuffix("_")
        if last in _LOSSES or name:
            return "", None, False
        # As a method of the first tensor, or, for where, of what is taken where the condition holds.
        receiver = call.func.value
        arguments = [*arguments[:1], receiver, *arguments[1:]] if last == "where" else [receiver, *arguments]
    known = _FUNCTIONS.get(last)
    if known is None or any(isinstance(one, ast.Starred) for one in arguments):
        return "", None, False
    given = dict(zip(known.names, arguments, strict=False))
    given.update({one.arg: one.value for one in call.keywords if one.arg in known.names})
    argument = keyword or next((key for key, value in given.items() if value is place), "")
    if argument not in known.refused:
        return "", None, False
    shown = f"torch.nn.functional.{last}" if last in _LOSSES else f"torch.{last}"
    if known.tensor:
        return shown, given.get(known.tensor), True
    other = next((value for key, value in given.items() if key != argument), None)
    is_method = isinstance(call.func, ast.Attribute) and not name.startswith("torch.") and other is call.func.value
    return shown, other, is_method or (other is not None and file.is_tensor(other))
