"""NCCL → HCCL, wherever a backend is named, compared or asked for."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.devices import device_table_entry
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.backend_words import BACKEND_WORD
from npuify.rules.distributed.backend_fields import field_of, member_meant, reaches_group
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_BACKEND = re.compile(r"nccl|NCCL|(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*")
_CASES = {"nccl": "hccl", "NCCL": "HCCL", "cuda": "npu"}
_SYMMETRIC = "torch.distributed._symmetric_memory.set_backend"
_HCCL_AVAILABLE = "torch_npu.distributed.is_hccl_available"


@rule("NPU301", "nccl-backend", Safety.SAFE, words=("nccl",))
def nccl_backend(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """NCCL needs NVIDIA GPUs; Ascend's collective communication library is HCCL.

    Before::

        import torch.distributed as dist
        dist.init_process_group(backend="nccl")
        if dist.get_backend() == "nccl":
            dist.new_group(backend="cpu:gloo,cuda:nccl")

    After::

        import torch.distributed as dist
        import torch_npu  # noqa: F401
        dist.init_process_group(backend="hccl")
        if dist.get_backend() == "hccl":
            dist.new_group(backend="cpu:gloo,npu:hccl")
    """
    if not isinstance(node.value, str) or not _BACKEND.fullmatch(node.value):
        return
    parent = file.parent(node)
    if isinstance(parent, (ast.Expr, ast.JoinedStr)) or file.framework == "PaddlePaddle":
        return
    if isinstance(parent, ast.Compare) and file.contains(b"megatron") and _is_megatrons(parent):
        return
    if isinstance(parent, ast.Dict) and node in parent.keys:
        if "hccl" in [key.value for key in parent.keys if isinstance(key, ast.Constant)]:
            return
        yield file.report(
            node,
            "a table keyed by backend has an entry for nccl; the NPU's backend is hccl",
            severity=Severity.WARNING,
            subject="nccl",
            advice="add an entry for hccl if the table is indexed by backend name",
        )
        return
    if device_table_entry(node, file.model):
        return
    reach = Reach.IMPORTS if isinstance(parent, ast.arguments) or file.is_taken_by_own(node) else Reach.FILE
    if not isinstance(parent, ast.Subscript) and file.uses(node, reach).is_no_device:
        return
    if isinstance(parent, ast.Call) and (file.qualname(parent.func) or "").startswith(_SYMMETRIC):
        yield file.report(
            node,
            "torch_npu takes no backend of symmetric memory: it has one, NPUSHMEM, and chooses it by itself",
            subject="nccl",
            advice="make the call on CUDA only",
        )
        return
    sure = ":" in node.value or _is_surely_backend(node, file)
    yield file.report(
        node,
        phrase("NCCL is HCCL on the NPU")
        if sure
        else phrase("NCCL is HCCL on the NPU, if this names a backend of torch.distributed"),
        edits=_edits(node, file),
        safety=Safety.SAFE if sure else Safety.REVIEW,
        severity=Severity.ERROR if sure else Severity.WARNING,
        subject="nccl",
        needs_torch_npu=not any(isinstance(up, (ast.Compare, ast.arguments)) for up in file.ancestors(node)),
    )


def _is_megatrons(compared: ast.Compare) -> bool:
    """Whether Megatron-LM's option ``--distributed-backend`` is asked, which stays ``nccl``.

    It takes nccl and gloo, and MindSpeed's adaptor makes of it what an NPU has.
    """
    sides = (compared.left, *compared.comparators)
    return any(isinstance(side, ast.Attribute) and side.attr == "distributed_backend" for side in sides)


def _is_surely_backend(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a string surely is a backend; all places of one field, or of one member, have the same answer."""
    field = field_of(node, file) or member_meant(node, file)
    if field is None:
        return _reaches_backend(node, file)
    statement = next((up for up in file.ancestors(node) if isinstance(up, ast.stmt)), None)
    if isinstance(statement, ast.AnnAssign) and _names_backends(statement.annotation, other_than="nccl"):
        return True
    return BACKEND_WORD.search(field[1]) is not None or reaches_group(field, file)


_BACKENDS = frozenset(("gloo", "mpi", "ucc", "ccl", "fake", "hccl", "xccl"))


