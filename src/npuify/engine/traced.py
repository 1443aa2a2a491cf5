"""What a trace of ``npuify run`` proves about findings, and the traced places that no rule treats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from npuify.language import phrase
from npuify.model import Evidence, Finding, Position, Safety, Severity
from npuify.project.traced import TracedPlace
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.model import Change
    from npuify.project.traced import Trace

_MOVED = ("torch.Tensor.cuda", "torch.nn.Module.cuda")
_PROVES = {"NPU110": _MOVED, "NPU111": ("torch.Tensor.is_cuda",)}
"""Rule → what was called on the object, if it is one of torch's, whose type the text does not tell."""
_STRINGS = ("NPU120", "NPU301")
"""Rules about words that are devices or backends, if torch took them as such."""
_START = TracedPlace(1, 1, "sys.argv", "", "", "exact", 1)
_WORD = re.compile(r"cuda|nccl", re.IGNORECASE)


def proven(
    findings: Iterable[Finding], places: Iterable[TracedPlace], line_of: Callable[[Finding], int]
) -> list[Finding]:
    """``findings``, with those safe of which the program was seen to do what their edit supposes.

    Args:
        findings: of one file, at any state of it.
        places: what was seen in that file.
        line_of: the line of a finding in the file as it was when it ran.
    """
    seen = list(places)
    if not seen:
        return list(findings)
    return [
        msgspec.structs.replace(finding, safety=Safety.SAFE)
        if finding.safety is Safety.REVIEW and finding.edits and _is_proven(finding, seen, line_of(finding))
        else finding
        for finding in findings
    ]


def _is_proven(finding: Finding, places: list[TracedPlace], line: int) -> bool:
    here = [place for place in places if place.line <= line <= place.end_line]
    if finding.code in _PROVES:
        return any(place.call in _PROVES[finding.code] for place in here)
    if finding.code in _STRINGS:
        word = finding.edits[0].before
        return any(
            re.search(rf"'{re.escape(word)}\b", place.arguments) and place.text.count(word) == 1 for place in here
        )
    return False


def left_over(trace: Trace, changes: Iterable[Change], findings: Iterable[Finding]) -> Iterator[Finding]:
    """The traced places at which nothing was changed, and of which no finding speaks.

    A line without any of CUDA's words got the device from elsewhere, and is no place to change.

    Args:
        trace: what was seen.
        changes: those that were made, with lines of the original.
        findings: those of the original.
    """
    treated: dict[str, list[tuple[int, int]]] = {}
    for change in changes:
        treated.setdefault(change.file, []).append((change.start.line, change.end.line))
    for finding in findings:
        treated.setdefault(finding.file, []).append((finding.start.line, finding.end.line))
    for file, places in trace.places.items():
        told: set[int] = set()
        for place in places:
            spans = treated.get(file, [])
            if any(first <= place.end_line and place.line <= last for first, last in spans) or place.line in told:
                continue
            if not _WORD.search(place.text) and place.status == "exact":
                continue
            told.add(place.line)
            yield _finding(file, place)

    for file, arguments in trace.started:
        yield msgspec.structs.replace(
            _finding(file, _START),
            message=phrase("the program was started with {arguments}", arguments=arguments),
            advice=phrase("start the migrated program with npu instead of cuda, and hccl instead of nccl"),
        )


def _finding(file: str, place: TracedPlace) -> Finding:
    became = phrase(" became {name}", name=place.became) if place.became else phrase(" has no counterpart")
    column = (place.column or 0) + 1
    return Finding(
        code=RULE.code,
        name=RULE.name,
        severity=RULE.severity,
        safety=RULE.safety,
        file=file,
        start=Position(place.line, column),
        end=Position(place.end_line, column),
        message=phrase(
            "under npuify run, {call}{arguments}{became} ({status}); no rule changes this line",
            call=place.call,
            arguments=place.arguments,
            became=became,
            status=place.status,
        ),
        evidence=RULE.evidence,
        source=RULE.source,
        subject=place.call,
        advice=phrase("write what it became, or keep starting this program with npuify run"),
    )


def _documentation(node: object, file: object) -> Iterator[object]:
    """npuify run changed a call on a line that no rule changes; reported with --from-trace only."""
    raise NotImplementedError("traced places are told by left_over")


RULE = list_rule(
    Rule(
        "NPU128",
        "traced-call-left",
        Safety.MANUAL,
        Severity.WARNING,
        Evidence.REPORTED,
        "the trace of npuify run",
        (),
        (),
        _documentation,
    )
)
"""Listed with the rules; what it finds comes from :func:`left_over`."""
