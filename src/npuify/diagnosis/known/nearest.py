"""The cause that unknown lines are nearest to, by the words that they share with what is known of it.

Rare words count more. Signatures are the rows of the tables of failures and causes, and the general terms of
``terms.toml``, by which logs speak of a cause. Asked only where nothing else knows a line.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.knowledge.failures.causes import causes, check_cause, text_facts
from npuify.knowledge.hand_written import DATA, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE: Final = "terms.toml"

_VOTERS: Final = 20
"""Nearest signatures that have a vote; each votes with the third power of its likeness."""
_NO_WORDS: Final = re.compile(r"0x[0-9a-fA-F]+|/(?:home|root|Users)/[\w.-]+")
_HUMP: Final = re.compile(r"([a-z])([A-Z])")
_WORD: Final = re.compile(r"[A-Za-z]{2,}|\d{3,6}")
_FRAME: Final = re.compile(r'^\s*(?:\S+:\s*)?File "|^\s*[\^~]+\s*$|.*Traceback \(most recent')
_PACKAGE: Final = re.compile(r"(?:site|dist)-packages/(\w+)")
_KIND: Final = re.compile(r"^\s*(?:\[rank\d+\]:\s*)?(?:\w+\.)*(\w+(?:Error|Exception))\b")
_SPECIAL: Final = re.compile(r"\\[a-zA-Z]|[\\()\[\]|?*+.^$]")


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``terms.toml``; its head says what the fields mean."""

    cause: str
    words: tuple[str, ...]


class Near(NamedTuple):
    """A cause that the nearest known failures speak for."""

    cause: str
    likeness: float
    """Of the nearest failure of this cause, from 0 to 1."""
    shared: float
    """How much the words weigh that the lines share with it: a few ordinary words are nothing."""
    share: float
    """Of all votes."""
    source: str
    """Where the nearest row of this cause is from; empty for general terms."""


class _Index(NamedTuple):
    weights: dict[str, float]
    vectors: list[dict[str, float]]
    owners: list[tuple[str, str]]
    """The cause and source of each vector."""
    holders: dict[str, list[int]]


def words_of(text: str) -> set[str]:
    """The words of lines: names are cut at their humps, frames of tracebacks count by their package only."""
    lines = text.split("\n")
    kept = _NO_WORDS.sub(" ", "\n".join(line for line in lines if not _FRAME.match(line)))
    found = {word.lower() for word in _WORD.findall(_HUMP.sub(r"\1 \2", kept))}
    found |= {f"in:{name}" for name in _PACKAGE.findall(text)}
    return found | {f"kind:{kind[1]}" for line in lines[-6:] if (kind := _KIND.match(line))}


@cache
def terms() -> tuple[Terms, ...]:
    """How logs speak of causes.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / FILE, "terms", Terms))
    for row in rows:
        check_cause(row.cause, FILE)
    return rows


def _signatures() -> Iterable[tuple[str, str, set[str]]]:
    """The cause, the source and the words of everything that is known."""
    for one in terms():
        for words in one.words:
            yield one.cause, "", {word for part in words.split() for word in (part, *part.split("_"))}
    for row in text_facts():
        if row.role in ("cause", "consequence", "stop"):
            yield row.cause, row.source, words_of(row.example)
            yield row.cause, row.source, words_of(_SPECIAL.sub(" ", row.pattern) + " ".join(("", *row.words, row.why)))
    for cause in causes().values():
        yield cause.id, "", words_of(f"{cause.title} {cause.why} {cause.fix}")


@cache
def _index() -> _Index:
    rows = [row for row in _signatures() if row[2]]
    counts = Counter(word for _, _, words in rows for word in words)
    weights = {word: math.log((1 + len(rows)) / (1 + count)) + 1 for word, count in counts.items()}
    vectors, holders = [], dict[str, list[int]]()
    for number, (_, _, words) in enumerate(rows):
        length = math.sqrt(sum(weights[word] ** 2 for word in words))
        vectors.append({word: weights[word] / length for word in words})
        for word in words:
            holders.setdefault(word, []).append(number)
    return _Index(weights, vectors, [(cause, source) for cause, source, _ in rows], holders)


def nearest(text: str) -> list[Near]:
    """The causes that the nearest known failures speak for, the most votes first; empty where no word is known.

    Args:
        text: the lines that say most.
    """
    index = _index()
    words = [word for word in words_of(text) if word in index.weights]
    length = math.sqrt(sum(index.weights[word] ** 2 for word in words))
    likeness: dict[int, float] = {}
    for word in sorted(words):
        for number in index.holders[word]:
            likeness[number] = likeness.get(number, 0.0) + index.weights[word] * index.vectors[number][word] / length
    votes: dict[str, float] = {}
    best: dict[str, tuple[float, float, str]] = {}
    for number, value in sorted(likeness.items(), key=lambda one: (-one[1], one[0]))[:_VOTERS]:
        cause, source = index.owners[number]
        votes[cause] = votes.get(cause, 0.0) + value**3
        if cause not in best:
            shared = sum(index.weights[word] for word in words if word in index.vectors[number])
            best[cause] = (value, shared, source)
    total = sum(votes.values())
    ordered = sorted(votes.items(), key=lambda one: -one[1])
    return [Near(cause, *best[cause][:2], count / total, best[cause][2]) for cause, count in ordered]
