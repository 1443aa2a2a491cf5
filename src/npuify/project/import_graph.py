"""Which Python files of a project import which others, read as text; nothing is imported or executed."""

from __future__ import annotations

import posixpath
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

_IMPORT: Final = re.compile(
    rb"\n[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#]*)"
    rb"|import[ \t]+(?P<plain>[\w., \t]+))"
)
CHOOSING: Final = re.compile(
    rb"\b(?:import_module|__import__|spec_from_file_location|import_string|locate|run_path|run_module)\("
    rb"(?!\s*(?P<quote>[\"'])[\w.]+(?P=quote))"
)
"""An import whose module is known only when the program runs."""
_CHOOSING_WORDS: Final = (b"import_", b"__import__(", b"locat", b"run_")
_NAME: Final = re.compile(rb"[A-Za-z_][\w.]*")
_COMMENT: Final = re.compile(rb"#[^\n]*")


class Statement(NamedTuple):
    """An import statement, by its text: one in a string of several lines, too."""

    line: int
    """From 1."""
    is_indented: bool
    absolute: tuple[str, ...]
    """Modules, and for ``from a import b`` also ``a.b``, which may be one."""
    relative: tuple[str, ...] = ()
    """The same for relative imports, with their dots."""


class Imports(NamedTuple):
    """What one file imports."""

    statements: tuple[Statement, ...] = ()
    chooses: bool = False
    """Whether it imports a module whose name is known only when it runs."""

    @property
    def absolute(self) -> tuple[str, ...]:
        """The modules of all statements."""
        return tuple(dict.fromkeys(name for one in self.statements for name in one.absolute))

    @property
    def relative(self) -> tuple[str, ...]:
        """Those that are imported relatively, with their dots."""
        return tuple(dict.fromkeys(name for one in self.statements for name in one.relative))


def imports_of(raw: bytes) -> Imports:
    """The imports in a file's text, wherever they stand in it."""
    return Imports(
        tuple(_statements(raw)) if b"import" in raw else (),
        any(word in raw for word in _CHOOSING_WORDS) and CHOOSING.search(raw) is not None,
    )


def _statements(raw: bytes) -> Iterator[Statement]:
    line, counted = 0, 0
    raw = b"\n" + raw
    for match in _IMPORT.finditer(raw):
        start = match.start() + 1
        line += raw.count(b"\n", counted, start)
        counted = start
        is_indented = raw[start] in b" \t"
        if match["plain"] is not None:
            names = [_NAME.match(part.strip()) for part in match["plain"].split(b",")]
            yield Statement(line, is_indented, tuple(dict.fromkeys(name[0].decode() for name in names if name)))
            continue
        base, dots = match["module"].decode(), match["dots"].decode()
        found = [name.decode() for name in _NAME.findall(_COMMENT.sub(b"", match["names"])) if name != b"as"]
        listed = tuple(dict.fromkeys([base, *(f"{base}.{name}" if base else name for name in found)]))
        if dots:
            yield Statement(line, is_indented, (), tuple(f"{dots}{name}" for name in listed))
        else:
            yield Statement(line, is_indented, tuple(name for name in listed if name))


