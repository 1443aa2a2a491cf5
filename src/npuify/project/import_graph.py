"""Which Python files of a project import which others, read as text; nothing is imported or executed."""

from __future__ import annotations

import posixpath
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.project.closures import Closures, bits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

LIBRARIES: Final = frozenset({"torch", "numpy", "tensorflow", "jax"})
"""Packages that a file of that name in a folder is not taken for: many projects have a ``utils/torch.py``."""
NOT_THEIRS: Final = sys.stdlib_module_names | LIBRARIES
"""The same with Python's own: a file of such a name is meant only where Python looks there first."""
_IMPORT: Final = re.compile(
    rb"[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    rb"|import[ \t]+(?P<plain>[\w., \t]+))"
)
CHOOSING: Final = re.compile(
    rb"\b(?:import_module|__import__|spec_from_file_location|import_string|locate|run_path|run_module)\("
    rb"(?!\s*(?P<quote>[\"'])[\w.]+(?P=quote)\s*[,)])"
)
"""An import whose module is known only when the program runs."""
_NAMED_MODULE: Final = re.compile(
    rb"\b(?:import_module|__import__|import_string|locate|run_module)\(\s*(?P<quote>[\"'])(?P<name>[A-Za-z_][\w.]*)(?P=quote)"
)
"""An import by a function whose module is written there."""
_CHOOSING_WORDS: Final = (
    *(b"import_module(", b"__import__(", b"spec_from_file_location(", b"import_string("),
    *(b"locate(", b"run_path(", b"run_module("),
)
_RUNNING_WORDS: Final = (b"exec(", b"run_path(", b"spec_from_file_location(")
"""What runs a file that is named by its path."""
_NAMED_FILE: Final = re.compile(rb"[\"'](?:\./)?(?P<path>[A-Za-z_][\w/]*)\.py[\"']")
_NEXT: Final = re.compile(rb"[ \t]*;[ \t]*(?=import\b|from\b)")
"""What stands between two statements on a line."""
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
    chooses = any(word in raw for word in _CHOOSING_WORDS)
    return Imports(
        (
            *(_statements(raw) if b"import" in raw else ()),
            *(_modules_named(raw) if chooses else ()),
            *_files_run(raw),
        ),
        chooses and CHOOSING.search(raw) is not None,
    )


def _files_run(raw: bytes) -> Iterator[Statement]:
    """The files beside this one that ``exec(Path("name.py").read_text())`` and its kind run, as if imported."""
    if b".py" not in raw or not any(word in raw for word in _RUNNING_WORDS):
        return
    for match in _NAMED_FILE.finditer(raw):
        yield _statement_at(match.start(), raw, relative=f".{match['path'].decode().replace('/', '.')}")


def _modules_named(raw: bytes) -> Iterator[Statement]:
    """``importlib.import_module("name")`` and its kind."""
    for match in _NAMED_MODULE.finditer(raw):
        yield _statement_at(match.start(), raw, absolute=match["name"].decode())


def _statement_at(at: int, raw: bytes, absolute: str = "", relative: str = "") -> Statement:
    begin = raw.rfind(b"\n", 0, at) + 1
    is_indented = raw[begin : begin + 1] in (b" ", b"\t")
    line = raw.count(b"\n", 0, begin) + 1
    return Statement(line, is_indented, *((name,) if name else () for name in (absolute, relative)))


def _statements(raw: bytes) -> Iterator[Statement]:
    line, counted, end = 1, 0, -1
    at = raw.find(b"import")
    while at >= 0:
        start = raw.rfind(b"\n", 0, at) + 1
        # What stands behind a statement on its last line is another one only behind a semicolon.
        match = _IMPORT.match(raw, start) if start > end else None
        line += raw.count(b"\n", counted, start)
        counted = start
        while match is not None:
            end = match.end()
            at = end
            yield _statement(match, line, is_indented=raw[start] in b" \t")
            following = _NEXT.match(raw, end)
            match = _IMPORT.match(raw, following.end()) if following is not None else None
        at = raw.find(b"import", at + 1)


