"""What the page is told of a review: plain data, with nothing in it that hides or moves what is read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.report.ledger import cleared_by_reason, counted_reason, in_words, ledger_of
from npuify.report.verdicts.verdict import hours, judge
from npuify.visible import file_name, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.report.verdicts.verdict import Blocker
    from npuify.review import Item, Review

_PLACES = 200
"""Places of one reason of the ledger that are listed."""
_NAMED = 5
"""Places of a blocker that are listed."""


def summary(review: Review) -> dict[str, Any]:
    """The verdict as it is with what was decided, and what the charts show."""
    result = review.result()
    verdict = judge(result)
    scan, estimate = result.scan, verdict.estimate
    before = judge(scan)
    return {
        "root": file_name(scan.root),
        "release": msgspec.to_builtins(scan.release),
        "tensorflow": scan.tensorflow,
        "style": scan.style,
        "files": scan.files_seen,
        "level": verdict.level.value,
        "title": verdict.title,
        "summary": visible(verdict.summary),
        "counts": {
            "migrated": verdict.migrated.count,
            "review": verdict.review.count,
            "manual": verdict.manual.count,
            "note": verdict.notes,
        },
        "before": {"title": before.title, "level": before.level.value},
        "blockers": _blockers(verdict.blockers),
        "deciding": _blockers(verdict.deciding),
        "programs": [
            {"file": file_name(one.file), "title": one.title, "level": one.level.value, "summary": visible(one.summary)}
            for one in verdict.programs
        ],
        "estimate": {
            "text": hours(estimate),
            "parts": [
                {"name": part.name, "low": part.low, "high": part.high, "basis": visible(part.basis)}
                for part in estimate.parts
            ],
        },
        "errors": [
            {"file": file_name(one.file), "line": one.line, "message": visible(one.message), "advice": one.advice}
            for one in scan.errors
        ],
        "changed": len(result.changed_files),
        "changes": len(result.changes),
        "left": len(result.left),
        "undo": review.can_undo,
        "redo": review.can_redo,
    }


def items(review: Review) -> dict[str, Any]:
    """Every item, with the files' names apart: as they are asked for by, and as they are shown."""
    found = review.items()
    files = sorted({item.file for item in found})
    index = {file: number for number, file in enumerate(files)}
    return {
        "files": [{"file": file, "shown": file_name(file)} for file in files],
        "items": [{**_item(item), "file": index[item.file]} for item in found],
        "areas": _counted((item.area, item.who) for item in found),
        "byfile": _counted((file_name(item.file), item.who) for item in found),
        "rules": dict(review.decisions.rules),
        "undo": review.can_undo,
        "redo": review.can_redo,
    }


def view(review: Review, file: str) -> dict[str, Any]:
    """A file before and after."""
    found = review.view(file)
    return {
        "file": file,
        "shown": file_name(file),
        "rows": found.rows,
        "why_not": found.why_not,
        "items": [_item(item) for item in found.items],
        "text": found.text,
        "by_hand": found.by_hand,
        "errors": [visible(error) for error in found.errors],
        "undo": review.can_undo,
        "redo": review.can_redo,
    }


def tree(review: Review) -> dict[str, Any]:
    """Each file, with what there is in it."""
    files = [
        {"file": name, "shown": file_name(name), "items": count, "changed": changed}
        for name, count, changed in review.tree()
    ]
    return {"files": files, "undo": review.can_undo, "redo": review.can_redo}


def ledger(review: Review) -> dict[str, Any]:
    """What was left alone, and why."""
    entries = review.result().scan.ledger
    return {
        "words": in_words(ledger_of(entries)),
        "undo": review.can_undo,
        "redo": review.can_redo,
        "reasons": [
            {
                "title": counted_reason(group.reason),
                "text": group.reason.text,
                "count": group.reason.count,
                "places": [
                    {
                        "file": one.file,
                        "shown": file_name(one.file),
                        "line": one.line,
                        "word": visible(one.word),
                        "because": visible(one.because),
                    }
                    for one in group.entries[:_PLACES]
                ],
            }
            for group in cleared_by_reason(entries)
        ],
    }


def _item(item: Item) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(item)
    for name in ("message", "advice", "subject", "before", "after", "source"):
        told[name] = visible(told[name])
    return told


def _blockers(kinds: Iterable[Blocker]) -> list[dict[str, Any]]:
    return [
        {
            "what": visible(one.what),
            "why": visible(one.why),
            "advice": visible(one.advice),
            "places": [f"{file_name(place.file)}:{place.line}" for place in one.places[:_NAMED]],
            "more": max(len(one.places) - _NAMED, 0),
        }
        for one in kinds
    ]


def _counted(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    groups: dict[str, Counter[str]] = {}
    for label, who in pairs:
        groups.setdefault(label, Counter())[who] += 1
    rows = [{"label": label, "counts": dict(counts), "all": sum(counts.values())} for label, counts in groups.items()]
    return sorted(rows, key=lambda row: (-int(str(row["all"])), str(row["label"])))
