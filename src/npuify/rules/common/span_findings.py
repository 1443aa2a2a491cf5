"""Findings of rules that are not asked node by node: they look at a file as a whole, and say themselves where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Finding, Position

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.registry import Rule
    from npuify.source.python import PythonSource


def span_finding(
    rule: Rule,
    source: PythonSource,
    span: tuple[int, int],
    message: str,
    *,
    subject: str,
    advice: str = "",
    edits: tuple[Edit, ...] = (),
) -> Finding:
    """A finding of ``rule``, with its severity, safety and source.

    Args:
        rule: the rule.
        source: the file.
        span: where it is: offsets of its first byte and of the one behind it.
        message, subject, advice, edits: those of the finding.
    """
    start, end = span
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        safety=rule.safety,
        file=source.relative,
        start=Position(*source.text.position(start)),
        end=Position(*source.text.position(end)),
        message=phrase(message),
        evidence=rule.evidence,
        source=rule.source,
        subject=subject,
        advice=phrase(advice),
        edits=edits,
    )
