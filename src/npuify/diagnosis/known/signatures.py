"""The tables as something that can be asked of a line quickly: words first, then patterns."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ahocorasick_rs import AhoCorasick

from npuify.diagnosis.lines import codes_in
from npuify.knowledge.failures.causes import code_fact, header_codes, text_facts

if TYPE_CHECKING:
    from npuify.model import Evidence

WEIGHT_OF_CODE: Final = {"cann": 75, "acl": 60, "aclnn": 55, "torch_npu": 46, "hccl": 30}
"""How surely a code names its cause, where no text does: those of CANN most. Those of torch_npu tell the kind of a
check, just more than the kind of an exception does."""

_ROLE_LIMIT: Final = {"wrapper": 12, "hint": 45}


_FAMILY: Final = 40
"""The most that a code counts of which only the family is known."""


class Match(NamedTuple):
    """One thing that a line says."""

    name: str
    meaning: str
    cause: str
    role: str
    weight: int
    evidence: Evidence
    source: str
    why: str = ""
    """In place of what the cause says; empty: that."""
    fix: str = ""
    loud: bool = False
    """Whether it counts in full although a logger calls the line a warning or less."""


class _Row(NamedTuple):
    pattern: re.Pattern[str]
    match: Match


@cache
def _by_word() -> tuple[AhoCorasick, tuple[tuple[_Row, ...], ...]]:
    """What finds the words, and the rows of each."""
    words: dict[str, list[_Row]] = {}
    for fact in text_facts():
        meaning = fact.name.replace("-", " ")
        weight = min(fact.weight, _ROLE_LIMIT.get(fact.role, 100))
        row = _Row(
            re.compile(fact.pattern),
            Match(
                fact.name,
                meaning,
                fact.cause,
                fact.role,
                weight,
                fact.evidence,
                fact.source,
                fact.why,
                fact.fix,
                fact.loud,
            ),
        )
        for word in fact.words:
            words.setdefault(word, []).append(row)
    return AhoCorasick(list(words)), tuple(tuple(rows) for rows in words.values())


def matches(text: str) -> list[Match]:
    """Everything that is known of a line, texts before codes."""
    found: dict[str, Match] = {}
    finder, rows = _by_word()
    for word in sorted({word for word, _, _ in finder.find_matches_as_indexes(text, overlapping=True)}):
        for row in rows[word]:
            if row.match.name not in found and row.pattern.search(text):
                found[row.match.name] = row.match
    for code in codes_in(text):
        fact = code_fact(code)
        if fact is not None and (not fact.family or code.isdigit() or f"{code}:" in text or f"[{code}]" in text):
            limit = _FAMILY if fact.family else 100
            weight = min(WEIGHT_OF_CODE[fact.grammar], _ROLE_LIMIT.get(fact.role, 100), limit)
            named = header_codes().acl.get(code) if fact.family else None
            meaning = named[1] if named is not None else fact.meaning
            found[code] = Match(code, meaning, fact.cause, fact.role, weight, fact.evidence, fact.source)
    return list(found.values())
