"""What a program reaches: the files that its imports lead to, told apart by what has to be for these to run.

An import in a function that nothing names is never run, one behind an option only with it, and where a failure is
caught the program goes on without what it would have brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.engine.programs.ways import ANYWAY
from npuify.project.closures import Closures, bits_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from npuify.engine.programs.ways import Way, Ways
    from npuify.project.import_graph import ImportGraph, Statement
    from npuify.project.programs import Closure, Programs


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


class _Asked(NamedTuple):
    """Which imports count."""

    unsure: bool = True
    caught: bool = False
    switched: bool = False

    def leaves(self, way: Way) -> bool:
        """Whether an import does not count."""
        return (
            (way.is_caught and not self.caught)
            or (bool(way.switch) and not self.switched)
            or (way.is_unsure and not self.unsure)
        )


_AS_FAR_AS: Final = (_Asked(unsure=False), _Asked(), _Asked(caught=True), _Asked(caught=True, switched=True))
"""What a program surely imports; what it may import; what it goes on without; what it imports only if asked to."""


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
        told: files in which there is anything to say; how others are reached does not matter.
        ways: what has to be for their imports to run.
    """

    def __init__(self, programs: Programs, told: Collection[str], ways: Ways) -> None:
        self._programs = programs
        self._graph = programs.graph
        self._numbers = programs.graph.numbers
        self._ways = ways
        self._told = self._numbers.mask(told)
        self._at_once = _AtOnce(programs.graph)
        self._imports: dict[int, _Imports] = {}
        self._looked_at = 0
        """The files whose imports were looked at."""
        self._reached: dict[int, int] = {}
        self._leading = 0
        """Those of them that have indented imports which lead to files of the project."""
        self._masks: dict[tuple[str, ...], int] = {}
        self._below: dict[str, int] = {}
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
            way = self._ways.to_import(one.file, one.line)
            if way is None or way == ANYWAY:
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

    # --- imports by name ---

    def _by_name(self, wide: Closure, files: int) -> int:
        """What files may import by names that are known only when they run."""
        found = 0
        for file in self._numbers.listed(files & self._programs.choosing):
            for choice in self._ways.choices(file):
                if choice.namers is None or self._mask(choice.namers) & files:
                    found |= self._reached_below(choice.folder)
        return found & wide.maybe

    def _reached_below(self, folder: str) -> int:
        """The files of a folder, all where it is empty, with what they import."""
        if folder not in self._below:
            inside = [one for one in self._programs.files if not folder or one.startswith(f"{folder}/")]
            self._below[folder] = self._graph.reached_mask(*inside)
        return self._below[folder]
