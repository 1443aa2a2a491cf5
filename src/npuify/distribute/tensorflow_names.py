"""The names of npu_bridge in a converted file: which it has, and the statements that import the others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.reading.units import Unit


def import_lines(names: set[str]) -> Iterator[str]:
    """The statements that import names of the adapter."""
    inner = sorted(names & {"util", "npu_hook"})
    plain = sorted(names - set(inner))
    if len(plain) > 3:
        yield "from npu_bridge.npu_init import ("
        yield from (f"    {name}," for name in plain)
        yield ")"
    elif plain:
        yield f"from npu_bridge.npu_init import {', '.join(plain)}"
    if inner:
        yield f"from npu_bridge.estimator.npu import {', '.join(inner)}"


def known(unit: Unit) -> set[str]:
    """The names of the adapter that a file has imported at its top."""
    found: set[str] = set()
    for node in unit.source.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npu_bridge"):
            found |= {alias.name for alias in node.names if alias.asname is None}
    return found


def last_import(unit: Unit) -> ast.stmt | None:
    """The last import at the head of a file, so that names of the adapter are bound below TensorFlow's."""
    found = [node for node in unit.source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return found[-1] if found else None
