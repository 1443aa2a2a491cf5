"""Names of ``torch.cuda``: which have a counterpart in the release aimed at, and what changes with the name.

That a rename is right is a fact of the release's table; nothing here renames by the look of a string.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.devices import nccl_version
from npuify.rules.registry import rule
from npuify.rules.renaming import rename_chain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge import Counterpart, Signature
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def is_cuda_name(name: str | None) -> bool:
    """Whether a qualified name belongs to ``torch.cuda``."""
    return name is not None and (name == "torch.cuda" or name.startswith("torch.cuda."))


def cuda_chain(node: ast.Attribute | ast.Name, file: PythonFile) -> str | None:
    """The CUDA name that ``node`` denotes, if no longer chain around it denotes a known one too."""
    name = file.qualname(node)
    if not is_cuda_name(name):
        return None
    parent = file.parent(node)
    if isinstance(parent, ast.Attribute) and parent.value is node and name is not None:
        longer = file.release.counterpart(f"{name}.{parent.attr}")
        if longer is not None or not _is_object(file, name):
            return None
    return name


def _is_object(file: PythonFile, name: str) -> bool:
    """Whether ``name`` is a class, function or value, so that what follows it is a member, not a name of a module."""
    signature = file.release.signature(name)
    return signature is not None and signature.kind != "module"


def describe(counterpart: Counterpart) -> str:
    """Where the name goes, in words."""
    if counterpart.npu is None:
        return f"{counterpart.cuda} has no counterpart"
    return f"{counterpart.cuda} is {counterpart.npu} on the NPU"


@rule("NPU101", "cuda-name", Safety.SAFE, words=("cuda",), names=("torch.cuda",))
def cuda_name(node: ast.Attribute | ast.Name, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` has a counterpart in ``torch.npu``.

    The release's own table says so, with its signature; a name that the release lacks is NPU102.

    Before::

        import torch
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()

    After::

        import torch
        import torch_npu  # noqa: F401
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
    """
    name = cuda_chain(node, file)
    if name is None or (isinstance(node, ast.Name) and not file.source.is_builtin(node.id, file.scope(node))):
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None:
        return
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return
    edits = rename_chain(node, name, counterpart.npu, file)
    if isinstance(node, ast.Name):
        # It came by ``import *``, under the name that it has in torch.cuda itself.
        new = counterpart.npu.rpartition(".")[2]
        own = name.rpartition(".")[2] == node.id and name.startswith("torch.cuda.")
        edits = [file.replace(node, new)] if own and new != node.id and _came_by_star(name, file) else []
    if edits is None:
        yield file.report(
            node,
            f"{describe(counterpart)}, but this spelling cannot be edited in place",
            subject=name,
            advice=f"write {counterpart.npu} here",
            evidence=counterpart.evidence,
            source=counterpart.source,
        )
        return
    if not edits:
        return
    builds = _leads_to_build(node, name, file)
    yield file.report(
        node,
        describe(counterpart) + (f"; this file builds CUDA code ({builds}), so the question stays" if builds else ""),
        edits=edits if builds is None else (),
        severity=Severity.WARNING if builds else None,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        advice="on an NPU machine the CUDA extension must not be built: set what switches it off" if builds else "",
        needs_torch_npu=counterpart.npu.startswith("torch.npu"),
    )


def _came_by_star(name: str, file: PythonFile) -> bool:
    """Whether the file itself has ``from torch.cuda import *`` for a name, so that the statement changes with it."""
    return name.rpartition(".")[0] in file.source.scope.module.star_imports


_BUILDS_CUDA = ("CUDAExtension", "CUDA_HOME", "load_inline", "cpp_extension.load(")
_QUESTIONS = ("is_available", "device_count", "get_device_capability", "is_bf16_supported", "get_arch_list")


def _leads_to_build(node: ast.AST, name: str, file: PythonFile) -> str | None:
    """The word that shows that CUDA code is built where this question is answered with yes; else None.

    There, asking the NPU instead would make an NPU machine compile for CUDA.
    """
    script = file.source.relative.rpartition("/")[2] == "setup.py"
    if name.rpartition(".")[2] not in _QUESTIONS and not script:
        return None
    words = [word for word in _BUILDS_CUDA if file.contains(word.encode())]
    if not words or script:
        return words[0] if words else None
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is up.test:
            text = file.code(up)
            return next((word for word in words if word in text), None)
        current = up
    return None


