"""The automatic style: ``transfer_to_npu`` replaces CUDA's names at run time, and code changes only where it does not.

What it reaches in a release, the release's table says, which was read from the package. ``FORMS`` decides rule by rule
whether an edit is needed all the same; rules that do not stand there keep their edits, since nothing is known to make
them unnecessary.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Severity
from npuify.rules.device_use import is_device_expression, is_device_table
from npuify.source.types import assigned_with_scopes
from npuify.styles.branches import has_own_way_without
from npuify.styles.portable.strings import table_entry
from npuify.styles.spelling import literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.source.python.scopes import Scope

    Node = ast.AST | tuple[int, int]
    Form = Callable[[Diagnostic, ast.AST, PythonFile], Diagnostic | None]

_STRINGS: Final = (
    "Tensor.to Tensor.cuda Tensor.npu Tensor.new_empty Tensor.new_full Tensor.new_ones Tensor.new_tensor "
    "Tensor.new_zeros Tensor.pin_memory nn.Module.to nn.Module.to_empty nn.Module.cuda"
).split()
_METHODS: Final = frozenset(name.rpartition(".")[2] for name in _STRINGS)
"""Methods of tensors and modules that take a device; each counts only where the release's table lists it."""


def restyle(diagnostic: Diagnostic, node: Node, file: PythonFile) -> Diagnostic | None:
    """The finding as the automatic style has it; None where ``transfer_to_npu`` does what is needed."""
    form = FORMS.get(diagnostic.code)
    styled: Diagnostic | None = diagnostic
    if form is not None and isinstance(node, ast.AST):
        styled = form(diagnostic, node, file)
    if styled is not None and styled.needs_torch_npu and file.plan.entries:
        # The entry points have loaded torch_npu; a file needs it by name only.
        styled = styled._replace(needs_torch_npu=any("torch_npu" in edit.after for edit in styled.edits))
    return styled


