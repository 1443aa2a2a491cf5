"""Collectives by type and reduction, on one card and on several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check
from npuify.selftest.inside.questions.collectives import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

RANKS = (1, 2, 4, 8)
_TYPES = ("float32", "float16", "bfloat16", "int8", "int32", "int64", "float64")
_OPERATIONS = ("SUM", "MAX", "MIN", "PRODUCT", "AVG")
_QUICK = ("all_reduce float32", "all_reduce float64 SUM")
_SOURCE = "Ascend/pytorch, torch_npu/csrc/distributed/ProcessGroupHCCL.cpp"
_SHARED = "hicann/hccl docs/zh/user_guide/constraints.md"
_OWN_PORTS = {"HCCL_HOST_SOCKET_PORT_RANGE": "auto", "HCCL_NPU_SOCKET_PORT_RANGE": "auto"}
"""Without them, the processes that share a card want the same ports."""


def checks(table: ReleaseTable) -> Iterator[Check]:
    """A check for each type with each reduction, each other collective, and data-parallel training."""
    for ranks in RANKS:
        for dtype in _TYPES:
            for operation in _OPERATIONS:
                if operation == "AVG" and dtype.startswith("int"):
                    continue  # what becomes of the remainder is said nowhere
                if ranks > 2 and (dtype not in ("float32", "float64") or operation != "SUM"):
                    continue  # the same kernels over more links
                yield _check(
                    " ".join(("all_reduce", dtype, operation, "on", str(ranks))),
                    phrase("an all-reduce of {dtype} ({operation}) does what it says", dtype=dtype, operation=operation)
                    if dtype != "float64"
                    else phrase("HCCL refuses to reduce float64 ({operation})", operation=operation),
                    "reduced",
                    {"dtype": dtype, "operation": operation, "ranks": ranks},
                    "raises RuntimeError" if dtype == "float64" else [_result(operation, ranks)] * 4,
                    ranks,
                )
        for kind in KINDS if ranks in (2, 4) else ():
            yield _check(
                f"{kind} on {ranks}",
                phrase("the collective {kind} does what it says", kind=kind),
                "moved",
                {"kind": kind, "ranks": ranks},
                _after(kind, ranks),
                ranks,
            )
        if ranks > 1:
            yield _check(
                f"training on {ranks}",
                phrase("DistributedDataParallel trains to the weights of one process"),
                "trains",
                {"ranks": ranks},
                True,
                ranks,
            )
    yield from _shared()


def _shared() -> Iterator[Check]:
    """Two ranks a card, and two jobs on the same cards."""
    for cards in (1, 2):
        ranks = 2 * cards
        for dtype, operation in (("float32", "SUM"), ("float32", "MAX"), ("float16", "SUM"), ("int32", "SUM")):
            yield _check(
                " ".join(("all_reduce", dtype, operation, "shared", "on", str(cards))),
                phrase("an all-reduce of {dtype} ({operation}) does what it says", dtype=dtype, operation=operation),
                "reduced",
                {"dtype": dtype, "operation": operation, "ranks": ranks, "per_card": 2},
                [_result(operation, ranks)] * 4,
                cards,
                evidence=Evidence.ASSUMED,
            )
        yield _check(
            " ".join(("broadcast", "shared", "on", str(cards))),
            phrase("the collective {kind} does what it says", kind="broadcast"),
            "moved",
            {"kind": "broadcast", "ranks": ranks, "per_card": 2},
            _after("broadcast", ranks),
            cards,
            evidence=Evidence.ASSUMED,
        )
        yield _check(
            " ".join(("jobs", "on", str(cards))),
            phrase("two jobs can share cards, where each has ports of its own"),
            "reduced",
            {"dtype": "float32", "operation": "SUM", "ranks": cards, "jobs": 2},
            [_result("SUM", cards)] * 4,
            cards,
            evidence=Evidence.DOCUMENTED,
        )


def _check(
    name: str,
    claim: str,
    function: str,
    arguments: dict[str, object],
    expected: object,
    cards: int,
    *,
    evidence: Evidence = Evidence.PACKAGE,
) -> Check:
    shared = evidence is not Evidence.PACKAGE
    return Check(
        id=f"collectives/{name}",
        claim=claim,
        subject="NPU327" if "float64" in name else "hccl",
        evidence=evidence,
        source=_SHARED if shared else _SOURCE,
        function=f"collectives:{function}",
        arguments=arguments,
        expected=expected,
        cards=cards,
        alone=True,
        environment=_OWN_PORTS if shared else {},
        seconds=180,
        quick=cards == 2 and not shared and (function == "trains" or name.startswith(_QUICK)),
    )


def _result(operation: str, ranks: int) -> float:
    given = [float(rank + 1) for rank in range(ranks)]
    match operation:
        case "SUM":
            return sum(given)
        case "AVG":
            return sum(given) / ranks
        case "PRODUCT":
            return math.prod(given)
        case "MAX":
            return max(given)
        case _:
            return min(given)


def _after(kind: str, ranks: int) -> list[float]:
    last = ranks - 1
    match kind:
        case "broadcast" | "send and receive":
            return [0.0, 0.5]
        case "all_gather" | "all_gather_into_tensor":
            return [value for rank in range(ranks) for value in (float(rank), rank + 0.5)]
        case "reduce_scatter_tensor":
            times = sum(range(1, ranks + 1))
            return [float(times * 2 * last), float(times * (2 * last + 1))]
        case "all_to_all_single":
            return [float(last + 10 * rank) for rank in range(ranks)]
        case "gather of objects":
            return list(range(ranks))
        case _:
            return [float(last), last + 0.5]