def _reaches_backend(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a string reaches a backend: by the name of what takes it, or because other backends stand beside it."""
    for up in file.ancestors(node):
        if isinstance(up, ast.keyword):
            if up.arg in ("default", "choices"):
                continue
            return up.arg is not None and BACKEND_WORD.search(up.arg) is not None
        if isinstance(up, ast.Call):
            first = up.args[0] if up.args else None
            option = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            name = file.qualname(up.func) or ""
            return name.startswith("torch.distributed.") or bool(BACKEND_WORD.search(f"{file.code(up.func)} {option}"))
        if isinstance(up, ast.Compare):
            sides = [side for side in (up.left, *up.comparators)]
            return any(BACKEND_WORD.search(file.code(side)) or _names_backends(side) for side in sides)
        if isinstance(up, (ast.List, ast.Tuple, ast.Set, ast.IfExp)) and _names_backends(up):
            return True
        if isinstance(up, (ast.Assign, ast.AnnAssign)):
            targets = up.targets if isinstance(up, ast.Assign) else [up.target]
            return any(BACKEND_WORD.search(file.code(target)) for target in targets)
        if isinstance(up, ast.arguments):
            pairs = [*zip(reversed([*up.posonlyargs, *up.args]), reversed(up.defaults), strict=False)]
            pairs += [(arg, default) for arg, default in zip(up.kwonlyargs, up.kw_defaults, strict=True) if default]
            return any(default is node and BACKEND_WORD.search(arg.arg) for arg, default in pairs)
        if isinstance(up, ast.Dict):
            keys = [key for key, value in zip(up.keys, up.values, strict=True) if value is node]
            return any(isinstance(key, ast.Constant) and BACKEND_WORD.search(str(key.value)) for key in keys)
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return BACKEND_WORD.search(up.name) is not None
        if isinstance(up, ast.MatchValue):
            continue
        if isinstance(up, ast.Match):
            return BACKEND_WORD.search(file.code(up.subject)) is not None
    return False


def _names_backends(node: ast.expr, other_than: str = "") -> bool:
    words = (str(item.value).lower() for item in ast.walk(node) if isinstance(item, ast.Constant))
    return any(word in _BACKENDS and word != other_than for word in words)


def _edits(node: ast.Constant, file: PythonFile) -> list[Edit]:
    start, end = file.source.start(node), file.source.end(node)
    text = file.source.data[start:end]
    words = re.findall(r"[A-Za-z]+", str(node.value))
    found = [match for match in re.finditer(rb"(?<![A-Za-z])(?:nccl|NCCL|cuda)(?![A-Za-z])", text)]
    if len(found) != sum(word in _CASES for word in words):
        return []
    return [
        file.edit(start + match.start(), start + match.end(), _CASES[match.group().decode()])
        for match in found
        if match.group() != b"cuda" or b"cuda:nccl" in text
    ]


@rule("NPU302", "nccl-name", Safety.SAFE, words=("nccl",), names=("NCCL",))
def nccl_name(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``Backend.NCCL`` is ``Backend.HCCL``, which ``import torch_npu`` registers.

    Before::

        import torch.distributed as dist
        backend = dist.Backend.NCCL

    After::

        import torch.distributed as dist
        import torch_npu  # noqa: F401
        backend = dist.Backend.HCCL
    """
    name = file.qualname(node) or ""
    if node.attr != "NCCL" or not name.startswith("torch.distributed."):
        return
    edit = file.rename_attribute(node, "HCCL")
    yield file.report(
        node,
        "Backend.NCCL is Backend.HCCL on the NPU",
        edits=[edit] if edit else [],
        subject="torch.distributed.Backend.NCCL",
        needs_torch_npu=True,
    )


@rule(
    "NPU303",
    "is-nccl-available",
    Safety.SAFE,
    words=("is_nccl_available",),
    names=("torch.distributed", "is_nccl_available"),
)
def is_nccl_available(node: ast.Attribute | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """``is_nccl_available()`` is false on Ascend; torch_npu has ``is_hccl_available()``.

    Before::

        import torch.distributed as dist
        ready = dist.is_nccl_available()

    After::

        import torch.distributed as dist
        import torch_npu
        ready = torch_npu.distributed.is_hccl_available()
    """
    there = file.release.has(_HCCL_AVAILABLE)
    if isinstance(node, ast.ImportFrom):
        if not (node.module or "").startswith("torch.distributed") or node.level:
            return
        if not any(alias.name == "is_nccl_available" for alias in node.names):
            return
        edits = []
        if len(node.names) == 1 and there:
            bound = node.names[0].asname or "is_nccl_available"
            edits = [file.replace(node, f"from torch_npu.distributed import is_hccl_available as {bound}")]
    else:
        if not (file.qualname(node) or "").endswith(".is_nccl_available"):
            return
        if not (file.qualname(node) or "").startswith("torch.distributed"):
            return
        edits = [file.replace(node, _HCCL_AVAILABLE)] if there else []
    yield file.report(
        node,
        "is_nccl_available() is false on the NPU",
        edits=edits,
        subject="torch.distributed.is_nccl_available",
        advice=phrase("use {name}()", name=_HCCL_AVAILABLE)
        if there
        else "this release of torch_npu has no such function; HCCL is available",
        needs_torch_npu=not isinstance(node, ast.ImportFrom),
    )


@rule("NPU304", "nccl-only-api", Safety.MANUAL, words=("processgroupnccl", "ncclerror", "nccl_abort", "ncclcomm"))
def nccl_only_api(node: ast.Attribute | ast.ImportFrom | ast.Name, file: PythonFile) -> Iterator[Diagnostic]:
    """A class or option of NCCL's process group, which a torch without CUDA lacks."""
    if isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names if "NCCL" in alias.name]
        if not (node.module or "").startswith("torch") or not names:
            return
    else:
        last = node.attr if isinstance(node, ast.Attribute) else node.id
        if last not in ("ProcessGroupNCCL", "NCCLError", "DistBackendErrorNCCL"):
            return
        name = file.qualname(node)
        if name is not None and not name.startswith("torch."):
            return
        if isinstance(node, ast.Name):
            return
        names = [last]
    yield file.report(
        node,
        phrase("{names} exists only where torch was built with NCCL", names=names[0]),
        subject=f"torch.distributed.{names[0]}",
        advice="torch_npu has torch_npu._C._distributed_c10d.ProcessGroupHCCL, and its Options() for pg_options, with "
        "its own settings in hccl_config (hccl_buffer_size, group_name); guard this code with a check of the "
        "backend's name",
    )
