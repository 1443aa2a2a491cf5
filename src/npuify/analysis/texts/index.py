"""Which Python files of a project hold a word, by their text: cheap, and enough to know which of them to parse.

Each file is read once for all words; the project is not indexed before somebody asks. What was asked is kept as text,
with the files as a set of bits: the next scan is told it, and of files that have changed since it asks anew.
"""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from npuify.analysis.texts.class_bases import names_of_bases
from npuify.analysis.texts.declared_options import DECLARING, declared_options
from npuify.analysis.texts.imported_names import imported_names
from npuify.analysis.texts.stored_names import stored_names
from npuify.project.content import content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from npuify.analysis.texts.stored_names import StoredNames

T = TypeVar("T")
_LETTERS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_ONLY_WORDS: Final = bytes(byte if byte in _LETTERS else ord(" ") for byte in range(256))
_WORD: Final = re.compile(rb"\w+")
_NONE: Final[tuple[str, ...]] = ()
_TAKING: Final = (b"getattr", b"vars", b"dir", b"__dict__")
_ASKING: Final = (b"getattr(", b"vars(", b"dir(")
_ASKED: Final = re.compile(rb"([\w.]*)(?:\W(\w+))?")
_NAMESPACE: Final = b".__dict__"
_LAST: Final = re.compile(rb"\w+\Z")
_LONGEST: Final = 100
"""Bytes of the longest name of a module that counts."""
_WITH: Final = "with"
_STORING: Final = "storing"
_OVERWRITING: Final = "overwriting"
_DECLARING: Final = "declaring"
_TAKING_FROM: Final = "taking"
_DERIVING: Final = "deriving"
_IMPORTING: Final = "importing"
_UNREAD: Final = b""
"""Under which files that cannot be read are kept."""
_Index = dict[bytes, tuple[str, ...] | list[str]]
"""Files by words. Most words stand in one file; all such words of a file share what says so."""


