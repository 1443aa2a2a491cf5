"""What has to be for one import, or another place, to be run: read from its file, and kept while that is the same."""

from __future__ import annotations

import ast
import posixpath
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from npuify.engine.programs.nodes import beginning_of, function_around, is_only_for_types, last_name, names_of
from npuify.project.import_graph import CHOOSING
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.common.packages.import_guards import has_fallback, may_not_run
from npuify.rules.common.surely_run import surely_runs
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.project.programs import Programs
    from npuify.rules.run import Run


T = TypeVar("T")


class Once(Protocol):
    """Gives the answer to a question about the project; see :meth:`npuify.engine.kept.standing.Standing.once`."""

    def __call__(self, key: str, sort: Any, project: ProjectIndex, answer: Callable[[ProjectIndex], T]) -> T: ...


class Way(NamedTuple):
    """What has to be for an indented import to run."""

    namers: tuple[str, ...] | None = None
    """The files that name the function in which it stands; None where it runs without that."""
    is_caught: bool = False
    switch: str = ""
    is_unsure: bool = False
    """Nobody can tell whether the program comes to it."""


ANYWAY: Final = Way()


class Choice(NamedTuple):
    """An import by a name that is known only when it runs."""

    folder: str
    """From which it takes; empty: from anywhere."""
    namers: tuple[str, ...] | None
    """As those of :class:`Way`."""


class Ways:
    """How a program comes to places of its files.

    Args:
        programs: those of the project.
        run: what the run is about.
        once: gives answers that rest on files alone.
    """

    def __init__(self, programs: Programs, run: Run, once: Once) -> None:
        self._programs = programs
        self._run = run
        self._once = once
        self._ways: dict[tuple[str, int], Way | None] = {}
        self._choices: dict[str, tuple[Choice, ...]] = {}

    def to_import(self, file: str, line: int) -> Way | None:
        """What has to be for an import to run; None where it is in a text, or for types alone."""
        key = (file, line)
        if key not in self._ways:
            self._ways[key] = self._once(
                f"way {file}:{line}", Way | None, self._run.project, lambda view: self._read_way(*key, view)
            )
        return self._ways[key]

    def _read_way(self, file: str, line: int, project: ProjectIndex) -> Way | None:
        python = self._python(file, project)
        if python is None:
            return Way()
        found: list[ast.AST] = []
        python.source.visit([line], found.append)
        imports = [one for one in found if isinstance(one, (ast.Import, ast.ImportFrom)) and one.lineno == line]
        if not imports or is_only_for_types(imports[0], python):
            return None
        function = function_around(imports[0], python)
        namers = self._namers_of(function, python) if function is not None else None
        is_unsure = may_not_run(imports[0], python) and not surely_runs(imports[0], python)
        return Way(namers, has_fallback(imports[0], python), only_with(imports[0], python), is_unsure)

    def _namers_of(self, function: ast.FunctionDef | ast.AsyncFunctionDef, file: PythonFile) -> tuple[str, ...] | None:
        """The files, besides its own, that name a function or take names from its module as text; None where its own
        does."""
        relative = file.source.relative
        names, words = names_of(function, file)
        if not names.isdisjoint(words) or b"globals" in words:
            return None
        naming = {one for name in names for one in file.project.files_with(name)}
        naming.update(file.project.files_taking_from(relative))
        return tuple(sorted(naming - {relative}))

    def choices(self, file: str) -> tuple[Choice, ...]:
        """The imports of a file by names that are known only when it runs."""
        if file not in self._choices:
            self._choices[file] = self._once(
                f"choices {file}", tuple[Choice, ...], self._run.project, partial(self._listed_choices, file)
            )
        return self._choices[file]

    def _listed_choices(self, file: str, project: ProjectIndex) -> tuple[Choice, ...]:
        return tuple(self._choices_in(file, project))

    def _choices_in(self, file: str, project: ProjectIndex) -> Iterator[Choice]:
        project.dependencies.add(file)
        text = self._programs.read(file)
        for match in CHOOSING.finditer(text):
            choice = self._choice_at(file, text.count(b"\n", 0, match.start()) + 1, project)
            if choice is not None:
                yield choice

    def _choice_at(self, file: str, line: int, project: ProjectIndex) -> Choice | None:
        """The import by name on a line; None where an option keeps it from running."""
        top = file.partition("/")[0] if "/" in file else ""
        python = self._python(file, project)
        if python is None:
            return Choice(top, None)
        calls = [
            node
            for node in python.nodes_on_lines_with("import_module", "__import__", "spec_from_file_location", "locate")
            if isinstance(node, ast.Call)
            and node.lineno == line
            and CHOOSING.match(f"{last_name(node.func)}(".encode())
        ]
        if len(calls) != 1:
            return Choice(top, None)
        if only_with(calls[0], python):
            return None
        function = function_around(calls[0], python)
        namers = self._namers_of(function, python) if function is not None else None
        package = beginning_of(calls[0].args[0]) if calls[0].args else ""
        if not package.endswith("."):
            return Choice(top, namers)
        if package.startswith("."):
            return Choice(posixpath.dirname(file), namers)
        first = package.partition(".")[0]
        if not any(f"/{first}/" in f"/{one}" or f"/{first}.py" in f"/{one}" for one in self._programs.files):
            return None  # of another package
        place = self._programs.graph.resolve(package.strip("."), file)
        is_package = place is not None and place[1].endswith("__init__.py")
        return Choice(posixpath.dirname(place[1]) if place is not None and is_package else top, namers)

    def unsure_lines(self, file: str, lines: tuple[int, ...]) -> frozenset[int]:
        """Those of some lines of a file of which nobody can tell whether a program that has the file comes to them.

        Args:
            file: of Python; of others, none.
            lines: where something stands.
        """
        if not file.endswith(".py"):
            return frozenset()
        asked = blake2b(repr(lines).encode(), digest_size=12).hexdigest()
        key = f"unsure {file} {asked}"
        return self._once(key, frozenset[int], self._run.project, lambda view: self._unsure_lines(file, lines, view))

    def _unsure_lines(self, file: str, lines: tuple[int, ...], project: ProjectIndex) -> frozenset[int]:
        python = self._python(file, project)
        if python is None:
            return frozenset()
        found: list[ast.AST] = []
        python.source.visit(lines, found.append)
        first: dict[int, ast.AST] = {}
        for node in found:
            first.setdefault(getattr(node, "lineno", 0), node)
        nodes = [(line, first[line]) for line in lines if line in first]
        return frozenset(line for line, node in nodes if may_not_run(node, python) and not surely_runs(node, python))

    def _python(self, file: str, project: ProjectIndex) -> PythonFile | None:
        return PythonFile.of_project(file, self._run._replace(project=project))
