"""Names that Python, NumPy and others have no more: torch_npu is built for newer Pythons than older programs know."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from npuify.knowledge import releases
from npuify.knowledge.pytorch.removed import numbers
from npuify.knowledge.third_party.python_names import gone_python_names
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.packages.import_guards import has_fallback
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge.third_party.python_names import GoneName
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ALIASES = {
    "numpy": ("np", "numpy"),
    "pandas": ("pd", "pandas"),
    "scipy.misc": ("scipy.misc", "misc"),
    "skimage.measure": ("skimage.measure", "measure"),
}


def _words() -> tuple[str, ...]:
    words: set[str] = set()
    for name in gone_python_names():
        module, _, last = name.rpartition(".")
        words |= {f"{alias}.{last.lower()}" for alias in _ALIASES.get(module, (module,))}
        words.add(f"from {module} import")
    return tuple(sorted(words))


@cache
def _spelled() -> re.Pattern[bytes]:
    """What a text says that names one of them: parts of longer names, ``np.float32``, are passed over."""
    by_module: dict[str, list[str]] = {}
    for name in gone_python_names():
        module, _, last = name.rpartition(".")
        by_module.setdefault(module, []).append(last)
    parts = []
    for module, names in by_module.items():
        before = "|".join(_ALIASES.get(module, (module,)))
        named = "|".join(sorted(names))
        parts.append(rf"\b(?:{before})\.(?:{named})\b|\bfrom {module} import\b[^\n]*\b(?:{named})\b")
        parts.append(rf"\bfrom {module} import\s*\(")
    return re.compile("|".join(parts).encode())


def _names_one(data: bytes, project: ProjectIndex) -> bool:
    del project
    return _spelled().search(data) is not None


@rule(
    "NPU669",
    "gone-from-python",
    Safety.SAFE,
    Severity.ERROR,
    words=_words(),
    concerns=_names_one,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="Python's and NumPy's release notes; the package index",
)
def gone_from_python(node: ast.ImportFrom | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A name that older Pythons have is gone from every Python for which the torch_npu release is built, or from NumPy;
    or no release of its package that has it is built for one of these Pythons.

    Of what is gone only from the newest of these Pythons, a note says so. Nothing is said where the program asks for
    the name before it uses it.

    Before::

        import collections
        import numpy as np
        import torch
        from fractions import gcd

        def pairs(x):
            return isinstance(x, collections.Iterable), np.zeros(2, dtype=np.float), gcd(2, 4)

    After::

        import collections
        import numpy as np
        import torch
        from math import gcd

        def pairs(x):
            return isinstance(x, collections.abc.Iterable), np.zeros(2, dtype=float), gcd(2, 4)
    """
    table = gone_python_names()
    if isinstance(node, ast.Attribute):
        row = table.get(file.qualname(node) or "")
        # A name of the project may be called as a module is; what is assigned to is the program's own.
        if row is not None and isinstance(node.ctx, ast.Load) and not _is_prepared(node, file):
            yield _report(node, [row], _of_attribute(node, row, file), file)
        return
    if node.level or node.module is None:
        return
    gone = {alias.name: row for alias in node.names if (row := table.get(f"{node.module}.{alias.name}")) is not None}
    if gone and not _is_prepared(node, file):
        yield _report(node, list(gone.values()), _of_import(node, gone, file), file)


def _is_prepared(node: ast.AST, file: PythonFile) -> bool:
    return has_fallback(node, file) or any(
        isinstance(up, (ast.If, ast.IfExp)) and re.search(r"version|hasattr|PY2|PY3", file.code(up.test))
        for up in file.ancestors(node)
    )


def _of_attribute(node: ast.Attribute, row: GoneName, file: PythonFile) -> list[Edit]:
    if row.value:
        return [file.replace(node, row.value)] if file.source.is_builtin(row.value, file.scope(node)) else []
    if row.becomes:
        edit = file.rename_attribute(node, row.becomes)
        return [edit] if edit is not None else []
    module, _, last = row.name.rpartition(".")
    if row.module.startswith(f"{module}."):
        edit = file.rename_attribute(node, f"{row.module.removeprefix(f'{module}.')}.{last}")
        return [edit] if edit is not None else []
    return []


def _of_import(node: ast.ImportFrom, gone: dict[str, GoneName], file: PythonFile) -> list[Edit]:
    """The statement as one line for each module that has some of its names; none where one has no other home."""
    indent = indentation(node, file)
    if indent is None or not ends_its_line(node, file) or "#" in file.code(node):
        return []
    homes: dict[str, list[str]] = {}
    for alias in node.names:
        row = gone.get(alias.name)
        home = node.module if row is None else row.module
        name = alias.name
        if row is not None and row.becomes:
            home, name = node.module, row.becomes
        if not home:
            return []
        bound = alias.asname or (alias.name if name != alias.name else "")
        homes.setdefault(home, []).append(f"{name} as {bound}" if bound else name)
    lines = [f"from {home} import {', '.join(names)}" for home, names in homes.items()]
    if max(map(len, lines)) + len(indent) > 120:
        return []
    return [file.replace(node, f"{file.source.text.newline}{indent}".join(lines))]


def _pythons(file: PythonFile) -> tuple[str, ...]:
    """The Pythons for which the release aimed at is built."""
    return next((row.pythons for row in releases() if row.torch_npu == file.release.torch_npu), ())


def _report(node: ast.AST, rows: list[GoneName], edits: list[Edit], file: PythonFile) -> Diagnostic:
    of_numpy = rows[0].name.startswith("numpy.")
    oldest = min((numbers(one) for one in _pythons(file)), default=(0, 0))
    is_sure = any(numbers(one.since) <= oldest for one in rows)
    names = ", ".join(one.name for one in rows)
    if of_numpy and rows[0].until:
        message = phrase(
            "NumPy {since} has no {names}; {until} has it again", since=rows[0].since, names=names, until=rows[0].until
        )
    elif rows[0].package:
        message = phrase(
            "{package} has {names}, and is not built for Python {since} or later",
            package=rows[0].package,
            names=names,
            since=rows[0].since,
        )
    elif of_numpy:
        message = phrase("NumPy has no {names} since {since}", names=names, since=rows[0].since)
    else:
        message = phrase("Python has no {names} since {since}", names=names, since=rows[0].since)
    severity = Severity.WARNING if of_numpy and not rows[0].until else Severity.ERROR if is_sure else Severity.INFO
    return file.report(
        node,
        message,
        edits=edits if severity is not Severity.INFO else [],
        severity=severity if not (of_numpy and rows[0].until) else Severity.INFO,
        evidence=rows[0].evidence,
        source=rows[0].source,
        subject=rows[0].name,
        advice="" if edits else rows[0].advice,
    )