class TextIndex:
    """The words that stand in the files of a project, in code, text and comments alike.

    Files that cannot be read are among those of any answer.

    Args:
        root: the project's root.
        files: relative paths of the files.
        contents: what some files hold instead of what is on the disk.
        searched: what is known of these files, as :meth:`searches` gives it.
    """

    def __init__(
        self,
        root: Path,
        files: Sequence[str],
        contents: Mapping[str, bytes] | None = None,
        searched: Mapping[str, bytes] | None = None,
    ) -> None:
        self._root = root
        self._contents = contents or {}
        self._files = files
        self._words: _Index = {}
        self._with: dict[bytes, list[str]] = {}
        self._taking: _Index = {}
        self._declared: _Index = {}
        self._bases: dict[str, frozenset[bytes] | None] = {}
        self._stored: dict[str, StoredNames | None] = {}
        self._imported: dict[str, frozenset[bytes] | None] = {}
        self._searched = searched or {}
        self._answers: dict[str, list[str]] = {}
        """By the text of the question."""
        self._untold: list[str] = []
        """Questions that no earlier scan was asked, and whose answers :meth:`searches` did not give yet."""
        self._numbers: dict[str, int] = {}

    def searches(self) -> dict[str, bytes] | None:
        """The answers since this was asked last that no earlier scan gave, as sets of bits, the first file lowest.

        None where a file cannot be read, of which nobody knows what it would answer.
        """
        if any(_UNREAD in index and index[_UNREAD] for index in (self._words, self._taking, self._declared)):
            return None
        fresh, self._untold = self._untold, []
        if fresh and not self._numbers:
            self._numbers = {name: number for number, name in enumerate(self._files)}
        return {one: _bits([self._numbers[name] for name in self._answers[one]]) for one in fresh}

    def _asked(self, kind: str, text: bytes, look: Callable[[bytes], list[str]]) -> list[str]:
        question = f"{kind} {text.decode('latin-1')}"
        if question not in self._answers:
            known = self._searched.get(question)
            if known is None:
                self._answers[question] = look(text)
                self._untold.append(question)
            else:
                self._answers[question] = _numbered(self._files, known)
        return self._answers[question]

    def _read(self, relative: str) -> bytes:
        known = self._contents.get(relative)
        return content(f"{self._root}/{relative}") if known is None else known

    def files_with(self, text: bytes) -> list[str]:
        """The files in which a text stands, in their order; where it begins or ends with a word, as a whole one."""
        if text not in self._with:
            self._with[text] = self._asked(_WITH, text, self._files_with)
        return self._with[text]

    def _files_with(self, text: bytes) -> list[str]:
        candidates = self._with_words(text)
        if _WORD.fullmatch(text) is not None:
            return candidates
        return [relative for relative in candidates if self._holds(relative, text)]

    def files_storing(self, name: bytes) -> list[str]:
        """The files that may assign to an attribute."""
        return self._asked(_STORING, name, lambda name: self._files_naming(name, of_self=True))

    def files_overwriting(self, name: bytes) -> list[str]:
        """As :meth:`files_storing`, but for statements alone, and for attributes of anything but ``self``."""
        return self._asked(_OVERWRITING, name, lambda name: self._files_naming(name, of_self=False))

    def files_declaring(self, name: bytes) -> list[str]:
        """The files that may declare an option which is read from an attribute ``name``, or set its default."""
        return self._asked(_DECLARING, name, self._files_declaring)

    def _files_declaring(self, name: bytes) -> list[str]:
        if not self._declared:
            self._declared[_UNREAD] = _NONE
            # Where it is known which words stand in which files, those without such a word need not be read.
            able = self._with_parts(DECLARING) if self._words else self._files
            for relative in able:
                self._note(relative, self._declared, declared_options)
        return [*self._declared.get(name, ()), *self._declared[_UNREAD]]

    def files_deriving(self, name: bytes) -> list[str]:
        """The files in which a class of that name may be a base of another."""
        return self._asked(_DERIVING, name, self._files_deriving)

    def _files_deriving(self, name: bytes) -> list[str]:
        return [one for one in self._with_words(name) if self._is_said_in(one, name, self._bases, names_of_bases)]

    def files_importing(self, name: bytes) -> list[str]:
        """The files that may import something in whose dotted name a word stands."""
        return self._asked(_IMPORTING, name, self._files_importing)

    def _files_importing(self, name: bytes) -> list[str]:
        return [one for one in self._with_words(name) if self._is_said_in(one, name, self._imported, imported_names)]

    def _is_said_in(
        self,
        relative: str,
        name: bytes,
        known: dict[str, frozenset[bytes] | None],
        names_in: Callable[[bytes], frozenset[bytes] | None],
    ) -> bool:
        """Whether a name is among those that a file says in some way; so it is where that cannot be told."""
        names = self._told_by(relative, known, names_in)
        return names is None or name in names

    def _told_by(self, relative: str, known: dict[str, T | None], look: Callable[[bytes], T | None]) -> T | None:
        """What a file's text shows, looked at once; None where it cannot be read."""
        if relative not in known:
            try:
                known[relative] = look(self._read(relative))
            except OSError:
                known[relative] = None
        return known[relative]

    def files_taking_from(self, relative: str) -> list[str]:
        """The files that may take names of a module as text: ``getattr(module, name)``, ``vars(module)``.

        Args:
            relative: the module's file. Any module whose name has the same last part may be meant.
        """
        module = posixpath.splitext(relative.replace("/__init__.py", ".py"))[0].rpartition("/")[2].encode()
        return self._asked(_TAKING_FROM, module, self._files_taking_from)

    def _files_taking_from(self, module: bytes) -> list[str]:
        if not self._taking:
            self._taking[_UNREAD] = _NONE
            able = {one for word in _TAKING for one in self._with_words(word)}
            for one in self._files:
                if one in able:
                    self._note(one, self._taking, _taken)
        return [*self._taking.get(module, ()), *self._taking[_UNREAD]]

    def forget(self) -> None:
        """Let go of what is known."""
        self._words.clear()
        self._with.clear()
        self._taking.clear()
        self._declared.clear()
        self._bases.clear()
        self._stored.clear()
        self._imported.clear()
        self._answers.clear()
        self._untold.clear()

    def _with_words(self, text: bytes) -> list[str]:
        """The files in which all words of a text stand, in any order."""
        if not self._words:
            self._words[_UNREAD] = _NONE
            for relative in self._files:
                self._note(relative, self._words, _words)
        found = [self._words.get(word, _NONE) for word in _WORD.findall(text)]
        if not found:
            return list(self._files)
        shortest = min(found, key=len)
        common = set(shortest).intersection(*found)
        return [*(one for one in shortest if one in common), *self._words[_UNREAD]]

    def _with_parts(self, parts: Sequence[bytes]) -> list[str]:
        """The files with a word that has one of these parts, and those that cannot be read, in their order."""
        words = [word for word in self._words if any(part in word for part in parts)]
        able = {one for word in (*words, _UNREAD) for one in self._words[word]}
        return [one for one in self._files if one in able]

    def _note(self, relative: str, index: _Index, words_of: Callable[[bytes], Iterable[bytes]]) -> None:
        try:
            words = words_of(self._read(relative))
        except OSError:
            words = (_UNREAD,)
        alone = (relative,)
        for word in words:
            known = index.get(word)
            if known is None or known is _NONE:
                index[word] = alone
            elif known.__class__ is tuple:
                index[word] = [known[0], relative]
            else:
                known.append(relative)  # type: ignore[union-attr]

    def _holds(self, relative: str, text: bytes) -> bool:
        try:
            return _stands(text, self._read(relative))
        except OSError:
            return True

    def _files_naming(self, name: bytes, *, of_self: bool) -> list[str]:
        return [one for one in self._with_words(name) if self._is_stored_in(one, name, of_self)]

    def _is_stored_in(self, relative: str, name: bytes, of_self: bool) -> bool:
        stored = self._told_by(relative, self._stored, stored_names)
        return stored is None or name in (stored.all if of_self else stored.overwritten)