def _statement(match: re.Match[bytes], line: int, *, is_indented: bool) -> Statement:
    if match["plain"] is not None:
        names = [_NAME.match(part.strip()) for part in match["plain"].split(b",")]
        return Statement(line, is_indented, tuple(dict.fromkeys(name[0].decode() for name in names if name)))
    base, dots = match["module"].decode(), match["dots"].decode()
    found = [name.decode() for name in _NAME.findall(_COMMENT.sub(b"", match["names"])) if name != b"as"]
    listed = tuple(dict.fromkeys([base, *(f"{base}.{name}" if base else name for name in found)]))
    if dots:
        return Statement(line, is_indented, (), tuple(f"{dots}{name}" for name in listed))
    return Statement(line, is_indented, tuple(name for name in listed if name))


class ImportGraph(Closures):
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
        super().__init__()
        self._files = frozenset(files)
        self._read = read
        self._anywhere = anywhere
        self._imports = dict(known or {})
        self._targets_of: dict[str, tuple[str, ...]] = {}
        self._by_statement: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._tops = _names_in_folders(self._files)
        self._searched: dict[tuple[str, str], tuple[str, ...]] = {}
        self._absolute: dict[tuple[str, str], tuple[str, ...]] = {}
        self._relative: dict[tuple[str, str], tuple[str, ...]] = {}
        self._packages: dict[str, tuple[str, ...]] = {}
        self.numbers = Numbers(files)

    def successors(self, node: int) -> list[int]:
        return self.numbers.all_of(self.targets(self.numbers.names[node]))

    def imports_in(self, relative: str) -> Imports:
        """What a file imports."""
        if relative not in self._imports:
            self._imports[relative] = imports_of(self._read(relative))
        return self._imports[relative]

    def reached(self, *starts: str) -> frozenset[str]:
        """The project's files that are imported when those of ``starts`` are, themselves included."""
        return self.numbers.named(self.reached_mask(*starts))

    def reached_mask(self, *starts: str) -> int:
        """The same as a set of bits; see :attr:`numbers`."""
        return self.of_all(self.numbers.all_of(starts))

    def targets(self, relative: str) -> tuple[str, ...]:
        """The project's files that a file imports itself, with the packages that they lie in."""
        if relative not in self._targets_of:
            found = self.targets_of_statements(relative)
            self._targets_of[relative] = tuple(dict.fromkeys(target for targets in found for target in targets))
        return self._targets_of[relative]

    def targets_of_statements(self, relative: str) -> tuple[tuple[str, ...], ...]:
        """The same for each statement of :meth:`imports_in`."""
        if relative not in self._by_statement:
            folder = posixpath.dirname(relative)
            self._by_statement[relative] = tuple(
                self._targets(one, folder) for one in self.imports_in(relative).statements
            )
        return self._by_statement[relative]

    def _targets(self, found: Statement, folder: str) -> tuple[str, ...]:
        """What a statement of a file in ``folder`` imports."""
        targets: list[str] = []
        around: list[str] = []
        for name in found.absolute:
            key = (folder, name)
            if key not in self._absolute:
                self._absolute[key] = tuple(self._of_absolute(name, folder))
            targets += self._absolute[key][:1]
            around += self._absolute[key][1:]
        for name in found.relative:
            key = (folder, name)
            if key not in self._relative:
                self._relative[key] = tuple(self._of_relative(name, folder))
            targets += self._relative[key]
        return tuple(dict.fromkeys(targets + around))

    def _of_absolute(self, name: str, folder: str) -> Iterator[str]:
        """The file that an absolute name means in a file of ``folder``, then the packages around it."""
        place = self._resolve(name, folder)
        if place is not None:
            yield place[1]
            yield from self._packages_around(_inside(place[0], name))
        elif self._anywhere:
            # A folder that the program puts on the path, as far as one file alone has the name.
            yield from self._elsewhere(name)

    def _of_relative(self, name: str, folder: str) -> Iterator[str]:
        dots = len(name) - len(name.lstrip("."))
        base = folder
        for _ in range(dots - 1):
            base = _around(base)
        path = _inside(base, name[dots:]) if name[dots:] else base
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in self._files:
                yield file
        yield from self._packages_around(path)

    def _packages_around(self, path: str) -> tuple[str, ...]:
        """Importing a.b.c runs a/__init__.py and a/b/__init__.py first."""
        return self._packages_from(_around(path))

    def _packages_from(self, folder: str) -> tuple[str, ...]:
        """What runs first of a folder and those around it, the innermost first."""
        if not folder:
            return ()
        if folder not in self._packages:
            own = f"{folder}/__init__.py"
            outer = self._packages_from(_around(folder))
            self._packages[folder] = (own, *outer) if own in self._files else outer
        return self._packages[folder]

    def _elsewhere(self, name: str) -> Iterator[str]:
        """The one file that a name means which no folder leads to that is searched for sure."""
        top = name.partition(".")[0]
        if top in NOT_THEIRS:
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
        return self._resolve(name, posixpath.dirname(relative))

    def _resolve(self, name: str, folder: str) -> tuple[str, str] | None:
        top = name.partition(".")[0]
        if top in NOT_THEIRS:
            # ``import logging`` beside a package's own ``logging`` means Python's; only a script's folder comes first.
            target = None if f"{folder}/__init__.py" in self._files else self.file(folder, name)
            return (folder, target) if target is not None else None
        for one in self._folders_with(top, folder):
            target = self.file(one, name)
            if target is not None:
                return one, target
        return None

    def _folders_with(self, top: str, folder: str) -> tuple[str, ...]:
        """The folders that are searched for a module from a file in ``folder``, as far as they hold the name."""
        key = (folder, top)
        if key not in self._searched:
            searched = (*_upwards(folder), "src", "lib", "python")
            self._searched[key] = tuple(one for one in searched if top in self._tops.get(one, ()))
        return self._searched[key]

    def file(self, folder: str, name: str) -> str | None:
        """The file of a module that is looked for in ``folder``; None where there is none."""
        base = _inside(folder, name)
        return next((file for file in (f"{base}.py", f"{base}/__init__.py") if file in self._files), None)


