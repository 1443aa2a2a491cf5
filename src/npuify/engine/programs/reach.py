"""What a program reaches: the files that its imports lead to, told apart by what has to be for these to run.

An import in a function that nothing names is never run, one behind an option only with it, and where a failure is
caught the program goes on without what it would have brought.
"""

from __future__ import annotations

import ast
import posixpath
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from npuify.engine.programs.nodes import beginning_of, function_around, is_only_for_types, last_name, names_of
from npuify.project.closures import Closures, bits_of
from npuify.project.import_graph import CHOOSING
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.common.packages.import_guards import has_fallback, may_not_run
from npuify.rules.common.surely_run import surely_runs
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.project.import_graph import ImportGraph, Statement
    from npuify.project.programs import Closure, Programs
    from npuify.rules.run import Run


T = TypeVar("T")


class Reach(NamedTuple):
    """The files of a program in which there is something to say, itself included."""

    files: frozenset[str]
    """Those that it imports, as far as no option keeps it from that."""
    optional: dict[str, str]
    """Those that it goes on without where their import fails, with the place of that import."""
    switched: dict[str, str]
    """Those that it imports only where an option, variable or constant asks for it, with this."""
    maybe: frozenset[str]
    """Those that it may import besides: by a name that is known only when it runs, under a condition or in a function
    of which nobody can tell whether the program comes there."""


class _Indented(NamedTuple):
    """An import statement that stands in something else. Sets of files are sets of bits."""

    file: str
    line: int
    targets: int
    """The files that it imports."""
    at_once: int
    """What these import by statements that stand in nothing else, themselves included."""
    leads_to: int
    """What they lead to in any way."""


class _Imports:
    """The imports of a file that stand in something else.

    Args:
        indented: them.
        lead_to: what they lead to.
    """

    __slots__ = ("indented", "lead_to", "plain")

    def __init__(self, indented: list[_Indented], lead_to: int) -> None:
        self.indented = indented
        """Those of which it is not known that they run in any case, or never."""
        self.lead_to = lead_to
        self.plain = 0
        """What is imported by those that are known to run in any case."""


class _Found:
    """What was found of a program so far.

    Args:
        files: its files, as a set of bits.
    """

    def __init__(self, files: int) -> None:
        self.files = files
        self.fresh = files
        """Those whose imports were not looked at yet."""
        self.why: dict[int, str] = {}
        """The place or switch on which files rest, by number, where that of any is known."""
        self.left: list[_Indented] = []
        """Imports that do not run as far as was asked."""
        self.named: dict[_Indented, int] = {}
        """Imports in functions, with the files that name these."""

    def copy(self) -> _Found:
        """The same, to go on from."""
        found = _Found(self.files)
        found.fresh = self.fresh
        found.why, found.left, found.named = dict(self.why), list(self.left), dict(self.named)
        return found

    def take(self, others: _Found) -> None:
        """Add what was found by others alone, as far as is asked for now; they have no fresh files."""
        new = others.files & ~self.files
        self.why.update((number, why) for number, why in others.why.items() if new >> number & 1)
        self.files |= others.files
        self.fresh &= ~others.files
        self.left += [one for one, namers in self.named.items() if namers & new]
        for one in self.left:
            self.named.pop(one, None)
        for one, namers in others.named.items():
            if namers & self.files:
                self.left.append(one)
            else:
                self.named[one] = namers

    def add(self, files: int, why: str) -> None:
        """Add files that rest on the same."""
        new = files & ~self.files
        self.files |= new
        self.fresh |= new
        if why:
            for number in bits_of(new):
                self.why[number] = why


class Once(Protocol):
    """Gives the answer to a question about the project; see :meth:`npuify.engine.kept.standing.Standing.once`."""

    def __call__(self, key: str, sort: Any, project: ProjectIndex, answer: Callable[[ProjectIndex], T]) -> T: ...


