"""Find many words in a text at once.

All words are sought in one pass (the Aho-Corasick algorithm), so that a further word costs nothing: what a search costs
depends on the text's length and on how often a word is found.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING
from zlib import crc32

from ahocorasick_rs import BytesAhoCorasick, Implementation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    SkipIf = Callable[[bytes, int, int], bool]


_MOST_KEPT = 50_000
"""Matches that are kept for the next question about a text. More take more memory than time: 150 bytes each."""


@lru_cache(maxsize=8)
def _automaton(words: tuple[bytes, ...]) -> BytesAhoCorasick:
    """Making one for the words of all rules takes longer than the search of many files; it never changes."""
    return BytesAhoCorasick(words, implementation=Implementation.DFA)


class _Search:
    """One automaton, and what it found in the text that it saw last: the same text is often asked about again."""

    def __init__(self, words: tuple[bytes, ...]) -> None:
        self.words = words
        self.index = {word: index for index, word in enumerate(words)}
        self._finder = _automaton(words) if words else None
        self.signature = crc32(b"\0".join(words))
        self._last: tuple[bytes, list[tuple[int, int, int]]] = (b"", [])
        """Kept as one, since several threads may search at once."""

    def found(self, text: bytes) -> list[tuple[int, int, int]]:
        """Index of the word, start and end of each match, in the order of their ends."""
        last, found = self._last
        if text != last:
            found = self._finder.find_matches_as_indexes(text, overlapping=True) if self._finder else []
            if len(found) <= _MOST_KEPT:
                self._last = text, found
        return found

    def remember(self, text: bytes, matches: array[int]) -> None:
        """Take for ``text`` what an earlier search for the same words found in it."""
        if len(matches) > 3 * _MOST_KEPT:
            return
        numbers = iter(matches)
        if next(numbers, None) == self.signature:
            self._last = text, list(zip(numbers, numbers, numbers, strict=True))


class Words:
    """Words to be found in texts. Upper and lower case differ: for "in any case" give both in lower case.

    Args:
        words: none may be empty.
        of: other words, among which these are; both then share one pass over a text.
        skip_if: for some of the words, what says that a place (text, start and end of the word) is to be passed over.
            Only :meth:`places` does.

    Raises:
        KeyError: a word is not among those of ``of``.
    """

    def __init__(
        self, words: Iterable[bytes], of: Words | None = None, skip_if: Mapping[bytes, SkipIf] | None = None
    ) -> None:
        self.words = frozenset(words)
        self._search: _Search = _Search(tuple(sorted(self.words))) if of is None else of._search
        self._wanted = None if of is None else frozenset([self._search.index[word] for word in self.words])
        asked = self.words.intersection(skip_if) if skip_if else ()
        self._skip_if = {self._search.index[word]: skip_if[word] for word in asked} if skip_if else {}
        self._known: dict[str, bool] = {}

    def in_text(self, text: bytes) -> frozenset[bytes]:
        """Those of the words that stand in a text."""
        search = self._search
        found = frozenset([search.words[index] for index in {match[0] for match in search.found(text)}])
        return found if self._wanted is None else found & self.words

    def places(self, text: bytes) -> list[tuple[int, int]]:
        """Where words begin and end in a text, in the order of their ends; words within words, too."""
        wanted, skip_if = self._wanted, self._skip_if
        found = self._search.found(text)
        if skip_if:
            found = [one for one in found if one[0] not in skip_if or not skip_if[one[0]](text, one[1], one[2])]
        return [(start, end) for index, start, end in found if wanted is None or index in wanted]

    def matches(self, text: bytes) -> array[int]:
        """The matches in a text, packed, as :meth:`remember` of words made of the same groups takes them."""
        return array("I", [self._search.signature, *chain.from_iterable(self._search.found(text))])

    def remember(self, text: bytes, matches: array[int]) -> None:
        """Spare the search of a text whose matches are known."""
        self._search.remember(text, matches)

    def within(self, name: str) -> bool:
        """Whether any of the words stands in a name or string, in any case; remembered, as names come again."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = bool(self.places(name.lower().encode("utf-8", "surrogatepass")))
        return known


def in_one_pass(*groups: Iterable[bytes]) -> list[Words]:
    """One ``Words`` for each group, which share a pass over a text."""
    sets = [frozenset(group) for group in groups]
    everything = Words(word for group in sets for word in group)
    return [Words(group, of=everything) for group in sets]


@lru_cache(maxsize=8)
def words_of(*words: bytes) -> Words:
    """``Words`` for a few words that are asked for again and again."""
    return Words(words)
