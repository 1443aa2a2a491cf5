"""accelerate: the name that it gives to training on several NPUs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

SEVERAL_GPUS, SEVERAL_NPUS = "MULTI_GPU", "MULTI_NPU"


@rule(
    "NPU326",
    "accelerate-several-gpus",
    Safety.SAFE,
    Severity.ERROR,
    words=("multi_gpu",),
    also_in_file=("accelerate",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="accelerate/utils/dataclasses.py, DistributedType, and accelerate/state.py, which chooses it",
)
def several_gpus(node: ast.Attribute | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """accelerate calls training on several NPUs ``MULTI_NPU``: what a program does for ``MULTI_GPU`` is left out there.

    Before::

        import torch
        from accelerate import Accelerator, DistributedType
        accelerator = Accelerator()
        if accelerator.distributed_type == DistributedType.MULTI_GPU:
            print("several cards")

    After::

        import torch
        from accelerate import Accelerator, DistributedType
        accelerator = Accelerator()
        if accelerator.distributed_type == DistributedType.MULTI_NPU:
            print("several cards")
    """
    if isinstance(node, ast.Attribute):
        if node.attr != SEVERAL_GPUS or not _is_accelerates(file.qualname(node)):
            return
        edit = file.rename_attribute(node, SEVERAL_NPUS)
    else:
        if node.value != SEVERAL_GPUS or not _is_compared(node, file):
            return
        edit = file.replace(node, file.code(node).replace(SEVERAL_GPUS, SEVERAL_NPUS))
    yield file.report(
        node,
        phrase("accelerate says {SEVERAL_NPUS} of several NPUs", SEVERAL_NPUS=SEVERAL_NPUS),
        edits=[edit] if edit else (),
        subject=f"accelerate.DistributedType.{SEVERAL_GPUS}",
        advice="" if edit else phrase("write {SEVERAL_NPUS} here", SEVERAL_NPUS=SEVERAL_NPUS),
    )


def _is_accelerates(name: str | None) -> bool:
    return name is not None and name.startswith("accelerate.") and name.endswith(f".DistributedType.{SEVERAL_GPUS}")


def _is_compared(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a string is compared with what accelerate says: its type is a string, too."""
    parent = file.parent(node)
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        parent = file.parent(parent)
    sides = [parent.left, *parent.comparators] if isinstance(parent, ast.Compare) else []
    return any(_says_type(side) for side in sides)


def _says_type(node: ast.expr) -> bool:
    """Whether an expression is the type of the training, or its text."""
    if isinstance(node, ast.Attribute) and node.attr in ("value", "name"):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "distributed_type"