class _Way(NamedTuple):
    """What has to be for an indented import to run."""

    namers: tuple[str, ...] | None = None
    """The files that name the function in which it stands; None where it runs without that."""
    is_caught: bool = False
    switch: str = ""
    is_unsure: bool = False
    """Nobody can tell whether the program comes to it."""


_ANYWAY: Final = _Way()


class _Asked(NamedTuple):
    """Which imports count."""

    unsure: bool = True
    caught: bool = False
    switched: bool = False

    def leaves(self, way: _Way) -> bool:
        """Whether an import does not count."""
        return (
            (way.is_caught and not self.caught)
            or (bool(way.switch) and not self.switched)
            or (way.is_unsure and not self.unsure)
        )


_AS_FAR_AS: Final = (_Asked(unsure=False), _Asked(), _Asked(caught=True), _Asked(caught=True, switched=True))
"""What a program surely imports; what it may import; what it goes on without; what it imports only if asked to."""


class _Choice(NamedTuple):
    """An import by a name that is known only when it runs."""

    folder: str
    """From which it takes; empty: from anywhere."""
    namers: tuple[str, ...] | None
    """As those of :class:`_Way`."""


class _AtOnce(Closures):
    """What files import by statements that stand in nothing else."""

    def __init__(self, graph: ImportGraph) -> None:
        super().__init__()
        self._graph = graph

    def successors(self, node: int) -> list[int]:
        found = (targets for statement, targets in _statements_of(node, self._graph) if not statement.is_indented)
        return self._graph.numbers.all_of(dict.fromkeys(target for targets in found for target in targets))


def _statements_of(number: int, graph: ImportGraph) -> Iterator[tuple[Statement, tuple[str, ...]]]:
    """The import statements of a file, with what they import."""
    file = graph.numbers.names[number]
    return zip(graph.imports_in(file).statements, graph.targets_of_statements(file), strict=True)


