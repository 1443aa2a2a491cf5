"""Imports of packages that have no form for the NPU, have another one, or need a version that has one."""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Final

from npuify.knowledge import packages
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.packages.import_guards import asks_whether_there, has_fallback, may_not_run
from npuify.rules.common.packages.members import is_replaced, what_works
from npuify.rules.common.packages.rows import _member, package_of
from npuify.rules.common.settled import is_settled
from npuify.rules.common.surely_run import surely_runs
from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.nvml import chooses_platform, guarded_starts, only_started
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge import PackageFact
    from npuify.knowledge.third_party.members import MemberFact
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.rules.packages.extensions.build import Build

_OWN_RULES = frozenset(("flash_attn", "xformers"))
"""Packages of which other rules say more, name by name."""


_NVML = frozenset(("pynvml", "py3nvml", "nvidia_smi"))


TOLD_OF: Final = ("package.told",)
"""With a package behind it: where the severity is kept with which a file is told of it."""
IMPORTING: Final = ("import ", "from ", ", ")
"""What stands before the name of a package that is imported."""


def _words() -> tuple[str, ...]:
    words: set[str] = set()
    for name, row in packages().items():
        if name in row.names:
            words.add(name.rpartition(".")[2].rstrip("*").lower())
            continue
        top = name.partition(".")[0].lower()
        words |= {f"{before}{top}" for before in IMPORTING}
    return tuple(sorted(words))


def import_names() -> frozenset[str]:
    """The packages that fail or differ on an NPU machine: for their import alone a file is worth looking at.

    Of a part of a package (``nvidia.dali``) the whole name.
    """
    return frozenset(
        name
        for name, row in packages().items()
        if row.severity is not Severity.INFO and name not in row.names and "*" not in name
    )


@rule(
    "NPU620",
    "package-without-npu",
    Safety.MANUAL,
    words=_words(),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="table of packages",
)
def package_without_npu(node: ast.Import | ast.ImportFrom | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A package is imported that an NPU machine lacks, or has in a different form.

    Reported once per file and package: as an error where the program fails at the import, as a warning where the import
    is inside a function that may not be called, or under a condition, and as information where the code works without
    the package.
    """
    if isinstance(node, ast.Attribute):
        name = file.qualname(node) or ""
        row = _member(name)
        imported = [(name, row)] if row is not None else []
    else:
        imported = [(name, row) for name in _imported(node) if (row := package_of(name)) is not None]
    for name, row in imported:
        key = ("package", row.package, row.imports, row.names)
        if file.recall(key) or _own_module(name, file) or _is_built_here(name, file):
            continue
        if isinstance(node, ast.ImportFrom) and name.partition(".")[0] in _OWN_RULES:
            continue
        if name.startswith("triton.language.extra.cuda.libdevice"):
            continue  # a rule tells function by function
        if name.startswith(("horovod.tensorflow", "horovod.keras")):
            continue  # its uses are told of, and in part edited, by rules for TensorFlow
        if isinstance(node, (ast.Import, ast.ImportFrom)) and is_replaced(node, file):
            continue
        works = what_works(node, file) if isinstance(node, (ast.Import, ast.ImportFrom)) else None
        if works is not None:
            yield _works(node, name, works, file)
            continue
        file.remember(key, True)
        if is_settled(name.partition(".")[0], file):
            continue
        told = _report(node, name, row, file)
        file.remember((*TOLD_OF, name.partition(".")[0]), told.severity)
        yield told


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level or node.module is None:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _own_module(name: str, file: PythonFile) -> bool:
    """Whether the project itself, or a folder that the file lies in, has a module of that name."""
    top = name.partition(".")[0]
    modules = file.project.modules
    if top in modules or file.source.module.partition(".")[0] == top:
        return True
    parts = name.split(".")
    if any(".".join(parts[:length]) in modules for length in range(2, len(parts) + 1)):
        return True  # a file in a folder without __init__.py
    folders = file.source.module.split(".")[:-1]
    return any(".".join([*folders[:length], top]) in modules for length in range(len(folders), 0, -1))


def _is_built_here(name: str, file: PythonFile) -> bool:
    """Whether the project builds an extension of that name: its code is told operator by operator (NPU630)."""
    top = name.partition(".")[0]
    for script in file.project.files_with(b"cpp_extension"):
        with contextlib.suppress(OSError):
            data = file.project.read(script)
            if top.encode() in data and any(f"{name}.".startswith(f"{one.module}.") for one in _named(script, data)):
                return True
    return False


def _named(script: str, data: bytes) -> list[Build]:
    return [one for one in builds_in(script, data) if one.module]


def _works(node: ast.AST, name: str, row: MemberFact, file: PythonFile) -> Diagnostic:
    return file.report(
        node,
        row.message,
        severity=Severity.INFO,
        evidence=row.evidence,
        source=row.source,
        subject=name,
        advice=row.advice,
    )


def _report(node: ast.stmt | ast.expr, name: str, row: PackageFact, file: PythonFile) -> Diagnostic:
    top = name.partition(".")[0]
    severity, message = row.severity, row.message
    if row.status == "native" or row.severity is Severity.INFO:
        severity = Severity.INFO
    elif top in _NVML and (
        (has_fallback(node, file) and chooses_platform(node, file))
        or any(chooses_platform(start, file) for start in guarded_starts(file))
    ):
        severity = Severity.WARNING
        message = phrase("{message} Where it fails, this code chooses as on a machine without a GPU.", message=message)
    elif has_fallback(node, file) or asks_whether_there(node, file):
        severity, message = Severity.INFO, phrase("{message} The code works without it.", message=message)
    elif (may_not_run(node, file) and not surely_runs(node, file)) or (
        top == "pynvml" and (only_started(file) or guarded_starts(file))
    ):
        severity = Severity.WARNING
    advice = (
        row.advice
        if not row.since
        else phrase("{advice} First version with support: {since}.", advice=row.advice, since=row.since)
    )
    return file.report(
        node, message, severity=severity, evidence=row.evidence, source=row.source, subject=name, advice=advice
    )
