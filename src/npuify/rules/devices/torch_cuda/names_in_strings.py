"""Names of ``torch.cuda`` in string literals: ``hasattr``, ``mock.patch``, annotations in quotes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.devices.methods import of_expression
from npuify.rules.devices.torch_cuda.cuda_names import describe, is_cuda_name
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule("NPU105", "hasattr-cuda", Safety.SAFE, words=("cuda",))
def hasattr_cuda(node: ast.Call | ast.Subscript, file: PythonFile) -> Iterator[Diagnostic]:
    """``hasattr`` or ``getattr`` names a member of ``torch.cuda``, or ``.cuda`` of a tensor, in a string.

    So do ``vars(torch)["cuda"]`` and ``torch.__dict__["cuda"]``.

    Before::

        import torch
        if hasattr(torch.cuda, "CUDAGraph"):
            module = getattr(torch, "cuda")

    After::

        import torch
        import torch_npu  # noqa: F401
        if hasattr(torch.npu, "NPUGraph"):
            module = getattr(torch, "npu")
    """
    if isinstance(node, ast.Subscript):
        yield from _of_namespace(node, file)
        return
    asks = _names_attribute(node, file)
    if asks is None:
        return
    base, word = file.qualname(node.args[0]) or _module_of(node.args[0], file), node.args[1]
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return
    name = f"{base}.{word.value}"
    if not asks and base not in _CLASSES and not (base or "").startswith("torch.cuda"):
        return  # what is set is an attribute of the program's own objects
    if word.value in _OF_TENSORS and not is_cuda_name(name) and base != "torch":
        yield from _of_object(node, word, file)
        return
    yield from _renamed(word, name, file)


def _module_of(node: ast.expr, file: PythonFile) -> str | None:
    """The module of torch that an expression surely is: ``__import__("torch")``, an attribute that holds it."""
    if isinstance(node, ast.Attribute) and node.attr == "cuda":
        return None  # of a name that no rule renames: a string beside it would be renamed alone
    values = file.values(node)
    names = {value.name for value in values if value.kind is Kind.TORCH_MODULE and value.of is None}
    return names.pop() if len(names) == 1 and values.only(Kind.TORCH_MODULE) else None


def _renamed(word: ast.Constant, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    """The last part of a name of CUDA, which stands in a string."""
    counterpart = file.release.counterpart(name) if is_cuda_name(name) else None
    if counterpart is None or counterpart.npu is None:
        return
    new = counterpart.npu.rpartition(".")[2]
    edit = replace_in_literal(word, str(word.value), new, file) if new != word.value else None
    if edit is not None:
        yield file.report(
            word, describe(counterpart), edits=[edit], subject=name, evidence=counterpart.evidence, needs_torch_npu=True
        )


def _of_namespace(node: ast.Subscript, file: PythonFile) -> Iterator[Diagnostic]:
    """``vars(torch)["cuda"]``, which is read: what is put there is the program's own."""
    word, names = node.slice, node.value
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str) or not isinstance(node.ctx, ast.Load):
        return
    if isinstance(names, ast.Attribute) and names.attr == "__dict__":
        subject: ast.expr = names.value
    elif (
        isinstance(names, ast.Call)
        and len(names.args) == 1
        and file.qualname(names.func) in (None, "vars", "builtins.vars")
    ):
        if not isinstance(names.func, ast.Name) or names.func.id != "vars":
            return
        subject = names.args[0]
    else:
        return
    base = file.qualname(subject) or _module_of(subject, file)
    if base is not None:
        yield from _renamed(word, f"{base}.{word.value}", file)


def _names_attribute(node: ast.Call, file: PythonFile) -> bool | None:
    """Whether a call asks for an attribute by its name (True), or replaces one (False); None where it does neither."""
    function = node.func
    if len(node.args) < 2:
        return None
    if isinstance(function, ast.Name):
        word, is_builtin = function.id, file.source.is_builtin(function.id, file.scope(node))
        return word in _ASKS if is_builtin and word in (*_ASKS, *_REPLACES) else None
    return False if isinstance(function, ast.Attribute) and function.attr in ("object", *_REPLACES) else None


