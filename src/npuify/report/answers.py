"""Answers to questions about rules, names and releases, as text or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.analysis.explained.rows import render
from npuify.knowledge.release.versions import cann_in_words
from npuify.language import commas, mark, padded, phrase, told, told_lines, width_of
from npuify.report.evidence import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.analysis.explained.rows import Row
    from npuify.knowledge import ReleaseInfo
    from npuify.model import Explanation, RuleInfo


_KINDS: Final = (
    mark("rule"),
    mark("cuda name"),
    mark("npu name"),
    mark("removed name"),
    mark("function"),
    mark("layer"),
    mark("operator"),
    mark("operator of CANN"),
    mark("environment variable"),
    mark("package"),
    mark("stack"),
    mark("framework"),
    mark("program"),
    mark("chip"),
    mark("option"),
    mark("vLLM option"),
    mark("set of versions"),
    mark("error code"),
    mark("failure"),
    mark("cause of failures"),
    mark("message"),
    mark("TensorFlow name"),
    mark("TensorFlow adapter name"),
    mark("TensorFlow adapter option"),
    mark("finding of npuify distribute"),
    mark("replaced kernels"),
)
"""What can be explained."""
_STATES: Final = (mark("same"), mark("changed"), mark("missing"), mark("safe"), mark("manual"))


def render_explanation(answer: Explanation, format: str) -> str:
    """The answer of ``npuify explain``."""
    if format == "json":
        return _json(answer)
    lines = [phrase("{title} ({kind})", title=answer.title, kind=phrase(answer.kind)), ""]
    lines += [f"  {_plain(line)}".rstrip() for line in told_lines("\n".join(answer.text)).split("\n")]
    if answer.releases:
        rows = [("torch_npu", phrase("name"), "")] + [
            (row.torch_npu, row.name or "-", told(row.note)) for row in answer.releases
        ]
        lines += ["", *_table(rows)] if answer.text else _table(rows)
    lines += [
        "",
        "  " + phrase("Known: {evidence}, {how}.", evidence=answer.evidence.value, how=KNOWN[answer.evidence]),
    ]
    if answer.source:
        lines.append("  " + phrase("Source: {source}", source=answer.source))
    return "\n".join(lines) + "\n"


def render_place(rows: Sequence[Row], format: str) -> str:
    """The answer of ``npuify explain FILE:LINE``."""
    if format != "json":
        return render(rows)
    return _json(
        [
            row._asdict()
            | {"values": [one._asdict() for one in row.values], "uses": [one._asdict() for one in row.uses]}
            for row in rows
        ]
    )


def render_rules(rules: Sequence[RuleInfo], format: str) -> str:
    """The list of ``npuify rules``."""
    if format == "json":
        return _json(rules)
    rows = [(phrase("code"), phrase("name"), phrase("edits"), phrase("severity"), "")]
    rows += [
        (rule.code, rule.name, phrase(rule.safety.value), phrase(rule.severity.value), _plain(told(rule.summary)))
        for rule in rules
    ]
    return "\n".join(_table(rows)) + "\n"


def render_releases(releases: Sequence[ReleaseInfo], format: str) -> str:
    """The list of ``npuify knowledge list``."""
    if format == "json":
        return _json(releases)
    rows = [("torch_npu", "torch", "CANN", "Python", phrase("names known"))]
    rows += [
        (
            one.torch_npu,
            one.torch,
            cann_in_words(one.torch_npu, one.cann) or "-",
            _range(one.pythons),
            phrase("yes") if one.has_table else phrase("no"),
        )
        for one in releases
    ]
    return "\n".join(_table(rows)) + "\n"


_FIELDS: Final = (
    *(mark("torch npu wheel"), mark("torch npu sha256"), mark("torch wheel"), mark("torch sha256")),
    *(mark("live wheel"), mark("live sha256"), mark("npu names"), mark("cuda names"), mark("cuda names by status")),
    *(mark("evidence"), mark("source"), mark("generator"), mark("pythons"), mark("cann")),
    *(mark("operators on cpu"), mark("custom operators"), mark("transfer patches"), mark("renamed")),
)
"""Names of fields in words, as :func:`render_release` shows them."""


def render_release(summary: msgspec.Struct, format: str) -> str:
    """What ``npuify knowledge show`` says of one release: a line for each field of ``summary``."""
    if format == "json":
        return _json(summary)
    fields: dict[str, Any] = msgspec.to_builtins(summary)
    rows = []
    for key, value in fields.items():
        told = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        if isinstance(value, dict):
            told = commas(f"{phrase(name)} {item}" for name, item in value.items())
        told = phrase(told) if key == "source" else told
        rows.append((phrase(key.replace("_", " ")) if key not in {"torch_npu"} else key, told))
    return "\n".join(_table(rows)) + "\n"


def _plain(text: str) -> str:
    """``text`` without the marks that documentation has around code."""
    return text.replace("``", "")


def _json(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2) + "\n"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """``rows`` in columns as wide as their widest cell; the last column as it is."""
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  "
        + "  ".join([*(padded(cell, width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]]).rstrip()
        for row in rows
    ]


def _range(pythons: Sequence[str]) -> str:
    return (
        pythons[0]
        if len(pythons) == 1
        else phrase("{first} to {last}", first=pythons[0], last=pythons[-1])
        if pythons
        else "-"
    )