class Numbers:
    """A number for each file, so that sets of files can be kept as sets of bits.

    Args:
        files: those that have one from the beginning.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(files))
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._named: dict[int, frozenset[str]] = {}

    def of(self, file: str) -> int:
        """The number of a file."""
        number = self._numbers.get(file)
        if number is None:
            number = self._numbers[file] = len(self.names)
            self.names.append(file)
        return number

    def all_of(self, files: Iterable[str]) -> list[int]:
        """The numbers of files."""
        return [self.of(file) for file in files]

    def mask(self, files: Iterable[str]) -> int:
        """Files as a set of bits."""
        found = 0
        for file in files:
            found |= 1 << self.of(file)
        return found

    def listed(self, mask: int) -> list[str]:
        """The files that a set of bits means, in the order of their numbers."""
        return [self.names[number] for number in bits_of(mask)]

    def named(self, mask: int) -> frozenset[str]:
        """The same as a set."""
        if mask not in self._named:
            self._named[mask] = frozenset(self.listed(mask))
        return self._named[mask]


def _names_in_folders(files: Iterable[str]) -> dict[str, set[str]]:
    """The names of modules and folders that lie in each folder; ``""`` is the root."""
    found: dict[str, set[str]] = {}
    for file in files:
        path = file.removesuffix(".py")
        while path:
            folder, _, name = path.rpartition("/")
            inside = found.setdefault(folder, set())
            if name in inside:
                break
            inside.add(name)
            path = folder
    return found


def _around(path: str) -> str:
    """The folder in which a path lies; empty for the root. ``posixpath.dirname`` takes several times as long."""
    return path.rpartition("/")[0]


def _inside(folder: str, name: str) -> str:
    """The path of a module, without its ending, from a folder."""
    path = name.replace(".", "/")
    return f"{folder}/{path}" if folder else path


def folders(relative: str) -> Iterator[str]:
    """The folder of a file and those around it, the root last."""
    return _upwards(posixpath.dirname(relative))


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder:
        folder = _around(folder)
        yield folder
