"""The modules that a project imports from elsewhere, for projects that say nowhere what they need."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Final

from npuify.project.files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COVERED: Final = {"torch", "torch_npu", "__future__"}
_COVERED_BY_TENSORFLOW: Final = {
    *("tensorflow", "tensorboard", "tensorflow_estimator", "keras", "numpy", "google", "absl"),
    *("npu_bridge", "npu_device", "hccl", "__future__"),
}
"""With TensorFlow come also packages that it requires."""
_MOST_FILES: Final = 400
"""Files that are read: those nearest the root. A project with more says what it needs."""


def imported(project: Path, *, for_tensorflow: bool = False) -> tuple[str, ...]:
    """Top-level modules by name, without those of Python, of the project itself, and of torch, or of TensorFlow.

    An import inside ``try`` is optional, and is not among them. Nothing is imported.
    """
    covered = _COVERED_BY_TENSORFLOW if for_tensorflow else _COVERED
    files = [file for file in find_files([project], kinds={"python"}, errors=[])]
    files.sort(key=lambda file: (file.relative.count("/"), file.relative))
    own = {part.removesuffix(".py") for file in files for part in file.relative.split("/")}
    found: set[str] = set()
    for file in files[:_MOST_FILES]:
        try:
            tree = ast.parse(file.path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            # The scan reports it.
            continue
        found.update(_modules(tree))
    return tuple(sorted(found - own - covered - set(sys.stdlib_module_names)))


def _modules(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
            yield child.module.partition(".")[0]
        elif not isinstance(child, ast.Try):
            yield from _modules(child)