class _Shown:
    """What one file answers to all that was asked.

    Args:
        data: its text.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._words = _words(data)
        self._able = not self._words.isdisjoint(_TAKING)

    @cached_property
    def _stored(self) -> StoredNames:
        return stored_names(self._data)

    @cached_property
    def _declared(self) -> set[bytes]:
        return declared_options(self._data)

    @cached_property
    def _derived(self) -> frozenset[bytes]:
        return names_of_bases(self._data)

    @cached_property
    def _imported(self) -> frozenset[bytes]:
        imported = imported_names(self._data)
        return frozenset(self._words) if imported is None else imported

    @cached_property
    def _taken(self) -> set[bytes]:
        return _taken(self._data) if self._able else set()

    def is_among(self, question: str) -> bool:
        """Whether the file is one of those that a question is answered with."""
        kind, _, rest = question.partition(" ")
        text = rest.encode("latin-1")
        if kind == _DECLARING:
            return text in self._declared
        if kind == _TAKING_FROM:
            return text in self._taken
        if kind == _DERIVING:
            return text in self._derived
        if kind == _IMPORTING:
            return text in self._imported
        words = _WORD.findall(text)
        if not self._words.issuperset(words):
            return False
        if kind == _WITH:
            return words == [text] or _stands(text, self._data)
        return text in (self._stored.all if kind == _STORING else self._stored.overwritten)


def renewed(searches: Mapping[str, bytes], changed: Mapping[int, bytes]) -> dict[str, bytes]:
    """What searches say where some files have changed.

    Args:
        searches: what they said, as :meth:`TextIndex.searches` gives it.
        changed: the texts of the files that have changed, by their numbers.
    """
    found = dict(searches)
    for number, data in changed.items():
        shown = _Shown(data)
        for question, files in found.items():
            if shown.is_among(question) != _has(files, number):
                found[question] = (int.from_bytes(files, "little") ^ 1 << number).to_bytes(
                    max(len(files), number // 8 + 1), "little"
                )
    return found


def _bits(numbers: Iterable[int]) -> bytes:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found.to_bytes((found.bit_length() + 7) // 8, "little")


def _has(files: bytes, number: int) -> bool:
    return number // 8 < len(files) and bool(files[number // 8] >> number % 8 & 1)


def _numbered(files: Sequence[str], bits: bytes) -> list[str]:
    return [files[at * 8 + bit] for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]


def _taken(data: bytes) -> set[bytes]:
    """The parts of names of which names may be taken as text."""
    found: set[bytes] = set()
    # Searches for words are many times quicker than one for a pattern that begins with any of them.
    for word in _ASKING:
        at = data.find(word)
        while at >= 0:
            match = _ASKED.match(data, at + len(word))
            if match is not None and data[at - 1 : at].translate(_ONLY_WORDS) in (b" ", b""):
                found.update(match[1].split(b"."))
                found.add(match[2] or b"")
            at = data.find(word, at + 1)
    at = data.find(_NAMESPACE)
    while at >= 0:
        match = _LAST.search(data, max(at - _LONGEST, 0), at)
        found.add(match[0] if match is not None else b"")
        at = data.find(_NAMESPACE, at + 1)
    found.discard(b"")
    return found


def _stands(text: bytes, data: bytes) -> bool:
    """Whether a text stands in a file, not as a part of longer words: ``.main`` is none of ``.main_process``."""
    at = data.find(text)
    while at >= 0:
        end = at + len(text)
        if not (_joins(data[at - 1 : at + 1]) or _joins(data[end - 1 : end + 1])):
            return True
        at = data.find(text, at + 1)
    return False


def _joins(two: bytes) -> bool:
    return len(two) == 2 and two[0] in _LETTERS and two[1] in _LETTERS


def _words(data: bytes) -> set[bytes]:
    return set(data.translate(_ONLY_WORDS).split())
