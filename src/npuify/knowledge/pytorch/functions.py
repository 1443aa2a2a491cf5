"""Functions and layers of PyTorch by the operators that they lead to: which of them a release has no kernel for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from npuify.knowledge.hand_written import DATA
from npuify.knowledge.release.table import load
from npuify.knowledge.release.versions import releases
from npuify.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.knowledge.release.table import ReleaseTable


class Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``functions.json``, which ``tools/function_operators.py`` writes."""

    itself: str
    """Its own ATen operator; empty: a layer."""
    calls: tuple[tuple[str, ...], ...]
    """For each way to call it, the operators reached that some shipped release has no kernel for."""
    lacked: bool = False
    """Whether some shipped release lacks a kernel in every way to call it."""


class Lack(msgspec.Struct, frozen=True):
    """What a release has no kernel for."""

    operator: str
    always: bool
    """False: only in some ways to call the function."""
    evidence: Evidence


LEADS_TO = {
    "logcumsumexp": "_logcumsumexp",
    "mvlgamma": "lgamma",
    "cholesky_solve": "_cholesky_solve_helper",
}
"""Operators that torch makes of another one inside a form of its own, so that only that one counts."""


@cache
def functions() -> Mapping[str, Function]:
    """Every function, method (``torch.Tensor.lcm``) and layer (``torch.nn.HuberLoss``) that was tried, by name."""
    return msgspec.json.decode((DATA / "functions.json").read_bytes(), type=dict[str, Function])


def lack_of(name: str, table: ReleaseTable) -> Lack | None:
    """The operator behind ``name`` that the release has no kernel for; None: it has all, or the name was not tried.

    The imported package is the better source. Where it was not asked, an operator counts as lacking if the wheel does
    not list it, and it is none that the next newer release that was asked makes of others; a wheel lists all its
    kernels, as those that were asked show.
    """
    known = functions().get(name)
    return lack_in(known, name, table) if known is not None else None


def lack_in(known: Function, name: str, table: ReleaseTable) -> Lack | None:
    """The same of a row at hand."""
    seen = table.hardware.refuted(f"calls/{name}")
    if seen is not None and isinstance(seen.fact.seen, list):
        return Lack(str(seen.fact.seen[0]), True, Evidence.HARDWARE) if seen.fact.seen else None
    own = {known.itself, name.rpartition(".")[2].rstrip("_") if name.count(".") == 1 else ""}
    if own & table.operators.keys():
        return None
    lacking = [next((o for o in operators if _falls_back(o, table)), None) for operators in known.calls]
    found = [operator for operator in lacking if operator is not None]
    if not found:
        return None
    evidence = Evidence.LIVE if table.live is not None else Evidence.PACKAGE
    return Lack(found[0].partition(".")[0], len(found) == len(lacking), evidence)


def _falls_back(operator: str, table: ReleaseTable) -> bool:
    name, _, overload = operator.partition(".")
    name = LEADS_TO.get(name, name)
    if table.live is not None:
        return _how(name, overload, table) == "fallback"
    newer = next((asked for asked in _asked() if Version(asked.torch_npu) >= Version(table.torch_npu)), None)
    return name not in table.operators and newer is not None and _how(name, overload, newer) in ("fallback", "kernel")


def _how(name: str, overload: str, table: ReleaseTable) -> str:
    """What serves an operator. One that has no kernel in any form, and falls back in one, does so in all: torch makes
    the others of that one."""
    support = table.operator_support.get(name, {})
    how = support.get(overload, "")
    if how != "kernel" and "fallback" in support.values() and "kernel" not in support.values():
        return "fallback"
    return how


@cache
def _asked() -> tuple[ReleaseTable, ...]:
    tables = [load(info.torch_npu) for info in releases() if info.has_table]
    return tuple(sorted((t for t in tables if t.live is not None), key=lambda t: Version(t.torch_npu)))


@cache
def without_kernel() -> frozenset[str]:
    """Names that may lack a kernel on some release: what a search for them looks for."""
    return frozenset(name for name, known in functions().items() if known.lacked)
