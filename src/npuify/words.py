"""Find many words in a text at once.

All words are sought in one pass (the Aho-Corasick algorithm), so that a further word costs nothing: what a search costs
depends on the text's length and on how often a word is found.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ahocorasick_rs import BytesAhoCorasick, Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable


class Words:
    """Words to be found in texts. Upper and lower case differ: for "in any case" give both in lower case.

    Args:
        words: none may be empty.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self.words = tuple(sorted(set(words)))
        self._finder = BytesAhoCorasick(self.words, implementation=Implementation.DFA) if self.words else None
        self._all = self.words
        self._index = {word: index for index, word in enumerate(self.words)}
        self._counts: frozenset[int] | None = None
        self._known: dict[str, bool] = {}

    def only(self, chosen: frozenset[bytes]) -> Words:
        """The same with some of the words only; cheap, unlike making another."""
        words = Words.__new__(Words)
        words.words = tuple(chosen)
        words._all, words._index = self._all, self._index
        words._finder = self._finder if chosen else None
        words._counts = frozenset([self._index[word] for word in chosen])
        words._known = {}
        return words

    def in_text(self, text: bytes) -> frozenset[bytes]:
        """Those of the words that stand in a text."""
        if self._finder is None:
            return frozenset()
        found = self._finder.find_matches_as_indexes(text, overlapping=True)
        return frozenset([self._all[index] for index in {match[0] for match in found}]).intersection(self.words)

    def places(self, text: bytes) -> list[tuple[int, int]]:
        """Where words begin and end in a text, in the order of their ends; words within words, too."""
        if self._finder is None:
            return []
        found = self._finder.find_matches_as_indexes(text, overlapping=True)
        counts = self._counts
        return [(start, end) for index, start, end in found if counts is None or index in counts]

    def within(self, name: str) -> bool:
        """Whether any of the words stands in a name or string, in any case; remembered, as names come again."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = bool(self.places(name.lower().encode("utf-8", "surrogatepass")))
        return known


@lru_cache(maxsize=8)
def words_of(*words: bytes) -> Words:
    """``Words`` for a few words that are asked for again and again."""
    return Words(words)