def _of_object(node: ast.Call, word: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """The method or attribute of a tensor by its name, where it is called or read beside: else it may be a flag."""
    subject, attribute, function = node.args[0], str(word.value), getattr(node.func, "id", "")
    parent = file.parent(node)
    is_method = attribute == "cuda"
    if file.qualname(subject) in _CLASSES and function not in _ASKS:
        used = True
    elif function == "getattr":
        # ``is_cuda`` is a name of torch's; ``cuda`` is one of many flags.
        used = not is_method or (isinstance(parent, ast.Call) and parent.func is node) or _is_called_later(node, file)
    else:
        used = any(_reads(item, subject, node, file, called=is_method) for item in file.model.references(attribute))
    if not used:
        return
    safety, why = of_expression(subject, attribute, file, called=is_method)
    new = _OF_TENSORS[attribute]
    edit = replace_in_literal(word, attribute, new, file) if safety is not None else None
    if edit is not None:
        yield file.report(
            word,
            phrase(".{attribute} is .{new} on the NPU{why}", attribute=attribute, new=new, why=why),
            edits=[edit],
            safety=safety,
            subject=f"torch.Tensor.{attribute}",
            needs_torch_npu=True,
        )


def _is_called_later(node: ast.Call, file: PythonFile) -> bool:
    """``move = getattr(model, "cuda")``, of which ``move()`` is all that is done: a flag is not called."""
    bound = file.parent(node)
    if len(node.args) > 2 or not isinstance(bound, ast.Assign) or len(bound.targets) != 1:
        return False
    name = bound.targets[0]
    if not isinstance(name, ast.Name):
        return False
    frame = file.model.frame(node)
    uses = [one for one in file.model.references(name.id) if one is not name and file.model.frame(one) is frame]
    calls = [file.model.parent(one) for one in uses]
    return bool(calls) and all(isinstance(c, ast.Call) and c.func is one for c, one in zip(calls, uses, strict=True))


def _reads(item: ast.AST, subject: ast.expr, asked: ast.Call, file: PythonFile, *, called: bool) -> bool:
    """Whether an expression reads the attribute, of the same object in the same function, that ``hasattr`` asks for."""
    if not isinstance(item, ast.Attribute) or file.model.frame(item) is not file.model.frame(asked):
        return False
    parent = file.model.parent(item)
    if called and not (isinstance(parent, ast.Call) and parent.func is item):
        return False
    return file.code(item.value) == file.code(subject)


_OF_TENSORS = {"cuda": "npu", "is_cuda": "is_npu"}
_ASKS = ("hasattr", "getattr")
_REPLACES = ("setattr", "delattr")
_CLASSES = frozenset(("torch.Tensor", "torch.nn.Module", "torch.nn.modules.module.Module"))
_TAKES_NAMES = frozenset(("patch", "patch.multiple", "setattr", "delattr", "import_module", "resolve_name", "locate"))
_IMPORTS = frozenset(("import_module", "resolve_name", "locate", "patch.multiple"))
"""Of these, what takes a whole module."""
_DOTTED = re.compile(r"torch\.cuda(?:\.\w+)+")
_BELOW_MODULE = re.compile(r"(?P<module>[A-Za-z_][\w.]*)\.(?P<name>torch\.cuda(?:\.\w+)+)")
"""``net.torch.cuda.is_available``: what a module of the project calls ``torch``."""


@rule("NPU115", "cuda-name-in-string", Safety.SAFE, words=("torch.cuda",))
def cuda_name_in_string(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` is passed as a string to a function that resolves it: ``mock.patch``,
    ``monkeypatch.setattr``.

    After the migration, the program under test calls the NPU's name, so that is the one to patch.

    Before::

        from unittest import mock
        import torch
        with mock.patch("torch.cuda.device_count", return_value=2):
            assert torch.cuda.device_count() == 2

    After::

        from unittest import mock
        import torch
        import torch_npu  # noqa: F401
        with mock.patch("torch.npu.device_count", return_value=2):
            assert torch.npu.device_count() == 2
    """
    if not isinstance(node.value, str):
        return
    if _is_annotation(node, file):
        yield from _annotated(node, file)
        return
    below = _BELOW_MODULE.fullmatch(node.value)
    name = below["name"] if below is not None and file.project.holds(below["module"]) else node.value
    if not is_cuda_name(name):
        return
    word = _taken_by(node, file)
    if word not in _TAKES_NAMES or (name == "torch.cuda" and word not in _IMPORTS):
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None:
        return
    # Importing torch.npu.amp by that name would load a second copy of the module.
    is_module = name != "torch.cuda" and word == "import_module"
    new = (counterpart.npu_import if is_module else None) or counterpart.npu
    edit = replace_in_literal(node, name, new, file)
    if file.plan.style == "portable" and _takes_name_of_cuda_only(node, file):
        edit = None  # one text names the module of either device, and what is taken from it has two names
    yield file.report(
        node,
        describe(counterpart),
        edits=[edit] if edit else (),
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        needs_torch_npu=True,
    )


def _takes_name_of_cuda_only(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a module that is loaded by its name is asked for what is called otherwise on the NPU, or is not there."""
    call = file.parent(node)
    taken = file.parent(call) if isinstance(call, ast.Call) else None
    if not isinstance(taken, ast.Attribute):
        return False
    counterpart = file.release.counterpart(f"{node.value!s}.{taken.attr}")
    return counterpart is not None and (counterpart.npu or "").rpartition(".")[2] != taken.attr


def _taken_by(node: ast.Constant, file: PythonFile) -> str:
    """The function that a string is the first argument of, or what stands for one that looks up a module."""
    around = file.parent(node)
    if isinstance(around, ast.Subscript) and node is around.slice:
        return "import_module" if file.qualname(around.value) == "sys.modules" and node.value == "torch.cuda" else ""
    if not isinstance(around, ast.Call) or not around.args or around.args[0] is not node:
        return ""
    function = around.func
    if file.qualname(function) == "importlib.import_module":
        return "import_module"
    if (file.qualname(function) or "").endswith("mock.patch.multiple"):
        return "patch.multiple"
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_annotation(node: ast.expr, file: PythonFile) -> bool:
    """Whether a string is, or stands in, the annotation of a parameter, a variable or a result."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.arg, ast.AnnAssign)):
            return up.annotation is current
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return up.returns is current
        if not isinstance(up, (ast.Subscript, ast.Tuple, ast.BinOp)):
            return False
        if isinstance(up, ast.Subscript) and file.code(up.value).rpartition(".")[2] in ("Literal", "Annotated"):
            return False
        current = up
    return False


def _annotated(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A type in quotes: ``stream: "torch.cuda.Stream"``, also within ``"Optional[torch.cuda.Stream]"``."""
    for name in dict.fromkeys(match.group() for match in _DOTTED.finditer(str(node.value))):
        counterpart = file.release.counterpart(name)
        if (
            counterpart is None
            or counterpart.npu is None
            or file.source.name_target("torch", file.scope(node)) != "torch"
        ):
            continue
        edit = replace_in_literal(node, name, counterpart.npu, file)
        if edit is not None:
            yield file.report(
                node,
                phrase("a quoted annotation names {name}, which is {npu} on the NPU", name=name, npu=counterpart.npu),
                edits=[edit],
                severity=Severity.INFO,
                subject=name,
                evidence=counterpart.evidence,
                source=counterpart.source,
            )