class Reaches:
    """What the programs of a project reach. Sets of files are sets of bits inside: there are many programs.

    Args:
        programs: its programs.
        run: what the run is about.
        told: files in which there is anything to say; how others are reached does not matter.
        once: gives answers that rest on files alone.
    """

    def __init__(self, programs: Programs, run: Run, told: Collection[str], once: Once) -> None:
        self._programs = programs
        self._graph = programs.graph
        self._numbers = programs.graph.numbers
        self._run = run
        self._once = once
        self._told = self._numbers.mask(told)
        self._at_once = _AtOnce(programs.graph)
        self._imports: dict[int, _Imports] = {}
        self._looked_at = 0
        """The files whose imports were looked at."""
        self._reached: dict[int, int] = {}
        self._leading = 0
        """Those of them that have indented imports which lead to files of the project."""
        self._ways: dict[tuple[str, int], _Way | None] = {}
        self._masks: dict[tuple[str, ...], int] = {}
        self._below: dict[str, int] = {}
        self._choices: dict[str, tuple[_Choice, ...]] = {}
        self._shared: dict[tuple[int, bool], tuple[_Found, ...]] = {}

    def of(self, entry: str) -> Reach:
        """What a program reaches.

        Args:
            entry: the file that is started.
        """
        told, named = self._told, self._numbers.named
        wide = self._programs.closure(entry)
        at_once = self._at_once.of(self._numbers.of(entry))
        open_ones = (wide.files | wide.maybe) & told & ~at_once
        if not open_ones:
            return Reach(named(wide.files & told), {}, {}, named(wide.maybe & told))
        if wide.maybe & open_ones:
            open_ones |= wide.files & self._programs.choosing
        found = _Found(at_once)
        files: list[int] = []
        others = self._of_others(at_once & ~(1 << self._numbers.of(entry)), bool(wide.maybe & open_ones))
        for asked, of_others in zip(_AS_FAR_AS, others, strict=True):
            found.take(of_others)
            self._follow(found, open_ones, asked)
            files.append(found.files)
        sure, perhaps, optional, switched = (now & ~before for now, before in zip(files, [0, *files], strict=False))
        by_name = self._by_name(wide, sure | perhaps | optional) & ~found.files if wide.maybe & open_ones else 0
        maybe = perhaps | by_name
        return Reach(
            named(sure & told), self._with_why(optional, found), self._with_why(switched, found), named(maybe & told)
        )

    def _with_why(self, files: int, found: _Found) -> dict[str, str]:
        return {self._numbers.names[number]: found.why.get(number, "") for number in bits_of(files & self._told)}

    # --- imports ---

    def _of_others(self, files: int, by_name: bool) -> tuple[_Found, ...]:
        """What the files that programs import at once lead to, as far as each of :data:`_AS_FAR_AS`.

        Most programs of a library import the same of it, and add but a file of their own.
        """
        key = (files, by_name)
        if key not in self._shared:
            wanted = self._told & ~files | (self._programs.choosing if by_name else 0)
            found = _Found(files)
            steps = []
            for asked in _AS_FAR_AS:
                self._follow(found, wanted, asked)
                steps.append(found.copy())
            self._shared[key] = tuple(steps)
        return self._shared[key]

    def _imports_of(self, number: int) -> _Imports:
        if number not in self._imports:
            file = self._numbers.names[number]
            indented: list[_Indented] = []
            lead_to = 0
            for statement, targets in _statements_of(number, self._graph):
                if statement.is_indented and targets:
                    mask, leads_to = self._numbers.mask(targets), self._graph.reached_mask(*targets)
                    at_once = self._at_once.of_all(self._numbers.all_of(targets))
                    indented.append(_Indented(file, statement.line, mask, at_once, leads_to))
                    lead_to |= leads_to
            self._imports[number] = _Imports(indented, lead_to)
            self._looked_at |= 1 << number
            if lead_to:
                self._leading |= 1 << number
        return self._imports[number]

    def _follow(self, found: _Found, wanted: int, asked: _Asked) -> None:
        """Add to ``found`` what its files import, with the place or switch on which that rests.

        What else has to be for an import to run is asked only where it leads to something wanted, by way of files that
        are not found yet.
        """
        pending, found.left = found.left, []
        while found.fresh or pending:
            if found.fresh:
                fresh, found.fresh = found.fresh, 0
                for number in bits_of(fresh & (self._leading | ~self._looked_at)):
                    imports = self._imports_of(number)
                    if imports.plain & ~found.files:
                        found.add(imports.plain, found.why.get(number, ""))
                    if imports.lead_to & wanted:
                        pending += [one for one in imports.indented if one.leads_to & wanted]
                # These files may also name functions whose imports did not count before.
                for one in [one for one, namers in found.named.items() if namers & fresh]:
                    del found.named[one]
                    pending.append(one)
                continue
            one = pending.pop()
            open_ones = one.targets & ~found.files
            if open_ones != one.targets and not (open_ones and self._leads_on(open_ones, wanted)):
                continue
            way = self._way(one)
            if way is None or way == _ANYWAY:
                # The next program need not ask again.
                imports = self._imports[self._numbers.of(one.file)]
                if one in imports.indented:
                    imports.indented.remove(one)
                    imports.plain |= one.at_once if way is not None else 0
            if way is None:
                continue
            if asked.leaves(way):
                found.left.append(one)
            elif way.namers is not None and not (namers := self._mask(way.namers)) & found.files:
                found.named[one] = namers
            else:
                why = way.switch or (f"{one.file}:{one.line}" if way.is_caught else "")
                if not why and found.why:
                    why = found.why.get(self._numbers.of(one.file), "")
                found.add(one.at_once, why)

    def _leads_on(self, targets: int, wanted: int) -> bool:
        """Whether one of some files leads to something wanted."""
        reached = self._reached.get(targets)
        if reached is None:
            reached = self._reached[targets] = self._graph.of_all(bits_of(targets))
        return reached & wanted != 0

    def _mask(self, files: tuple[str, ...]) -> int:
        """Files as a set of bits."""
        if files not in self._masks:
            self._masks[files] = self._numbers.mask(files)
        return self._masks[files]

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

    def _way(self, indented: _Indented) -> _Way | None:
        """What has to be for an import to run; None where it is in a text, or for types alone."""
        key = (indented.file, indented.line)
        if key not in self._ways:
            self._ways[key] = self._once(
                f"way {indented.file}:{indented.line}",
                _Way | None,
                self._run.project,
                lambda view: self._read_way(*key, view),
            )
        return self._ways[key]

    def _read_way(self, file: str, line: int, project: ProjectIndex) -> _Way | None:
        python = self._python(file, project)
        if python is None:
            return _Way()
        found: list[ast.AST] = []
        python.source.visit([line], found.append)
        imports = [one for one in found if isinstance(one, (ast.Import, ast.ImportFrom)) and one.lineno == line]
        if not imports or is_only_for_types(imports[0], python):
            return None
        function = function_around(imports[0], python)
        namers = self._namers_of(function, python) if function is not None else None
        is_unsure = may_not_run(imports[0], python) and not surely_runs(imports[0], python)
        return _Way(namers, has_fallback(imports[0], python), only_with(imports[0], python), is_unsure)

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

    # --- imports by name ---

    def _by_name(self, wide: Closure, files: int) -> int:
        """What files may import by names that are known only when they run."""
        found = 0
        for file in self._numbers.listed(files & self._programs.choosing):
            if file not in self._choices:
                self._choices[file] = self._once(
                    f"choices {file}",
                    tuple[_Choice, ...],
                    self._run.project,
                    partial(self._listed_choices, file),
                )
            for choice in self._choices[file]:
                if choice.namers is None or self._mask(choice.namers) & files:
                    found |= self._reached_below(choice.folder)
        return found & wide.maybe

    def _listed_choices(self, file: str, project: ProjectIndex) -> tuple[_Choice, ...]:
        return tuple(self._choices_in(file, project))

    def _choices_in(self, file: str, project: ProjectIndex) -> Iterator[_Choice]:
        project.dependencies.add(file)
        text = self._programs.read(file)
        for match in CHOOSING.finditer(text):
            choice = self._choice_at(file, text.count(b"\n", 0, match.start()) + 1, project)
            if choice is not None:
                yield choice

    def _reached_below(self, folder: str) -> int:
        """The files of a folder, all where it is empty, with what they import."""
        if folder not in self._below:
            inside = [one for one in self._programs.files if not folder or one.startswith(f"{folder}/")]
            self._below[folder] = self._graph.reached_mask(*inside)
        return self._below[folder]

    def _choice_at(self, file: str, line: int, project: ProjectIndex) -> _Choice | None:
        """The import by name on a line; None where an option keeps it from running."""
        top = file.partition("/")[0] if "/" in file else ""
        python = self._python(file, project)
        if python is None:
            return _Choice(top, None)
        calls = [
            node
            for node in python.nodes_on_lines_with("import_module", "__import__", "spec_from_file_location", "locate")
            if isinstance(node, ast.Call)
            and node.lineno == line
            and CHOOSING.match(f"{last_name(node.func)}(".encode())
        ]
        if len(calls) != 1:
            return _Choice(top, None)
        if only_with(calls[0], python):
            return None
        function = function_around(calls[0], python)
        namers = self._namers_of(function, python) if function is not None else None
        package = beginning_of(calls[0].args[0]) if calls[0].args else ""
        if not package.endswith("."):
            return _Choice(top, namers)
        if package.startswith("."):
            return _Choice(posixpath.dirname(file), namers)
        first = package.partition(".")[0]
        if not any(f"/{first}/" in f"/{one}" or f"/{first}.py" in f"/{one}" for one in self._programs.files):
            return None  # of another package
        place = self._graph.resolve(package.strip("."), file)
        is_package = place is not None and place[1].endswith("__init__.py")
        return _Choice(posixpath.dirname(place[1]) if place is not None and is_package else top, namers)

    def _python(self, file: str, project: ProjectIndex) -> PythonFile | None:
        return PythonFile.of_project(file, self._run._replace(project=project))
