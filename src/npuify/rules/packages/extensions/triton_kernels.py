"""Triton kernels, judged for triton-ascend."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.third_party.kernels import triton_facts
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.third_party.kernels import TritonFact
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GRID = (
    "a grid may have at most 65535 programs where TRITON_ALL_BLOCKS_PARALLEL is not 1, and a program 192 KB of "
    "tensors, or 96 KB with double buffering"
)
_SEVERITY = {
    "unsupported": Severity.ERROR,
    "limited": Severity.WARNING,
    "ignored": Severity.INFO,
    "runtime": Severity.ERROR,
}
_FAMILIES = ("triton.language.float8", "triton.language.uint", "triton.language.extra.cuda", "triton.experimental")
"""Names that begin so are all meant by one row."""


@rule(
    "NPU640",
    "triton-kernel",
    Safety.MANUAL,
    Severity.INFO,
    words=("triton.jit",),
    evidence=Evidence.DOCUMENTED,
    source="triton-ascend, docs/en/migration_guide",
)
def triton_kernel(node: ast.FunctionDef, file: PythonFile) -> Iterator[Diagnostic]:
    """A Triton kernel; triton-ascend compiles most of them for Ascend 910B and later.

    The finding lists features of the kernel that triton-ascend lacks or implements differently; the device of its
    tensors is migrated like any other. Only triton-ascend itself can tell whether it compiles and how fast it is.
    """
    if not any(_is_jit(decorator, file) for decorator in node.decorator_list):
        return
    file.source.visit(range(node.lineno, (node.end_lineno or node.lineno) + 1), lambda _: None)
    found: dict[str, TritonFact] = {}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Attribute, ast.Name)) and getattr(file.parent(inner), "attr", "") != "libdevice":
            fact = _fact(file.qualname(inner) or "")
            if fact is not None and _matters(inner, fact, node, file):
                found.setdefault(fact.name, fact)
    hard = [fact for fact in found.values() if fact.level in ("unsupported", "runtime")]
    soft = [fact for fact in found.values() if fact not in hard]
    if hard:
        message = phrase(
            "the Triton kernel {name} uses features that triton-ascend lacks: {names}",
            name=node.name,
            names=_names(hard),
        )
    elif soft:
        message = phrase(
            "the Triton kernel {name} uses features that triton-ascend limits: {names}",
            name=node.name,
            names=_names(soft),
        )
    else:
        message = phrase("the Triton kernel {name} uses no feature that triton-ascend is known to lack", name=node.name)
    facts = [*hard, *soft]
    advice = " ".join(f"{_short(fact)}: {fact.message} {fact.advice}" for fact in facts[:4])
    yield file.report(
        node,
        message,
        severity=Severity.ERROR if hard else Severity.WARNING if soft else Severity.INFO,
        subject=node.name,
        evidence=facts[0].evidence if facts else None,
        source=phrase("triton-ascend, {source}", source=facts[0].source) if facts else None,
        advice=advice or phrase("install triton-ascend instead of triton (Ascend 910B and later); {GRID}", GRID=_GRID),
    )


def _is_jit(decorator: ast.expr, file: PythonFile) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return file.qualname(function) in ("triton.jit", "triton.runtime.jit.jit")


def _matters(use: ast.AST, fact: TritonFact, kernel: ast.FunctionDef, file: PythonFile) -> bool:
    """Whether a limit reaches this use: those of atomics are about loops, or about the value that comes back."""
    if ".atomic_" not in fact.name:
        return True
    call = file.parent(use)
    if fact.name.endswith("atomic_add"):
        return not isinstance(file.parent(call) if call is not None else None, ast.Expr)
    for up in file.ancestors(use):
        if up is kernel:
            return False
        if isinstance(up, (ast.For, ast.While)):
            return True
    return False


def _fact(name: str) -> TritonFact | None:
    """The row of a name: its own, or that of the family that it belongs to (``float8e4nv`` is a ``float8``)."""
    if not name.startswith("triton.") or ".libdevice." in f"{name}.":
        return None  # NPU645 tells of the device library, function by function
    facts = triton_facts()
    if name in facts:
        return facts[name]
    return next((facts[family] for family in _FAMILIES if name.startswith(family)), None)


def _names(facts: list[TritonFact]) -> str:
    return ", ".join(_short(fact) for fact in facts)


def _short(fact: TritonFact) -> str:
    return fact.name.replace("triton.language.", "tl.")


@rule(
    "NPU641",
    "triton-runtime-of-gpu",
    Safety.MANUAL,
    words=("get_active_torch_device", "driver.active"),
    names=("triton.runtime.driver",),
    evidence=Evidence.DOCUMENTED,
    source="triton-ascend, docs/en/migration_guide",
)
def triton_runtime_of_gpu(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """The program queries Triton's driver for the GPU or its properties; the NPU's driver answers differently, or not
    at all."""
    name = file.qualname(node) or ""
    fact = triton_facts().get(name)
    if fact is None:
        return
    yield file.report(
        node,
        phrase("{name}: {message}", name=name, message=fact.message),
        severity=_SEVERITY[fact.level],
        subject=name,
        evidence=fact.evidence,
        source=f"triton-ascend, {fact.source}",
        advice=fact.advice,
    )


@rule(
    "NPU642",
    "triton-warps",
    Safety.MANUAL,
    Severity.INFO,
    words=("num_warps", "maxnreg"),
    common_words=True,
    names=("triton.Config", "triton.runtime.autotuner.Config"),
    evidence=Evidence.PACKAGE,
    source="triton-ascend 3.2.0: backends/ascend/compiler.py",
)
def triton_warps(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An NPU has no warps: tuning configurations that differ only in num_warps is wasted effort.

    With ``maxnreg`` in a configuration triton-ascend raises KeyError.
    """
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    limit = given.get("maxnreg")
    if limit is not None and not (isinstance(limit, ast.Constant) and limit.value is None):
        # What a name stands for may be None, which is not handed on.
        known = isinstance(limit, ast.Constant)
        yield _argument(node, "maxnreg", file, Severity.ERROR if known else Severity.WARNING)
    if "num_warps" in given and not file.recall("triton-warps"):
        file.remember("triton-warps", True)
        yield _argument(node, "num_warps", file, Severity.INFO)


def _argument(node: ast.Call, name: str, file: PythonFile, severity: Severity) -> Diagnostic:
    fact = triton_facts()[f"argument:{name}"]
    return file.report(
        node,
        fact.message,
        severity=severity,
        subject=name,
        evidence=fact.evidence,
        source=fact.source,
        advice=fact.advice,
    )
