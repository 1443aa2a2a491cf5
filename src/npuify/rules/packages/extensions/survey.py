"""A finding for each operator of the project's own C++ and CUDA code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase, plural
from npuify.model import Evidence, Finding, Position, Safety, Severity
from npuify.rules.packages.extensions.inline_code import DIFFICULTIES
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import NativeOperator


def _either(ways: Sequence[str]) -> str:
    """Ways of which one has to be gone."""
    text = phrase(ways[0]) if ways else ""
    for way in ways[1:]:
        text = phrase("{ways}; or {way}", ways=text, way=way)
    return text


def _documentation(node: object, file: object) -> Iterator[object]:
    """A function of the project's own CUDA code, exposed to Python by pybind11 or TORCH_LIBRARY.

    The finding lists the kernels behind it, what makes them hard to port, where Python calls it, and the ways to run it
    on an NPU, least work first: an equivalent in torch or torch_npu, the project's CPU implementation, triton-ascend,
    Ascend C. It is an error if the project's Python code calls it. The code is read, never compiled: output of macros
    or generators is not seen.
    """
    raise NotImplementedError("operators are determined for the whole project")


RULE = list_rule(
    Rule(
        "NPU630",
        "cuda-operator",
        Safety.MANUAL,
        Severity.ERROR,
        Evidence.ASSUMED,
        "the project's C++ and CUDA code, read without compiling",
        (),
        (),
        _documentation,
    )
)


_NOT_CALLED: Final = "no Python code of the project was found to call it"
_MODULE_UNKNOWN: Final = "the name under which Python loads it is unknown, so its calls were not searched for"


def findings_of(operators: Sequence[NativeOperator]) -> list[Finding]:
    """A finding for each operator that runs on a GPU."""
    return [_finding(one) for one in operators if one.difficulty != "host"]


def _finding(one: NativeOperator) -> Finding:
    name = f"{one.module}.{one.name}" if one.module else one.name
    kernels = plural("{count} kernel", "{count} kernels", len(one.kernels)) if one.kernels else "CUDA code"
    uses = phrase(" ({uses})", uses=commas(one.uses)) if one.uses else ""
    called = (
        phrase("; called in {calls}", calls=one.calls[0])
        if one.calls
        else phrase("; {why}", why=_NOT_CALLED if one.module else _MODULE_UNKNOWN)
    )
    if len(one.calls) > 1:
        called += phrase(" and {value} more places", value=len(one.calls) - 1)
    may_be_called = one.calls or not one.module
    severity = Severity.INFO if one.has_npu or not may_be_called else Severity.ERROR if one.calls else Severity.WARNING
    return Finding(
        code=RULE.code,
        name=RULE.name,
        severity=severity,
        safety=Safety.MANUAL,
        file=one.file,
        start=Position(one.line, 1),
        end=Position(one.line, 1),
        message=phrase(
            "{name} is {kernels} for NVIDIA GPUs: {DIFFICULTIES}{uses}{called}",
            name=name,
            kernels=kernels,
            DIFFICULTIES=DIFFICULTIES[one.difficulty],
            uses=uses,
            called=called,
        ),
        evidence=RULE.evidence,
        source=RULE.source,
        subject=name,
        advice=_either(one.ways[:3]),
    )
