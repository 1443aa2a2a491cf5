"""Programs: an entry point with the files of the project that it imports, directly or not.

Files are read as text; nothing is imported or executed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.project.content import content
from npuify.project.import_graph import ImportGraph, folders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from npuify.project.import_graph import Imports

_TESTS: Final = frozenset(("test", "tests", "testing", "unit_tests"))


class Closure(NamedTuple):
    """The files that a program consists of, as sets of bits; see ``ImportGraph.numbers``."""

    files: int
    """Those that it imports for sure, where control flow lets it, itself included."""
    maybe: int
    """Those that it may import besides, by a name that is known only when it runs."""


class Programs:
    """The programs of a project.

    Args:
        root: the project's folder.
        files: its Python files, relative to ``root`` with forward slashes.
        imports: what they import, where it was read already.
    """

    def __init__(self, root: Path, files: Collection[str], imports: Mapping[str, Imports] | None = None) -> None:
        self._root = root
        self.files = tuple(files)
        self.graph = ImportGraph(self.files, self.read, imports, anywhere=True)
        self._below: dict[frozenset[str], int] = {}

    def read(self, file: str) -> bytes:
        """The content of a file; empty where it cannot be read."""
        try:
            return content(f"{self._root}/{file}")
        except OSError:
            return b""

    @cached_property
    def choosing(self) -> int:
        """The files that import by names that are known only when they run, as a set of bits."""
        return self.graph.numbers.mask(file for file in self.files if self.graph.imports_in(file).chooses)

    def closure(self, entry: str) -> Closure:
        """What the program that starts with ``entry`` consists of."""
        files = self.graph.reached_mask(entry)
        return Closure(files, self._maybe(files))

    def _maybe(self, files: int) -> int:
        """What files may import by names that are known only when they run, besides themselves."""
        choosing = self.graph.numbers.listed(files & self.choosing)
        return self._all_below(frozenset(map(_top, choosing))) & ~files if choosing else 0

    def _all_below(self, tops: frozenset[str]) -> int:
        """The files of some topmost folders, with what they import; ``""`` is the root."""
        if tops not in self._below:
            inside = [file for file in self.files if "" in tops or _top(file) in tops]
            self._below[tops] = self.graph.reached_mask(*inside)
        return self._below[tops]

    def belonging_to_same(self, marked: Iterable[str]) -> frozenset[str]:
        """The files of all programs that have one of ``marked`` among theirs.

        A program is a file that no other imports, tests aside. Of a marked file that nothing imports and that is not
        started either nobody knows who uses it: all files below its topmost folder count.
        """
        wanted = frozenset(marked)
        if not wanted:
            return frozenset()
        numbers = self.graph.numbers
        own = [file for file in self.files if not _is_test(file)]
        imported = {target for file in own for target in self.graph.targets(file)}
        sought, found = numbers.mask(wanted), 0
        for root in own:
            if root not in imported:
                whole = self._whole(root)
                if whole & sought:
                    found |= whole
        for one in sorted(wanted):
            if not found >> numbers.of(one) & 1:
                found |= self._whole(one)
            if one not in imported and b"__main__" not in self.read(one):
                found |= numbers.mask(file for file in self.files if _top(one) in ("", _top(file)))
        return numbers.named(found)

    def _whole(self, entry: str) -> int:
        """All files that a program imports or may import."""
        files = self.graph.reached_mask(entry)
        return files | self._maybe(files)


def beside(file: str, python: Iterable[str], of_program: Collection[str]) -> bool:
    """Whether a file that is no Python stands beside the files of a program: in their folder, or in one around it.

    Args:
        file: a launcher, a settings file, a page.
        python: all Python files of the project.
        of_program: those of the program.
    """
    known = list(python)
    for folder in folders(file):
        inside = [one for one in known if not folder or one.startswith(f"{folder}/")]
        if inside:
            return any(one in of_program for one in inside)
    return True


def _top(file: str) -> str:
    return file.partition("/")[0] if "/" in file else ""


def _is_test(relative: str) -> bool:
    *folders, name = relative.split("/")
    return not _TESTS.isdisjoint(folders) or name.startswith("test_") or name in ("conftest.py", "setup.py")
