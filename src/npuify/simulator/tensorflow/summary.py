"""What a card would have got, in a few lines, and what was not as it should be."""

from __future__ import annotations

from typing import Any, Final

from npuify.language import commas, mark, phrase, plural, semicolons

_COLLECTIVES: Final = ("allreduce", "allgather", "broadcast", "reduce", "reduce_scatter")


def summary(rows: list[dict[str, Any]], package: str, *, failed: bool = False) -> str:
    """Lines for people.

    Args:
        rows: the journal.
        package: the adapter's package, for the sentence that it was never asked for.
        failed: whether the program stopped, so that it may not have come to where it asks.
    """
    if not any(row["event"] in ("session", "open", "initialize", "estimator", "as_default") for row in rows):
        if failed:
            return phrase("npuify: the program stopped before it asked anything of {package}", package=package)
        return phrase(
            "npuify: this program asked nothing of {package}: on a machine with NPUs it would run on the CPU. "
            "Migrate it first: npuify migrate",
            package=package,
        )
    lines = [phrase("npuify: what a card would have got:")]
    ranks = sorted({int(row["rank"]) for row in rows})
    for rank in ranks:
        own = [row for row in rows if row["rank"] == rank]
        lines.append(f"  rank {rank}: {_one(own)}" if len(ranks) > 1 else f"  {_one(own)}")
    told: dict[str, list[int]] = {}
    for row in [*rows, *_of_several(rows, ranks)]:
        if row["event"] == "told":
            told.setdefault(row["text"], []).append(int(row["rank"]))
    for text, where in told.items():
        these = sorted(set(where))
        named = f" (rank {', '.join(map(str, these))})" if len(ranks) > 1 and these != ranks else ""
        lines.append("  " + phrase("note: {text}", text=phrase(text)) + named)
    return "\n".join(lines)


def _sums(rows: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if row["event"] == "counts":
            for name, number in row.items():
                if isinstance(number, int) and name not in ("rank", "time"):
                    found[name] = found.get(name, 0) + number
    return found


def _one(rows: list[dict[str, Any]]) -> str:
    counts = _sums(rows)
    parts = []
    for row in rows:
        if row["event"] == "open":
            parts.append(phrase("device {device} opened", device=row["device"]) + _shown(row["options"]))
    sessions = [row for row in rows if row["event"] == "session"]
    if sessions:
        options = {name: value for row in sessions for name, value in row["options"].items()}
        made = plural("{count} session", "{count} sessions", len(sessions)) + _shown(options)
        parts.append(commas((made, plural("{count} run", "{count} runs", counts.get("runs", 0)))))
    if counts.get("tf.function"):
        parts.append(_number(counts["tf.function"], "tf.function"))
    for name in _COLLECTIVES:
        if counts.get(name):
            tensors = plural("{count} tensor", "{count} tensors", counts[f"{name} tensors"])
            parts.append(phrase("{number} {name} with {tensors}", number=counts[name], name=name, tensors=tensors))
    ignored = [name for name in counts if name.startswith("tf.device(")]
    if ignored:
        parts.append(f"{', '.join(sorted(ignored)[:3])}")
    return semicolons(parts) or phrase("nothing")


def _of_several(rows: list[dict[str, Any]], ranks: list[int]) -> list[dict[str, Any]]:
    """What is missing where several ranks trained."""
    if len(ranks) < 2:
        return []
    counts = _sums(rows)
    trained = counts.get("runs", 0) > len(ranks) or any(row["event"] == "as_default" for row in rows)
    found = []
    if trained and not counts.get("allreduce") and not counts.get("allgather"):
        found.append(mark("nothing was reduced over the ranks: what they train, each trains for itself"))
    if trained and not counts.get("broadcast"):
        found.append(mark("no variables were broadcast: each rank begins with its own"))
    return [{"event": "told", "text": text, "rank": rank} for text in found for rank in ranks]


def _shown(options: dict[str, Any]) -> str:
    if not options:
        return ""
    return " (" + ", ".join(f"{name}={value}" for name, value in sorted(options.items())) + ")"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
