"""Environment variables that Python code sets or reads."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Safety, Severity
from npuify.rules.base import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge import EnvironmentFact
    from npuify.model import Finding
    from npuify.rules.context import PythonFile

_ENVIRON_METHODS = ("get", "pop", "setdefault", "setenv", "delenv", "putenv", "getenv", "unsetenv")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{3,}")
_WORDS = ("cuda_", "nccl_", "nvidia_", "cublas_", "cudnn_", "_cuda", "nvte_", "torch_allow_tf32")


@rule("NPU701", "cuda-environment-variable", Safety.SAFE, Severity.WARNING, words=_WORDS)
def cuda_environment_variable(node: ast.Constant, file: PythonFile) -> Iterator[Finding]:
    """Code sets or reads an environment variable that CUDA or NCCL knows and Ascend does not.

    A variable whose values mean the same is renamed. One whose values have to be translated, or that has no
    counterpart, is left for a person, with what to do.

    Before::

        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        blocking = os.getenv("CUDA_LAUNCH_BLOCKING", "0")

    After::

        import os
        os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
        blocking = os.getenv("ASCEND_LAUNCH_BLOCKING", "0")
    """
    name = node.value
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        return
    from npuify.knowledge import environment

    fact = environment().get(name)
    if fact is None or fact.action == "keep":
        return
    parent = file.parent(node)
    value, known = _context(node, parent, file)
    if isinstance(parent, ast.Expr):
        return
    if fact.action == "rename" and fact.npu is not None:
        edit = file.edit(file.source.start(node), file.source.end(node), file.code(node).replace(name, fact.npu))
        problem = _value_problem(name, value, fact)
        if file.code(node).count(name) != 1:
            return
        yield file.report(
            node,
            f"{name} is {fact.npu} on Ascend" + (f"; {problem}" if problem else ""),
            edits=[edit] if not problem else (),
            safety=Safety.SAFE if known else Safety.REVIEW,
            subject=name,
            evidence=fact.evidence,
            source=fact.source,
            advice=fact.message if problem or not known else "",
        )
        return
    yield file.report(
        node,
        f"{name} has no effect on Ascend"
        if fact.action == "drop"
        else f"{name}: {fact.npu or 'no counterpart'} on Ascend",
        severity=Severity.INFO if fact.action == "drop" else Severity.WARNING,
        subject=name,
        evidence=fact.evidence,
        source=fact.source,
        advice=fact.message,
    )


def _context(node: ast.Constant, parent: ast.AST | None, file: PythonFile) -> tuple[ast.expr | None, bool]:
    """The value that the variable is given, where it is, and whether this is surely an access to the environment."""
    if isinstance(parent, ast.Subscript):
        base = file.qualname(parent.value) or ""
        known = base == "os.environ" or file.code(parent.value).endswith(("environ", "env", "ENV"))
        statement = file.parent(parent)
        value = statement.value if isinstance(statement, ast.Assign) and parent in statement.targets else None
        return value, known
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
        word = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        name = file.qualname(parent.func) or ""
        known = name.startswith(("os.environ", "os.getenv", "os.putenv", "os.unsetenv")) or (
            word in _ENVIRON_METHODS and "env" in file.code(parent.func)
        )
        sets = word in ("setdefault", "setenv", "putenv")
        return (parent.args[1] if sets and len(parent.args) > 1 else None), known
    if isinstance(parent, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in parent.ops):
        return None, any("environ" in file.code(side) for side in parent.comparators)
    if isinstance(parent, ast.Dict) and node in parent.keys:
        value = parent.values[parent.keys.index(node)]
        return value, "env" in file.code(file.parent(parent) or parent)[:200].lower()
    return None, False


_VISIBLE = re.compile(r"\d+(?:,\d+)*")
_ALLOCATOR_KEYS = (
    "max_split_size_mb",
    "garbage_collection_threshold",
    "expandable_segments",
    "roundup_power2_divisions",
)


def _value_problem(name: str, value: ast.expr | None, fact: EnvironmentFact) -> str:
    """Why a value that the code sets does not mean the same on Ascend; empty where it does, or is not known here."""
    if value is None:
        return ""
    literal = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    if name == "CUDA_VISIBLE_DEVICES":
        if literal is None:
            return ""
        if literal == "":
            return ""
        if not _VISIBLE.fullmatch(literal):
            return f"the value {literal!r} has another form there"
        numbers = [int(part) for part in literal.split(",")]
        return "" if numbers == sorted(set(numbers)) else "device numbers must ascend there"
    if name.endswith("ALLOC_CONF"):
        if literal is None:
            return ""
        keys = [part.partition(":")[0].strip() for part in literal.split(",")]
        wrong = [key for key in keys if key not in _ALLOCATOR_KEYS]
        return f"the key {wrong[0]} is not known there" if wrong else ""
    return (
        "its values have to be translated" if fact.values and literal is not None and not _same(literal, fact) else ""
    )


def _same(literal: str, fact: EnvironmentFact) -> bool:
    """Whether the fact's own text says that this very value stays as it is."""
    return any(token in fact.values for token in (f"{literal}->{literal}", f"{literal} stays", "unchanged"))
