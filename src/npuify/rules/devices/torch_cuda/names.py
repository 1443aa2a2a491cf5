"""Names of ``torch.cuda``: which have a counterpart in the target release, and what changes with the name.

That a rename is right is a fact of the release's table; nothing here renames by the look of a string.
"""

from __future__ import annotations

import ast
import contextlib
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.owners import owner_of, owner_of_entry
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.renaming import rename_chain
from npuify.rules.devices.capability import nccl_version
from npuify.rules.devices.default_types import is_default_type
from npuify.rules.devices.torch_cuda.cuda_names import MODULES, cuda_chain, describe, is_cuda_name, is_object
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule("NPU101", "cuda-name", Safety.SAFE, words=("cuda",), names=("torch.cuda",))
def cuda_name(node: ast.Attribute | ast.Name, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` has a counterpart in ``torch.npu``.

    The table of the target release gives it, with its signature; a name that the release lacks is NPU102.

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
    if name.endswith("Tensor") and is_default_type(node, file):
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
            phrase("{describe}, but this spelling cannot be edited in place", describe=describe(counterpart)),
            subject=name,
            advice=phrase("write {npu} here", npu=counterpart.npu),
            evidence=counterpart.evidence,
            source=counterpart.source,
        )
        return
    if not edits:
        return
    library = _asks_for_another(node, name, file)
    if library:
        yield file.report(
            node,
            phrase(
                "this asks for CUDA on behalf of {library}, which knows no NPU; the question is left unchanged",
                library=library,
            ),
            severity=Severity.WARNING,
            subject=name,
            advice="the branch without CUDA is the right one on an NPU machine",
        )
        return
    builds = _leads_to_build(node, name, file)
    yield file.report(
        node,
        describe(counterpart)
        + (
            phrase("; this file builds CUDA code ({builds}), so the check is left unchanged", builds=builds)
            if builds
            else ""
        ),
        edits=edits if builds is None else (),
        severity=Severity.WARNING if builds else None,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        advice="on an NPU machine the CUDA extension must not be built: use the option that disables it"
        if builds
        else "",
        needs_torch_npu=counterpart.npu.startswith("torch.npu"),
    )


def _came_by_star(name: str, file: PythonFile) -> bool:
    """Whether the file itself has ``from torch.cuda import *`` for a name, so that the statement changes with it."""
    return name.rpartition(".")[0] in file.source.scope.module.star_imports


_BUILDS_CUDA = ("CUDAExtension", "CUDA_HOME", "load_inline", "cpp_extension.load(")
_LOADS_CUDA = re.compile(r"\bload\(.{0,600}?\.cuh?[\"']", re.DOTALL)
_QUESTIONS = ("is_available", "device_count", "get_device_capability", "is_bf16_supported", "get_arch_list")


_NVIDIA_CODEC = re.compile(r"nvenc|nvdec|cuvid")


def _asks_for_another(node: ast.AST, name: str, file: PythonFile) -> str:
    """The library for which ``"GPU" if torch.cuda.is_available() else "CPU"`` chooses, where it has no word for an NPU.

    Were the question one for the NPU, the library would be given CUDA on a machine without it.
    """
    call = file.parent(node)
    choice = file.parent(call) if isinstance(call, ast.Call) and call.func is node else None
    if name != "torch.cuda.is_available" or not isinstance(choice, ast.IfExp) or choice.test is not call:
        return ""
    chosen = choice.body
    if not isinstance(chosen, ast.Constant) or not isinstance(chosen.value, str):
        return ""
    if _NVIDIA_CODEC.search(chosen.value):
        return "FFmpeg"
    owner = owner_of(chosen, file.model) or owner_of_entry(chosen, file.model, file.reaching(Reach.FILE))
    return owner.name if owner is not None and not owner.device else ""


def _leads_to_build(node: ast.AST, name: str, file: PythonFile) -> str | None:
    """The word that shows that CUDA code is built where this question is answered with yes; else None.

    There, asking the NPU instead would make an NPU machine compile for CUDA.
    """
    script = file.source.relative.rpartition("/")[2] == "setup.py"
    if name.rpartition(".")[2] not in _QUESTIONS and not script:
        return None
    words = [word for word in _BUILDS_CUDA if file.contains(word.encode())]
    if script:
        return words[0] if words else None
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is up.test:
            text = file.code(up)
            if file.contains(b"cpp_extension") and _LOADS_CUDA.search(text):
                return "load"
            found = next((word for word in words if word in text), None)
            return found or (_built_only_with_cuda(up, file) if isinstance(up, ast.If) else None)
        current = up
    return None


def _built_only_with_cuda(branch: ast.If, file: PythonFile) -> str | None:
    """The extension of the project that a branch does nothing but import, where its setup.py builds one for CUDA."""
    names: list[str] = []
    for statement in branch.body:
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module is not None and not statement.level:
            names += [f"{statement.module}.{alias.name}" for alias in statement.names]
        else:
            return None
    modules = file.project.modules
    for name in names:
        if name in modules or name.partition(".")[0] not in modules:
            continue
        for script in file.project.files_with(f'"{name}"'.encode()):
            if script.endswith("setup.py") and _extends_cuda(script, file.project):
                return name
    return None


def _extends_cuda(script: str, project: ProjectIndex) -> bool:
    with contextlib.suppress(OSError):
        return b"CUDAExtension" in project.read(script)
    return False


@rule("NPU102", "missing-on-npu", Safety.MANUAL, words=("cuda",), names=("torch.cuda",))
def missing_on_npu(node: ast.Attribute | ast.Name | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of ``torch.cuda`` that the target release lacks.

    The call is left unchanged and will fail on the NPU: remove it, guard it, or use the alternative that the finding
    gives.
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
        if name.rpartition(".")[2].startswith("__") or is_object(file, name.rpartition(".")[0]):
            return
        is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        yield file.report(
            node,
            phrase("nothing reads {name}, which neither torch nor torch_npu has: setting it has no effect", name=name)
            if is_set
            else phrase(
                "neither torch {torch} nor torch_npu {torch_npu} has {name}",
                torch=file.release.torch,
                torch_npu=file.release.torch_npu,
                name=name,
            ),
            severity=Severity.INFO if is_set else Severity.WARNING,
            subject=name,
            evidence=Evidence.PACKAGE,
            advice="" if is_set else "it may belong to another release, or be private; check where it comes from",
        )
    elif counterpart.npu is None:
        meaning = counterpart.meaning
        yield file.report(
            node,
            counterpart.message
            or phrase(
                "torch_npu {torch_npu} has no counterpart of {name}", torch_npu=file.release.torch_npu, name=name
            ),
            severity=Severity.INFO
            if isinstance(node, ast.alias) and name in MODULES
            else meaning.severity
            if meaning
            else None,
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice=(meaning.advice if meaning else "") or "remove the call, or guard it so that it only runs on CUDA",
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


@rule("NPU104", "different-on-npu", Safety.MANUAL, Severity.WARNING, words=("cuda",), names=("torch.cuda",))
def different_on_npu(node: ast.Attribute | ast.Name | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A name exists on the NPU but behaves differently there: it returns None, has no effect, or raises."""
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