@rule("NPU102", "missing-on-npu", Safety.MANUAL, words=("cuda",), names=("torch.cuda",))
def missing_on_npu(node: ast.Attribute | ast.Name | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` that the release aimed at does not have.

    The call is left as it is, and will fail on the NPU: remove it, guard it, or use what the finding says.
    """
    if isinstance(node, ast.ImportFrom):
        for alias in node.names:
            imported = f"{node.module}.{alias.name}"
            if not node.level and is_cuda_name(imported) and alias.name != "*":
                yield from _missing(alias, imported, file)
        return
    name = cuda_chain(node, file)
    if name is None or isinstance(node, ast.Name):
        return
    if isinstance(node, ast.Attribute) and _guarded_by_hasattr(node, name, file):
        return
    if name == nccl_version.NAME and nccl_version.is_nccl_version(file.parent(node) or node, file):
        return  # NPU134 has an edit for it.
    yield from _missing(node, name, file)


def _missing(node: ast.AST, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    counterpart = file.release.counterpart(name)
    if counterpart is None:
        if name.rpartition(".")[2].startswith("__") or _is_object(file, name.rpartition(".")[0]):
            return
        yield file.report(
            node,
            f"neither torch {file.release.torch} nor torch_npu {file.release.torch_npu} has {name}",
            severity=Severity.WARNING,
            subject=name,
            evidence=Evidence.PACKAGE,
            advice="it may belong to another release, or be private; look where it comes from",
        )
    elif counterpart.npu is None:
        meaning = counterpart.meaning
        yield file.report(
            node,
            counterpart.message or f"torch_npu {file.release.torch_npu} has no counterpart of {name}",
            severity=meaning.severity if meaning else None,
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice=(meaning.advice if meaning else "") or "remove the call, or guard it so that it runs on CUDA only",
        )


def _guarded_by_hasattr(node: ast.AST, name: str, file: PythonFile) -> bool:
    """Whether the use stands under ``if hasattr(torch.cuda, "name")``, which is false on the NPU."""
    if not file.contains(b"hasattr"):
        return False
    last = name.rpartition(".")[2]
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)):
            for call in ast.walk(up.test):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == "hasattr"
                    and len(call.args) == 2
                    and isinstance(call.args[1], ast.Constant)
                    and call.args[1].value == last
                ):
                    return True
    return False


@rule("NPU103", "parameters-differ", Safety.SAFE, words=("cuda",), names=("torch.cuda",))
def parameters_differ(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A call passes a parameter that the NPU form of the function does not take, or calls otherwise.

    Where the parameter at the same position has another name, the keyword is renamed.

    Before::

        import torch
        print(torch.cuda.get_device_name(device=0))

    After::

        import torch
        import torch_npu  # noqa: F401
        print(torch.npu.get_device_name(device_name=0))
    """
    name = file.qualname(node.func)
    if not is_cuda_name(name) or name is None:
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None:
        return
    renamed = dict(counterpart.renamed_parameters)
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in (*counterpart.missing_parameters, *renamed):
            continue
        new = renamed.get(keyword.arg)
        start = file.source.start(keyword)
        end = start + len(keyword.arg.encode())
        editable = new is not None and file.source.segment(start, end) == keyword.arg
        yield file.report(
            keyword,
            f"{counterpart.npu} of torch_npu {file.release.torch_npu} "
            + (f"calls the parameter {keyword.arg} {new}" if new else f"takes no parameter {keyword.arg}"),
            edits=[file.edit(start, end, str(new))] if editable else (),
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice="" if editable else f"call it without {keyword.arg}",
            needs_torch_npu=True,
        )
    yield from _moved_parameters(node, name, counterpart, file)
    signature = file.release.signature(counterpart.npu)
    if signature is None or signature.parameters is None:
        return
    there = _positional(signature)
    takes_more = any(p.kind == "args" for p in signature.parameters)
    if len(node.args) > len(there) and not takes_more and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield file.report(
            node,
            f"{counterpart.npu} of torch_npu {file.release.torch_npu} takes {len(there)} positional arguments",
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice="call it with fewer",
        )


def _moved_parameters(node: ast.Call, name: str, counterpart: Counterpart, file: PythonFile) -> Iterator[Diagnostic]:
    """Positional arguments for parameters that stand elsewhere on the NPU, and those behind, are passed by keyword."""
    original = file.release.signature(name)
    if not counterpart.moved_parameters or original is None or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    taken = _positional(original)[: len(node.args)]
    first = next((index for index, parameter in enumerate(taken) if parameter in counterpart.moved_parameters), None)
    if first is None:
        return
    edits = []
    for parameter, arg in zip(taken[first:], node.args[first:], strict=True):
        start = file.source.start(arg)
        edits.append(file.edit(start, start, f"{dict(counterpart.renamed_parameters).get(parameter, parameter)}="))
    yield file.report(
        node,
        f"{taken[first]} stands at another place in {counterpart.npu} of torch_npu {file.release.torch_npu}",
        edits=edits,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        needs_torch_npu=True,
    )


def _positional(signature: Signature) -> list[str]:
    return [p.name for p in signature.parameters or () if p.kind in ("positional", "both")]


@rule("NPU104", "different-on-npu", Safety.MANUAL, Severity.WARNING, words=("cuda",), names=("torch.cuda",))
def different_on_npu(node: ast.Attribute | ast.Name | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A name exists on the NPU and does something else there: returns None, has no effect, or raises."""
    if isinstance(node, ast.ImportFrom):
        return
    name = file.qualname(node) if isinstance(node, ast.Name) else cuda_chain(node, file)
    if name is None or not is_cuda_name(name) or not isinstance(getattr(node, "ctx", None), ast.Load):
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None or counterpart.meaning is None:
        return
    meaning = counterpart.meaning
    if meaning.effect in ("renamed", "returns-none", "lacks-attributes"):
        return
    yield file.report(
        node,
        meaning.message,
        severity=meaning.severity,
        subject=name,
        evidence=meaning.evidence,
        source=meaning.source,
        advice=meaning.advice,
    )


@rule("NPU105", "hasattr-cuda", Safety.SAFE, words=("cuda",))
def hasattr_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``hasattr`` and ``getattr`` name a part of ``torch.cuda`` in a string.

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
    function = node.func
    if not isinstance(function, ast.Name) or function.id not in ("hasattr", "getattr") or len(node.args) < 2:
        return
    if not file.source.is_builtin(function.id, file.scope(node)):
        return
    base, word = file.qualname(node.args[0]), node.args[1]
    if base is None or not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return
    name = f"{base}.{word.value}"
    if not is_cuda_name(name):
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None:
        return
    new = counterpart.npu.rpartition(".")[2]
    edit = replace_in_literal(word, word.value, new, file) if new != word.value else None
    if edit is not None:
        yield file.report(
            word, describe(counterpart), edits=[edit], subject=name, evidence=counterpart.evidence, needs_torch_npu=True
        )


_TAKES_NAMES = frozenset(("patch", "setattr", "delattr", "import_module", "resolve_name", "locate"))
_DOTTED = re.compile(r"torch\.cuda(?:\.\w+)+")


@rule("NPU115", "cuda-name-in-string", Safety.SAFE, words=("torch.cuda.",))
def cuda_name_in_string(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` is given as a string to what looks names up: ``mock.patch``, ``monkeypatch.setattr``.

    The program under test calls the NPU's name after the migration, so that is the one to patch.

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
    call = file.parent(node)
    if not isinstance(node.value, str):
        return
    if _is_annotation(node, file):
        yield from _annotated(node, file)
        return
    if not _DOTTED.fullmatch(node.value) or not isinstance(call, ast.Call):
        return
    function = call.func
    word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if word not in _TAKES_NAMES or not call.args or call.args[0] is not node:
        return
    counterpart = file.release.counterpart(node.value)
    if counterpart is None or counterpart.npu is None:
        return
    edit = replace_in_literal(node, node.value, counterpart.npu, file)
    yield file.report(
        node,
        describe(counterpart),
        edits=[edit] if edit else (),
        subject=node.value,
        evidence=counterpart.evidence,
        source=counterpart.source,
        needs_torch_npu=True,
    )


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
                f"an annotation in quotes names {name}, which is {counterpart.npu} on the NPU",
                edits=[edit],
                severity=Severity.INFO,
                subject=name,
                evidence=counterpart.evidence,
                source=counterpart.source,
            )


def replace_in_literal(node: ast.Constant, old: str, new: str, file: PythonFile) -> Edit | None:
    """Replace ``old`` by ``new`` inside the source of a string literal, or None unless it stands there just once."""
    start, end = file.source.start(node), file.source.end(node)
    text = file.source.data[start:end]
    place = text.find(old.encode())
    if place < 0 or text.find(old.encode(), place + 1) >= 0:
        return None
    return file.edit(start + place, start + place + len(old.encode()), new)