class ImportGraph:
    """Which files of a project import which; a file is read when it is first asked about.

    Args:
        files: its Python files, by path relative to the root with forward slashes.
        read: gives the content of one of them; empty where it cannot be read.
        known: what some of them import, where it was read already.
        anywhere: a name that no folder leads to which is searched for sure means the one file that is called so.
    """

    def __init__(
        self,
        files: Collection[str],
        read: Callable[[str], bytes],
        known: Mapping[str, Imports] | None = None,
        *,
        anywhere: bool = False,
    ) -> None:
        self._files = frozenset(files)
        self._read = read
        self._anywhere = anywhere
        self._imports = dict(known or {})
        self._known: dict[str, tuple[str, ...]] = {}
        self._by_statement: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._by_name: dict[str, list[str]] = {}

    def imports_in(self, relative: str) -> Imports:
        """What a file imports."""
        if relative not in self._imports:
            self._imports[relative] = imports_of(self._read(relative))
        return self._imports[relative]

    def reached(self, *starts: str) -> frozenset[str]:
        """The project's files that are imported when those of ``starts`` are, themselves included."""
        seen = set(starts)
        pending = list(starts)
        while pending:
            current = pending.pop()
            for target in self.targets(current):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return frozenset(seen)

    def targets(self, relative: str) -> tuple[str, ...]:
        """The project's files that a file imports itself, with the packages that they lie in."""
        if relative not in self._known:
            found = self.targets_of_statements(relative)
            self._known[relative] = tuple(dict.fromkeys(target for targets in found for target in targets))
        return self._known[relative]

    def targets_of_statements(self, relative: str) -> tuple[tuple[str, ...], ...]:
        """The same for each statement of :meth:`imports_in`."""
        if relative not in self._by_statement:
            self._by_statement[relative] = tuple(
                tuple(dict.fromkeys(self._targets(one, relative))) for one in self.imports_in(relative).statements
            )
        return self._by_statement[relative]

    def _targets(self, found: Statement, relative: str) -> Iterator[str]:
        names = []
        for name in found.absolute:
            place = self.resolve(name, relative)
            if place is not None:
                yield place[1]
                names.append(posixpath.join(place[0], name.replace(".", "/")))
            elif self._anywhere:
                # A folder that the program puts on the path, as far as one file alone has the name.
                yield from self._elsewhere(name)
        folder = posixpath.dirname(relative)
        for name in found.relative:
            dots = len(name) - len(name.lstrip("."))
            base = folder
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            path = posixpath.join(base, name[dots:].replace(".", "/")) if name[dots:] else base
            names.append(path)
            for file in (f"{path}.py", f"{path}/__init__.py"):
                if file in self._files:
                    yield file
        for path in names:
            # Importing a.b.c runs a/__init__.py and a/b/__init__.py first.
            while path := posixpath.dirname(path):
                if f"{path}/__init__.py" in self._files:
                    yield f"{path}/__init__.py"

    def _elsewhere(self, name: str) -> Iterator[str]:
        """The one file that a name means which no folder leads to that is searched for sure."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return
        if not self._by_name:
            for file in self._files:
                folder, last = posixpath.split(file)
                own = posixpath.basename(folder) if last == "__init__.py" else last[: -len(".py")]
                self._by_name.setdefault(own, []).append(file)
        path = name.replace(".", "/")
        ends = (f"/{path}.py", f"/{path}/__init__.py")
        same = [file for file in self._by_name.get(name.rpartition(".")[2], ()) if file.endswith(ends)]
        if len(same) == 1:
            yield same[0]

    def resolve(self, name: str, relative: str) -> tuple[str, str] | None:
        """The folder from which ``name`` leads to a file of the project, the nearest one, and that file."""
        if name.partition(".")[0] in sys.stdlib_module_names:
            # ``import logging`` beside a package's own ``logging`` means Python's; only a script's folder comes first.
            folder = posixpath.dirname(relative)
            target = None if f"{folder}/__init__.py" in self._files else self.file(folder, name)
            return (folder, target) if target is not None else None
        for folder in folders(relative):
            target = self.file(folder, name)
            if target is not None:
                return folder, target
        for folder in ("src", "lib", "python"):
            target = self.file(folder, name)
            if target is not None:
                return folder, target
        return None

    def file(self, folder: str, name: str) -> str | None:
        """The file of a module that is looked for in ``folder``; None where there is none."""
        base = posixpath.join(folder, name.replace(".", "/"))
        return next((file for file in (f"{base}.py", f"{base}/__init__.py") if file in self._files), None)


def folders(relative: str) -> Iterator[str]:
    """The folder of a file and those around it, the root last."""
    folder = posixpath.dirname(relative)
    yield folder
    while folder:
        folder = posixpath.dirname(folder)
        yield folder
