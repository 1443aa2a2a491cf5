"""What a style imports into a file: the helper of the portable style, ``transfer_to_npu`` of the automatic one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.edits.statements import _is_docstring, put_import
from npuify.rules.registry import rule
from npuify.styles.cuda_only_imports import cuda_only_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

TRANSFER = "torch_npu.contrib.transfer_to_npu"


@rule(
    "NPU118",
    "device-helper-not-imported",
    Safety.SAFE,
    words=(),
    style="portable",
    source="signatures and code in torch and torch_npu",
)
def device_helper_not_imported(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """With ``--style portable``, a file gets the device from the project's helper module, and must import it.

    The helper, which is written into the project with the edits, names the device (``npu`` or ``cuda``), the functions
    that go with it (``torch.npu`` or ``torch.cuda``) and the backend of torch.distributed.

    Before::

        import torch

        model = torch.nn.Linear(2, 2).cuda()
        torch.cuda.manual_seed(0)

    After::

        import torch

        import compute_device

        model = torch.nn.Linear(2, 2).to(compute_device.type)
        compute_device.api.manual_seed(0)
    """
    plan = file.plan
    if plan.style != "portable" or f"{plan.helper}.".encode() not in file.source.data:
        return
    first = _first_use(plan.helper, file)
    if first is None:
        return
    # Imports of what only CUDA has may go below a test of the helper's type, now or in a later round.
    first = min([first, *(item.lineno for item in node.body if cuda_only_names(item, file))])
    edit = put_import(plan.module_import(file.source.relative), node, first, file)
    yield file.report(
        (edit.start, edit.start),
        phrase("the device comes from the project's module {helper}", helper=plan.helper),
        edits=[edit],
    )


def _first_use(name: str, file: PythonFile) -> int | None:
    """The first line on which code uses ``name``; None where the module binds it, or nothing uses it."""
    if name in file.source.scope.names:
        return None
    lines = [
        node.lineno
        for node in file.nodes_on_lines_with(name)
        if isinstance(node, ast.Name) and node.id == name and file.source.is_builtin(name, file.scope(node))
    ]
    return min(lines, default=None)


@rule(
    "NPU119",
    "transfer-to-npu-not-imported",
    Safety.SAFE,
    words=(),
    style="auto",
    source="torch_npu/contrib/transfer_to_npu.py",
)
def transfer_to_npu_not_imported(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """With ``--style auto``, each entry point imports ``transfer_to_npu``, which replaces CUDA names at run time.

    The import comes after that of torch and before any of the project's own modules: a name that another module imports
    from torch earlier keeps its old meaning.

    Before::

        import torch

        if __name__ == "__main__":
            model = torch.nn.Linear(2, 2).cuda()
            if next(model.parameters()).device.type == "cuda":
                torch.cuda.synchronize()

    After::

        import torch
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401

        if __name__ == "__main__":
            model = torch.nn.Linear(2, 2).cuda()
            if next(model.parameters()).device.type in ("cuda", "npu"):
                torch.cuda.synchronize()
    """
    plan = file.plan
    if plan.style != "auto":
        return
    if plan.library == file.source.relative:
        yield file.report(
            (0, 0),
            "no entry point was found in the project, so nothing imports transfer_to_npu",
            severity=Severity.WARNING,
            subject=TRANSFER,
            advice="import torch_npu and `from torch_npu.contrib import transfer_to_npu` at the start of the program, "
            "before the project's own modules",
        )
    if file.source.relative not in plan.entries or _imports_transfer(node):
        return
    has_npu = any(
        isinstance(item, ast.Import) and any(alias.name == "torch_npu" for alias in item.names) for item in node.body
    )
    lines = [] if has_npu else ["import torch_npu  # noqa: F401"]
    lines.append("from torch_npu.contrib import transfer_to_npu  # noqa: F401")
    edit = _put_transfer(lines, node, file)
    if edit is None:
        yield file.report(
            (0, 0),
            "this entry point has no place at its top to import transfer_to_npu",
            subject=TRANSFER,
            advice="import it before torch is used",
        )
        return
    yield file.report(
        (edit.start, edit.start),
        "transfer_to_npu replaces CUDA's names when the program starts",
        edits=[edit],
        subject=TRANSFER,
    )


def _imports_transfer(tree: ast.Module) -> bool:
    for item in tree.body:
        inner = [*item.body] if isinstance(item, (ast.Try, ast.If)) else [item]
        for statement in inner:
            if isinstance(statement, ast.ImportFrom):
                names = [f"{statement.module}.{alias.name}" for alias in statement.names]
            elif isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            else:
                continue
            if any(name.startswith(TRANSFER) for name in names):
                return True
    return False


def _put_transfer(lines: list[str], tree: ast.Module, file: PythonFile) -> Edit | None:
    """Behind ``import torch`` where it is the first that may bring torch, else before the first that may."""
    place: tuple[ast.stmt, bool] | None = None
    for item in tree.body:
        if not isinstance(item, (ast.Import, ast.ImportFrom)):
            if _is_docstring(item) or not _holds_imports(item, file):
                continue
            place = (item, False)
            break
        names = [alias.name for alias in item.names] if isinstance(item, ast.Import) else [item.module or ""]
        if isinstance(item, ast.ImportFrom) and item.module == "__future__":
            continue
        if isinstance(item, ast.Import) and names == ["torch"]:
            place = (item, True)
            break
        if (isinstance(item, ast.ImportFrom) and item.level) or any(_may_bring_torch(name, file) for name in names):
            place = (item, False)
            break
    newline = file.source.text.newline
    starts = file.source.text.line_starts
    if place is None:
        # Everything is imported inside functions: any place at the top comes before that.
        return put_import(newline.join(lines), tree, len(starts) + 1, file)
    statement, behind = place
    if statement.col_offset:
        return None
    if behind:
        line = statement.end_lineno or statement.lineno
        if line >= len(starts):
            end = len(file.source.data)
            return file.edit(end, end, newline + newline.join(lines))
        rest = file.source.data[file.source.end(statement) : starts[line]]
        if rest.lstrip(b" \t").startswith(b";"):
            return None
        return file.edit(starts[line], starts[line], "".join(text + newline for text in lines))
    start = file.source.start(statement)
    return file.edit(start, start, "".join(text + newline for text in lines))


def _holds_imports(item: ast.stmt, file: PythonFile) -> bool:
    """Whether a compound statement at the top imports anything that may bring torch."""
    if not isinstance(item, (ast.Try, ast.If, ast.With)):
        return False
    for node in ast.walk(item):
        if isinstance(node, ast.Import) and any(_may_bring_torch(alias.name, file) for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.level or _may_bring_torch(node.module or "", file)):
            return True
    return False


def _may_bring_torch(name: str, file: PythonFile) -> bool:
    import sys

    top = name.partition(".")[0]
    if top in file.project.packages:
        return True
    return top not in sys.stdlib_module_names and top not in _WITHOUT_TORCH


_WITHOUT_TORCH = frozenset(
    "numpy scipy pandas yaml tqdm PIL cv2 matplotlib click typer rich requests regex sklearn h5py omegaconf hydra "
    "absl setuptools packaging einops_exts termcolor tabulate wandb tensorboardX six attr attrs pydantic".split()
)
"""Common packages that do not import torch themselves."""
