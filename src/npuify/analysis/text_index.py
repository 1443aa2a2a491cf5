"""Which Python files of a project hold a word, by their text: cheap, and enough to know which of them to parse.

Each file is read once for all words; the project is not indexed before somebody asks.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.declared_options import declared_options
from npuify.analysis.stored_names import stored_names
from npuify.project.content import content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from npuify.analysis.stored_names import StoredNames

_LETTERS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_ONLY_WORDS: Final = bytes(byte if byte in _LETTERS else ord(" ") for byte in range(256))
_WORD: Final = re.compile(rb"\w+")
_NONE: Final[list[str]] = []
_TAKING: Final = (b"getattr", b"vars", b"dir", b"__dict__")
_ASKING: Final = (b"getattr(", b"vars(", b"dir(")
_ASKED: Final = re.compile(rb"([\w.]*)(?:\W(\w+))?")
_NAMESPACE: Final = b".__dict__"
_LAST: Final = re.compile(rb"\w+\Z")
_LONGEST: Final = 100
"""Bytes of the longest name of a module that counts."""
_UNREAD: Final = b""
"""Under which files that cannot be read are kept."""


class TextIndex:
    """The words that stand in the files of a project, in code, text and comments alike.

    Files that cannot be read are among those of any answer.

    Args:
        root: the project's root.
        files: relative paths of the files.
        contents: what some files hold instead of what is on the disk.
    """

    def __init__(self, root: Path, files: Sequence[str], contents: Mapping[str, bytes] | None = None) -> None:
        self._root = root
        self._contents = contents or {}
        self._files = files
        self._words: dict[bytes, list[str]] = {}
        self._with: dict[bytes, list[str]] = {}
        self._taking: dict[bytes, list[str]] = {}
        self._declared: dict[bytes, list[str]] = {}
        self._stored: dict[str, StoredNames | None] = {}

    def _read(self, relative: str) -> bytes:
        known = self._contents.get(relative)
        return content(f"{self._root}/{relative}") if known is None else known

    def files_with(self, text: bytes) -> list[str]:
        """The files in which a text stands, in their order; where it begins or ends with a word, as a whole one."""
        if text not in self._with:
            candidates = self._with_words(text)
            if _WORD.fullmatch(text) is None:
                candidates = [relative for relative in candidates if self._holds(relative, text)]
            self._with[text] = candidates
        return self._with[text]

    def files_storing(self, name: bytes) -> list[str]:
        """The files that may assign to an attribute."""
        return self._files_naming(name, of_self=True)

    def files_overwriting(self, name: bytes) -> list[str]:
        """As :meth:`files_storing`, but for statements alone, and for attributes of anything but ``self``."""
        return self._files_naming(name, of_self=False)

    def files_declaring(self, name: bytes) -> list[str]:
        """The files that may declare an option which is read from an attribute ``name``, or set its default."""
        if not self._declared:
            self._declared[_UNREAD] = []
            for relative in self._files:
                self._note(relative, self._declared, declared_options)
        return [*self._declared.get(name, ()), *self._declared[_UNREAD]]

    def files_taking_from(self, relative: str) -> list[str]:
        """The files that may take names of a module as text: ``getattr(module, name)``, ``vars(module)``.

        Args:
            relative: the module's file. Any module whose name has the same last part may be meant.
        """
        module = posixpath.splitext(relative.replace("/__init__.py", ".py"))[0].rpartition("/")[2].encode()
        if not self._taking:
            self._taking[_UNREAD] = []
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
        self._stored.clear()

    def _with_words(self, text: bytes) -> list[str]:
        """The files in which all words of a text stand, in any order."""
        if not self._words:
            self._words[_UNREAD] = []
            for relative in self._files:
                self._note(relative, self._words, _words)
        found = [self._words.get(word, _NONE) for word in _WORD.findall(text)]
        if not found:
            return list(self._files)
        shortest = min(found, key=len)
        common = set(shortest).intersection(*found)
        return [one for one in shortest if one in common] + self._words[_UNREAD]

    def _note(self, relative: str, index: dict[bytes, list[str]], words_of: Callable[[bytes], Iterable[bytes]]) -> None:
        try:
            words = words_of(self._read(relative))
        except OSError:
            words = (_UNREAD,)
        for word in words:
            if word in index:
                index[word].append(relative)
            else:
                index[word] = [relative]

    def _holds(self, relative: str, text: bytes) -> bool:
        try:
            return text in self._read(relative)
        except OSError:
            return True

    def _files_naming(self, name: bytes, *, of_self: bool) -> list[str]:
        return [one for one in self._with_words(name) if self._is_stored_in(one, name, of_self)]

    def _is_stored_in(self, relative: str, name: bytes, of_self: bool) -> bool:
        if relative not in self._stored:
            try:
                self._stored[relative] = stored_names(self._read(relative))
            except OSError:
                self._stored[relative] = None
        stored = self._stored[relative]
        return stored is None or name in (stored.all if of_self else stored.overwritten)


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


def _words(data: bytes) -> set[bytes]:
    return set(data.translate(_ONLY_WORDS).split())
