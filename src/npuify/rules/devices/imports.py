"""Import statements: those of ``torch.cuda`` change, and ``import torch_npu`` is added where it is needed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.torch_npu_import import _NOWHERE, _place_for_import, imports_torch_npu
from npuify.rules.devices.torch_cuda.cuda_names import MODULES, describe, is_cuda_name
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SUPPRESS_UNUSED = "  # noqa: F401"
_NO_AUTOLOAD = ("2.1.", "2.2.", "2.3.", "2.4.")
"""Releases of torch that do not load torch_npu by themselves."""


@rule("NPU106", "cuda-from-import", Safety.SAFE, words=("cuda",))
def cuda_from_import(node: ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """``from torch.cuda import …`` takes a name that lives in ``torch_npu.npu``.

    The module is imported by its real name: ``from torch.npu.amp import …`` would load a second copy of it.

    Before::

        from torch.cuda.amp import GradScaler, autocast

    After::

        from torch_npu.npu.amp import GradScaler, autocast
    """
    if node.level or node.module is None or not (node.module == "torch" or is_cuda_name(node.module)):
        return
    if node.module == "torch" and all(alias.name != "cuda" for alias in node.names):
        return
    moved: dict[str, list[str]] = {}
    renamed = False
    subjects = []
    counterpart = None
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        counterpart_of = None
        if is_cuda_name(name):
            counterpart_of = file.release.counterpart(node.module if alias.name == "*" else name)
        target = counterpart_of.npu_import if counterpart_of is not None else None
        if counterpart_of is None or target is None:
            moved.setdefault(node.module, []).append(_alias_text(alias.name, alias.asname))
            continue
        counterpart = counterpart_of
        subjects.append(name)
        if alias.name == "*":
            moved.setdefault(target, []).append("*")
            continue
        module, _, new = target.rpartition(".")
        bound = alias.asname or alias.name
        text = _alias_text(new, None if bound == new else bound)
        renamed = renamed or text != _alias_text(alias.name, alias.asname)
        moved.setdefault(module, []).append(text)
    if counterpart is None:
        return
    edits = _module_edit(node, next(iter(moved)), file) if len(moved) == 1 and not renamed else None
    if edits is None:
        edits = _whole_statement(node, moved, file)
    message = (
        describe(counterpart)
        if len(subjects) == 1
        else phrase("{subjects} have counterparts on the NPU", subjects=commas(subjects))
    )
    yield file.report(
        node,
        message,
        edits=edits or (),
        subject=subjects[0],
        evidence=counterpart.evidence,
        source=counterpart.source,
        advice=""
        if edits
        else "import these names from torch_npu.npu; the statement contains comments, so it was left unchanged",
    )


def _alias_text(name: str, asname: str | None) -> str:
    return f"{name} as {asname}" if asname else name


def _module_edit(node: ast.ImportFrom, module: str, file: PythonFile) -> list[Edit] | None:
    """Change only the module of the statement."""
    assert node.module is not None
    start = file.source.start(node)
    place = file.source.data.find(node.module.encode(), start, file.source.end(node))
    between = file.source.segment(start, place) if place >= 0 else ""
    if between.split() != ["from"]:
        return None
    return [file.edit(place, place + len(node.module.encode()), module)]


def _whole_statement(node: ast.ImportFrom, moved: dict[str, list[str]], file: PythonFile) -> list[Edit] | None:
    """Write the statement anew as one statement a module, names of the old module first."""
    if b"#" in file.source.data[file.source.start(node) : file.source.end(node)]:
        return None
    indent = _indentation(node, file)
    if indent is None:
        return None
    assert node.module is not None
    order = sorted(moved, key=lambda module: module != node.module)
    lines = [f"from {module} import {', '.join(moved[module])}" for module in order]
    return [file.replace(node, (file.source.text.newline + indent).join(lines))]


def _indentation(node: ast.stmt, file: PythonFile) -> str | None:
    """The blanks before a statement that stands first on its line, None for another."""
    start = file.source.start(node)
    before = file.source.segment(file.source.text.line_starts[node.lineno - 1], start)
    return before if not before.strip(" \t\f") else None


@rule("NPU107", "cuda-import", Safety.SAFE, words=("cuda",))
def cuda_import(node: ast.Import, file: PythonFile) -> Iterator[Diagnostic]:
    """``import torch.cuda`` imports a module whose counterpart on Ascend is ``torch_npu.npu``.

    Before::

        import torch.cuda.amp as amp
        import torch.cuda.comm

        print(torch.__version__)

    After::

        import torch_npu.npu.amp as amp
        import torch.cuda.comm

        print(torch.__version__)
    """
    for alias in node.names:
        if not is_cuda_name(alias.name):
            continue
        counterpart = file.release.counterpart(alias.name)
        if counterpart is None or counterpart.npu_import is None:
            yield file.report(
                alias,
                phrase(
                    "torch_npu {torch_npu} has no counterpart of the module {name}",
                    torch_npu=file.release.torch_npu,
                    name=alias.name,
                ),
                # The import works anywhere; what is used of the module is told where it is used.
                severity=Severity.INFO if alias.name in MODULES else None,
                subject=alias.name,
                advice="" if alias.name in MODULES else "import it only where CUDA is available",
            )
            continue
        if alias.asname:
            new = counterpart.npu_import
        elif _binds_torch_otherwise(alias, file):
            new = "torch_npu"
        else:
            new = "torch"
        start = file.source.start(alias)
        end = start + len(alias.name.encode())
        if file.source.segment(start, end) != alias.name:
            continue
        yield file.report(
            alias,
            describe(counterpart),
            edits=[file.edit(start, end, new)],
            subject=alias.name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            needs_torch_npu=True,
        )


def _binds_torch_otherwise(alias: ast.alias, file: PythonFile) -> bool:
    statement = file.parent(alias)
    if not isinstance(statement, ast.Import) or statement not in file.source.tree.body:
        return False
    for other in file.source.tree.body:
        if isinstance(other, ast.Import):
            for name in other.names:
                if name is not alias and name.asname is None and name.name.split(".")[0] == "torch":
                    return not is_cuda_name(name.name) or file.source.start(name) < file.source.start(alias)
    return False


@rule("NPU100", "torch-npu-not-imported", Safety.SAFE, words=())
def torch_npu_not_imported(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """NPU names exist only after ``import torch_npu``.

    The import is added once, at module level, after the first import of torch, and only to files whose migrated code
    needs it. From torch 2.5 on, torch loads torch_npu automatically; an explicit import works with all releases.

    Before::

        import torch
        model = torch.nn.Linear(2, 2).cuda()

    After::

        import torch
        import torch_npu  # noqa: F401
        model = torch.nn.Linear(2, 2).npu()
    """
    if not file.needs_torch_npu or imports_torch_npu(node, by_name=_uses_the_name(node, file)):
        return
    after = _place_for_import(node, file)
    if after is _NOWHERE:
        return
    if after is None:
        yield file.report(
            (0, 0),
            "NPU names are used here, but torch is only imported inside functions or conditions",
            severity=None if file.release.torch.startswith(_NO_AUTOLOAD) else Severity.INFO,
            advice="import torch_npu once, before the first use; from torch 2.5 on, torch does so automatically",
        )
        return
    offset, text = _added_import(after, node, file)
    yield file.report((offset, offset), "NPU names need torch_npu", edits=[file.edit(offset, offset, text)])


def _added_import(after: ast.stmt, tree: ast.Module, file: PythonFile) -> tuple[int, str]:
    """Where ``import torch_npu`` goes, and how it is written there."""
    newline = file.source.text.newline
    line = after.end_lineno or after.lineno
    starts = file.source.text.line_starts
    indent = _indentation(after, file) or ""
    used = _uses_the_name(tree, file)
    text = f"{indent}import torch_npu" + ("" if used else _SUPPRESS_UNUSED)
    if line < len(starts):
        offset, text = starts[line], text + newline
    else:
        offset, text = len(file.source.data), newline + text
    if file.source.data[file.source.end(after) : offset].lstrip(b" \t").startswith(b";"):
        offset, text = file.source.end(after), "; import torch_npu"
    return offset, text


def _uses_the_name(tree: ast.Module, file: PythonFile) -> bool:
    """Whether the code says ``torch_npu.…``, so that the name itself must be bound."""
    if b"torch_npu." not in file.source.data:
        return False
    return any(isinstance(node, ast.Name) and node.id == "torch_npu" for node in ast.walk(tree))


@rule(
    "NPU138",
    "npu-name-without-torch-npu",
    Safety.SAFE,
    words=(".npu.",),
    evidence=Evidence.PACKAGE,
    source="torch before 2.5 loads no other package by itself",
)
def npu_name_without_torch_npu(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A program says ``torch.npu`` itself, for a torch before 2.5, and imports torch_npu nowhere.

    From torch 2.5 on, torch loads torch_npu by itself. Reported once, where no file of the project names torch_npu.

    Before, with torch 2.1::

        import torch
        torch.npu.set_device(0)

    After, with torch 2.1::

        import torch
        import torch_npu  # noqa: F401
        torch.npu.set_device(0)
    """
    if not file.release.torch.startswith(_NO_AUTOLOAD) or file.contains(b"torch_npu"):
        return
    first = next((one for one in file.nodes_on_lines_with("npu") if _is_npu_name(one, file)), None)
    after = _place_for_import(node, file)
    if first is None or after is None or after is _NOWHERE:
        return
    if file.project.files_with(b"torch_npu"):
        return
    offset, text = _added_import(after, node, file)
    yield file.report(
        first,
        phrase("torch {torch} has no torch.npu before torch_npu is imported", torch=file.release.torch),
        edits=[file.edit(offset, offset, text)],
        subject="torch.npu",
    )


def _is_npu_name(node: ast.AST, file: PythonFile) -> bool:
    """Whether a node is a name of ``torch.npu``, read where nothing asks first whether there is an NPU."""
    if not isinstance(node, ast.Attribute) or not (file.qualname(node) or "").startswith("torch.npu."):
        return False
    for up in file.ancestors(node):
        if isinstance(up, ast.Try):
            return False
        if isinstance(up, (ast.If, ast.IfExp, ast.While)) and "npu" in file.code(up.test):
            return False
    return True
