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
_MOST_FILES: Final = 400
"""Files that are read: those nearest the root. A project with more says what it needs."""


def imported(project: Path) -> tuple[str, ...]:
    """Top-level modules by name, without those of Python, of torch, and of the project itself.

    An import inside ``try`` is optional, and is not among them. Nothing is imported.
    """
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
    return tuple(sorted(found - own - _COVERED - set(sys.stdlib_module_names)))


def _modules(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
            yield child.module.partition(".")[0]
        elif not isinstance(child, ast.Try):
            yield from _modules(child)
