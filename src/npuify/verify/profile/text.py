"""A report on a profile as text, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.html.escape import shortened
from npuify.language import mark, padded, phrase, plural, told
from npuify.report import printable
from npuify.report.in_language import as_json
from npuify.report.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Operator, ProfileReport

_SHOWN = 10


def schema() -> str:
    """The JSON Schema of ``npuify verify profile --format json``."""
    from .model import VERSION, ProfileReport

    return schema_of(ProfileReport, "verify-profile", VERSION, "What npuify verify profile reports about a profile")


def render_text(report: ProfileReport) -> str:
    """The report for a person: what the step waits for, where the time goes, what to do."""
    lines = [f"  {told(one)}" if number else told(one) for number, one in enumerate(report.said)]
    lines += ["", f"{report.kind}, {report.path}" + (f", {report.rank}" if len(report.ranks) > 1 else "")]
    if report.step_time:
        lines += [f"{steps_in_words(report)}", *parts(report)]
    for title, rows in (
        (mark("Kernels"), report.operators),
        (mark("Communication"), report.communications),
        ("Operators on the host, self time", report.host_operators),
    ):
        if rows:
            lines += [
                "",
                "".join(
                    (
                        padded(phrase(title), 40),
                        padded(phrase("on"), 16, right=True),
                        padded(phrase("count"), 8, right=True),
                        padded(phrase("ms"), 11, right=True),
                        padded(phrase("share"), 8, right=True),
                    )
                ),
                *(_row(one) for one in rows[:_SHOWN]),
            ]
    if report.fallbacks:
        lines += ["", phrase("On the host's CPU")]
        lines += [
            f"  {one.name:38}{one.count:8d} x  "
            + (
                phrase("{value:.2f} ms, seen", value=one.time / 1000)
                if one.evidence == "seen"
                else phrase("expected from the release's table")
            )
            for one in report.fallbacks
        ]
    lines += ["", *_advice(report)]
    lines += [phrase("note: {note}", note=one) for one in report.notes]
    return printable("\n".join(lines) + "\n")


def steps_in_words(report: ProfileReport) -> str:
    """``step 12.34 ms (median of 9 of 10)``."""
    count = len(report.steps)
    used = count - 1 if count >= 3 else count
    of = (
        phrase("median of {used} of {count_}, the first left out", used=used, count_=count)
        if used < count
        else plural("{count} step", "{count} steps", count)
    )
    return phrase("step {value:.3f} ms ({of})", value=(report.step_time or 0) / 1000, of=of)


def parts(report: ProfileReport) -> Iterator[str]:
    """The shares of a step, those that are known."""
    for name, share in (
        (phrase("computing"), report.computing_share),
        (phrase("communication, exposed"), report.exposed_share),
        (phrase("idle, or copying"), report.idle_share),
        (phrase("waiting for data"), report.data_share),
    ):
        if share is not None:
            yield f"  {padded(name, 24)}{share:7.1%}"


def _row(one: Operator) -> str:
    return f"  {shortened(one.name, 38):38}{one.core:>16}{one.count:8d}{one.time / 1000:11.2f}{one.share:8.1%}"


def _advice(report: ProfileReport) -> Iterator[str]:
    if not report.advice:
        yield phrase("No advice from the tuning table applies to this profile.")
    for one in report.advice:
        yield f"{one.id} " + phrase("{topic}: {advice}", topic=phrase(one.topic), advice=one.advice)
        if one.caveat:
            yield "     " + phrase("but: {caveat}", caveat=one.caveat)
        yield phrase(
            "     seen: {seen}. threshold: {threshold}. known from: {source} ({value})",
            seen=one.seen,
            threshold=one.threshold,
            source=one.source,
            value=one.evidence.value,
        )
    if report.unjudged:
        names = ", ".join(f"{one.id} (lacks {', '.join(one.lacks)})" for one in report.unjudged)
        yield phrase("Not judged, since the profile lacks the data they need: {names}", names=names)


def render_json(report: ProfileReport) -> str:
    """The report as JSON; ``version`` says which form."""
    return printable(as_json(report))
