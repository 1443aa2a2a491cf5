"""Extensions that classes like DeepSpeed's ``CUDAOpBuilder`` describe: a name, and a method that lists the sources."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.rules.packages.extensions.build import Build

if TYPE_CHECKING:
    from collections.abc import Iterator

FOR_NPU: Final = "NPUOpBuilder"
"""The kind of a build that is the project's own for the NPU."""
_SOURCE: Final = re.compile(r"[\w./+-]+\.(?:cu|cpp|cc|cxx|c)")
_BUILDER: Final = re.compile(r"Builder$")


def may_have_builders(data: bytes) -> bool:
    """Whether a Python file can hold such classes."""
    return b"OpBuilder" in data and b"def sources" in data


def builders_in(relative: str, tree: ast.Module) -> Iterator[Build]:
    """The extensions that the classes of a parsed file describe.

    Args:
        relative: the file's path in the project.
        tree: what it holds.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases]
        methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        if "sources" not in methods or not any(_BUILDER.search(base) for base in bases):
            continue
        name = _class_constant(node, "NAME")
        module = _returned(methods["absolute_name"], name) if "absolute_name" in methods else ""
        module = module or name
        if not module:
            continue
        sources = tuple(
            one.value
            for one in ast.walk(methods["sources"])
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and _SOURCE.fullmatch(one.value)
        )
        if any("npu" in base.lower() for base in bases):
            yield Build(module, (), relative, node.lineno, FOR_NPU, loader=node.name)
        elif sources:
            kind = "CUDAExtension" if any(source.endswith(".cu") for source in sources) else "CppExtension"
            yield Build(module, sources, relative, node.lineno, kind, loader=node.name)


def _class_constant(node: ast.ClassDef, name: str) -> str:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            value = statement.value.value
            if isinstance(value, str) and any(
                isinstance(target, ast.Name) and target.id == name for target in statement.targets
            ):
                return value
    return ""


def _returned(method: ast.FunctionDef, name: str) -> str:
    """The text that a method returns, with ``self.NAME`` filled in; empty where it has other parts."""
    last = method.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if not isinstance(value, ast.JoinedStr):
        return ""
    parts = []
    for part in value.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue) and getattr(part.value, "attr", "") in ("NAME", "name") and name:
            parts.append(name)
        else:
            return ""
    return "".join(parts)