def _reached(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """Nothing to do for a name that the release's ``transfer_to_npu`` sets, or that is torch's own for all devices."""
    if not diagnostic.edits:
        return diagnostic
    counterpart = file.release.counterpart(diagnostic.subject)
    own = (
        counterpart is not None
        and (counterpart.npu or "").startswith("torch.")
        and ".npu" not in (counterpart.npu or "")
    )
    if diagnostic.subject == "torch.cuda.DoubleTensor" and diagnostic.subject in file.release.transfer_patches:
        message = "transfer_to_npu puts torch.npu.FloatTensor in place of torch.cuda.DoubleTensor: 32 bits for 64"
        return diagnostic._replace(message=message, edits=(), severity=Severity.WARNING, needs_torch_npu=False)
    return None if own or file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _from_import(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``from torch.cuda import Event`` takes what ``transfer_to_npu`` has set, if the program imported it before."""
    if not isinstance(node, ast.ImportFrom):
        return diagnostic
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        if alias.name == "*" or (name.startswith("torch.cuda") and not file.release.transfer_reaches(name)):
            counterpart = file.release.counterpart(name)
            if alias.name == "*" or (counterpart is not None and counterpart.npu is not None):
                return diagnostic
    return None


def _module_import(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    if isinstance(node, ast.alias) and node.asname is None:
        return None
    return _reached(diagnostic, node, file)


def _method(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``x.cuda()`` of tensors and modules is replaced; that of storages is not."""
    if not isinstance(node, ast.Attribute):
        return diagnostic
    value = node.value
    storage = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and "storage" in value.func.attr
    if storage or (isinstance(value, ast.Name) and "storage" in value.id):
        return diagnostic if not file.release.transfer_reaches(f"torch.storage.TypedStorage.{node.attr}") else None
    if not file.release.transfer_reaches(f"torch.Tensor.{node.attr}"):
        return diagnostic
    return _moved_to(diagnostic, node, file)


def _moved_to(diagnostic: Diagnostic, node: ast.Attribute, file: PythonFile) -> Diagnostic | None:
    """``x.cuda(device)`` becomes ``x.to(device)`` where the device is one of CUDA.

    ``transfer_to_npu`` puts ``npu`` in the place of ``cuda`` and does not wrap it: "cuda:1" and torch.device("cuda")
    are refused there, while ``to`` is wrapped. Numbers and None mean the same to both.
    """
    call = file.parent(node)
    if node.attr != "cuda" or not isinstance(call, ast.Call) or call.func is not node:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    device = call.args[0] if call.args else named
    if device is None or not _cuda_device(device, file, file.scope(node)):
        return None
    edit = file.rename_attribute(node, "to")
    if edit is None or len(call.args) > 2:
        return diagnostic._replace(
            edits=(), severity=Severity.ERROR, advice="write .to(device)", message=_NOT_WRAPPED, needs_torch_npu=False
        )
    edits = [edit]
    if len(call.args) == 2:
        start = file.source.start(call.args[1])
        edits.append(file.edit(start, start, "non_blocking="))
    return diagnostic._replace(edits=tuple(edits), message=_NOT_WRAPPED, needs_torch_npu=False)


_NOT_WRAPPED: Final = "transfer_to_npu makes .cuda() .npu(), which takes no device of CUDA; .to() takes it"


def _cuda_device(node: ast.expr | None, file: PythonFile, scope: Scope, hops: int = 4) -> bool:
    """Whether an expression surely is a ``torch.device``, or a text that names CUDA."""
    if hops == 0 or node is None:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith("cuda")
    if isinstance(node, ast.Call):
        return file.source.qualname(node.func, scope) == "torch.device"
    if isinstance(node, ast.IfExp):
        return all(_cuda_device(branch, file, scope, hops - 1) for branch in (node.body, node.orelse))
    if isinstance(node, ast.Attribute):
        assigned = assigned_with_scopes(node, file.source, scope)
        return bool(assigned) and all(_cuda_device(value, file, inner, hops - 1) for value, inner in assigned)
    found = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is None:
        return False
    owner, bindings = found
    return all(
        (binding.kind == "assign" and _cuda_device(binding.value, file, owner, hops - 1))
        or (
            binding.kind == "parameter"
            and isinstance(binding.node, ast.arg)
            and binding.node.annotation is not None
            and file.source.qualname(binding.node.annotation, owner) == "torch.device"
            # A default of None would mean the current device to .cuda(), and nothing to .to().
            and (binding.value is None or _cuda_device(binding.value, file, owner, hops - 1))
        )
        for binding in bindings
    )


def _own_method(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """A class's own ``cuda`` is called as before, since calls of ``cuda`` stay."""
    return None


def _named_in_string(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``mock.patch("torch.cuda.device_count")`` patches what the program calls; ``hasattr`` asks what is there."""
    return None


def _device(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """A device string is replaced where a patched function takes it; what a tensor on an NPU says is never that."""
    if not diagnostic.edits:
        return diagnostic
    parent = file.parent(node)
    if (
        isinstance(parent, ast.Dict)
        and isinstance(node, ast.Constant)
        and node in parent.keys
        and is_device_table(parent)
    ):
        entry = table_entry(node, parent, file)
        return diagnostic.refused(entry) if isinstance(entry, str) else diagnostic._replace(edits=tuple(entry))
    compared = _compared(diagnostic, node, "npu", file)
    if compared is not None:
        return compared
    if not isinstance(node, (ast.Constant, ast.JoinedStr)):
        return None
    call = _taking(node, file)
    if call is None:
        return None
    name = file.qualname(call.func) or ""
    if not name.startswith("torch.") or name.startswith(("torch.nn.", "torch.optim.", "torch.utils.data.")):
        return None
    if name == "torch.device" or _reaches_call(name, call, file):
        return None
    return diagnostic


def _taking(node: ast.expr, file: PythonFile) -> ast.Call | None:
    """The call that takes a string as one of its arguments, directly or as a choice of ``a if … else b``."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.IfExp) and current is not up.test:
            current = up
            continue
        if isinstance(up, ast.keyword):
            current = up
            continue
        if isinstance(up, ast.Dict):
            current = up
            continue
        return up if isinstance(up, ast.Call) and current is not up.func else None
    return None


_CLASSES: Final = {
    "torch.autocast": "torch.amp.autocast_mode.autocast.__init__",
    "torch.amp.autocast": "torch.amp.autocast_mode.autocast.__init__",
    "torch.cuda.device": "torch.cuda.device.__init__",
}


def _reaches_call(name: str, call: ast.Call, file: PythonFile) -> bool:
    """Whether ``transfer_to_npu`` wraps a function so that CUDA's name in its arguments becomes the NPU's.

    It wraps those that it lists one by one; what it takes over with a whole module is not wrapped.
    """
    wrapped = file.release.transfer_patches
    if _CLASSES.get(name, name) in wrapped:
        return True
    word = name.rpartition(".")[2]
    return word in _METHODS and any(f"torch.{method}" in wrapped for method in _STRINGS if method.endswith(f".{word}"))


def _compared(diagnostic: Diagnostic, node: ast.AST, other: str, file: PythonFile) -> Diagnostic | None:
    """An edit of ``x.device.type == "cuda"``, so that it is true for the NPU's word, too; None for other uses.

    What a program keeps in its own options stays ``cuda``, and so does the type of ``torch.device("cuda")``; only what
    tensors and process groups say changes. So both words are asked for.
    """
    compare = file.parent(node)
    if not isinstance(node, ast.Constant):
        return None
    if isinstance(compare, (ast.Tuple, ast.List, ast.Set)):
        return _among(diagnostic, node, compare, other, file)
    if isinstance(compare, ast.Call):
        return _beginning(diagnostic, node, compare, other, file)
    if not isinstance(compare, ast.Compare) or len(compare.ops) != 1:
        return None
    side = compare.left if compare.comparators[0] is node else compare.comparators[0]
    operator = compare.ops[0]
    match = literal(node, file)
    if not isinstance(operator, (ast.Eq, ast.NotEq)) or match is None or not _says_itself(side, other, file):
        return None
    if compare.left is node:
        return diagnostic._replace(edits=(), severity=Severity.WARNING, advice=f'compare with "{other}" as well')
    between = file.source.segment(file.source.end(compare.left), file.source.start(node))
    old = "==" if isinstance(operator, ast.Eq) else "!="
    if between.strip() != old:
        return None
    start = file.source.end(compare.left) + between.index(old)
    quote = match["quote"]
    word = "in" if old == "==" else "not in"
    edits = (
        file.edit(start, start + 2, word),
        file.replace(node, f"({file.code(node)}, {quote}{other}{quote})"),
    )
    return _both(diagnostic, edits, other)


def _both(diagnostic: Diagnostic, edits: tuple[Edit, ...], other: str) -> Diagnostic:
    return diagnostic._replace(
        edits=edits,
        safety=None,
        needs_torch_npu=False,
        message=f"transfer_to_npu does not change what this is compared with: on an NPU it is {other!r}",
    )


def _among(
    diagnostic: Diagnostic, node: ast.Constant, display: ast.expr, other: str, file: PythonFile
) -> Diagnostic | None:
    """``x.device.type in ("cuda", "xpu")``: the NPU's word is put into the list."""
    compare, match = file.parent(display), literal(node, file)
    if not isinstance(compare, ast.Compare) or not isinstance(compare.ops[0], (ast.In, ast.NotIn)) or match is None:
        return None
    if not _says_itself(compare.left, other, file):
        return None
    end = file.source.end(node)
    return _both(diagnostic, (file.edit(end, end, f", {match['quote']}{other}{match['quote']}"),), other)


def _beginning(
    diagnostic: Diagnostic, node: ast.Constant, call: ast.Call, other: str, file: PythonFile
) -> Diagnostic | None:
    """``str(x.device).startswith("cuda")``: either word will do."""
    function, match = call.func, literal(node, file)
    if not isinstance(function, ast.Attribute) or function.attr != "startswith" or call.args != [node] or match is None:
        return None
    if not _says_itself(function.value, other, file) or node.value not in ("cuda", "nccl"):
        return None
    text = f"({file.code(node)}, {match['quote']}{other}{match['quote']})"
    return _both(diagnostic, (file.replace(node, text),), other)


def _says_itself(node: ast.expr, other: str, file: PythonFile) -> bool:
    """Whether an expression is what torch itself says: a device's type, or the backend in use."""
    if other == "hccl":
        return _is_get_backend(node, file)
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return True
    if isinstance(node, ast.Name):
        found = file.scope(node).lookup(node.id)
        values = [binding.value for binding in found[1]] if found is not None else []
        return any(isinstance(value, ast.Attribute) and value.attr == "type" for value in values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return is_device_expression(node.args[0], file)
    return False


def _is_get_backend(node: ast.expr, file: PythonFile) -> bool:
    if isinstance(node, ast.Call):
        name = file.qualname(node.func) or ""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "upper", "name"):
            return _is_get_backend(node.func.value, file)
        return name.startswith("torch.distributed.") and name.endswith("get_backend")
    if isinstance(node, ast.Name):
        found = file.scope(node).lookup(node.id)
        values = [binding.value for binding in found[1]] if found is not None else []
        return any(isinstance(value, ast.Call) and _is_get_backend(value, file) for value in values)
    return False


def _backend(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``init_process_group("nccl")`` is replaced; what ``get_backend()`` says is "hccl"."""
    if not diagnostic.edits:
        return diagnostic
    compared = _compared(diagnostic, node, "hccl", file)
    if compared is not None:
        return compared
    return None if file.release.transfer_reaches("torch.distributed.init_process_group") else diagnostic


def _backend_member(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``Backend.NCCL`` is the string "nccl", which is replaced where a group is made, but never what is in use."""
    compare = file.parent(node)
    if isinstance(compare, ast.Compare):
        sides = [side for side in (compare.left, *compare.comparators) if side is not node]
        if any(_is_get_backend(side, file) for side in sides):
            return diagnostic
    return None


def _nccl_class(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return None if file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _state(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``torch.is_autocast_enabled()`` and the like, which newer releases replace."""
    return _reached(diagnostic, node, file)


def _scripted(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``torch.jit.script`` is turned off: what it returns is the plain function or module."""
    if not file.release.transfer_reaches(diagnostic.subject):
        return diagnostic
    return diagnostic._replace(
        message=f"transfer_to_npu turns {diagnostic.subject} off: "
        "it returns its argument, which has no save, graph or code",
        severity=Severity.WARNING,
        advice="use the unscripted one, or keep torch.jit.script in a variable before transfer_to_npu is imported",
    )


def _checked_capability(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """The answer is None on an NPU under CUDA's name as well."""
    return diagnostic._replace(needs_torch_npu=False)


def _parameters(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return (
        diagnostic._replace(needs_torch_npu=False) if file.release.transfer_reaches(diagnostic.subject) else diagnostic
    )


def _message(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return diagnostic._replace(needs_torch_npu=False)


def _missing(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return None if file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _profiler(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return (
        None
        if diagnostic.edits and file.release.transfer_reaches("torch.profiler.ProfilerActivity.CUDA")
        else diagnostic
    )


def _attention(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """Nothing to do where the program goes on without the library by itself: the call is never reached on an NPU."""
    if diagnostic.edits and isinstance(node, ast.Call) and has_own_way_without(node.func, file):
        return None
    return diagnostic


FORMS: Final[dict[str, Form]] = {
    "NPU101": _reached,
    "NPU102": _missing,
    "NPU103": _parameters,
    "NPU105": _named_in_string,
    "NPU106": _from_import,
    "NPU107": _module_import,
    "NPU110": _method,
    "NPU111": _method,
    "NPU112": _own_method,
    "NPU115": _named_in_string,
    "NPU120": _device,
    "NPU130": _checked_capability,
    "NPU131": _checked_capability,
    "NPU150": _message,
    "NPU160": _profiler,
    "NPU201": _state,
    "NPU301": _backend,
    "NPU302": _backend_member,
    "NPU303": _nccl_class,
    "NPU304": _nccl_class,
    "NPU401": _scripted,
    "NPU501": _attention,
    "NPU502": _attention,
    "NPU503": _attention,
}
KEPT: Final = frozenset(
    (
        "NPU100",
        "NPU113",
        "NPU114",
        "NPU116",
        "NPU117",
        "NPU119",
        "NPU122",
        "NPU123",
        "NPU134",
        "NPU202",
        "NPU210",
        "NPU211",
        "NPU212",
        "NPU213",
        "NPU215",
        "NPU313",
        "NPU321",
        "NPU322",
        "NPU324",
        "NPU505",
        "NPU631",
        "NPU650",
        "NPU701",
        "NPU751",
    )
)
"""Rules whose edits are needed under ``transfer_to_npu`` as well: it reaches nothing of what they are about."""
