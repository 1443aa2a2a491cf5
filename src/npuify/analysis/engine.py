"""How questions are asked: each once, only when something needs it, and also where they lead back to themselves.

A question is asked of a file under a key, mostly a syntax node, and answered by a set of values. One that leads back
to itself is given what is known so far, and asked again until nothing is added. What was found on the way, while a
question further out was still open, is a draft until that question is answered.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import OrderedDict
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from npuify.analysis.files import SEARCHED, Answer, FileModel, Function
from npuify.analysis.texts.mentions import files_mentioning
from npuify.analysis.values import ANYTHING, NOTHING
from npuify.project.import_graph import NOT_THEIRS

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from npuify.analysis.targets import Bound
    from npuify.analysis.values import Place, Value, Values
    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Scope


class Reach(IntEnum):
    """How far a question may look."""

    FILE = 1
    """Into the file itself; a name that it imports is followed by name alone."""
    IMPORTS = 2
    """Into the files that hold what the file imports, too."""
    PROGRAM = 3
    """Anywhere: also for calls of the file's functions, and assignments to its objects, in other files."""


class Project(Protocol):
    """What the model needs of a project; ``ProjectIndex`` has it."""

    modules: dict[str, str]
    dependencies: set[str]

    def model_of(self, relative: str) -> FileModel | None:
        """A file of the project, parsed; None where it cannot be."""

    def file_of(self, module: str) -> str | None:
        """The file of a module."""

    def reexport(self, qualified: str) -> str | None:
        """What a name of one of the project's modules stands for in the end."""

    def files_with(self, text: bytes) -> list[str]:
        """The files in which a text stands."""

    def files_importing(self, name: bytes) -> list[str]:
        """The files that may import something in whose dotted name a word stands."""

    def files_deriving(self, name: bytes) -> list[str]:
        """The files in which a class of that name may be a base."""

    def files_storing(self, name: bytes) -> list[str]:
        """The files that may assign to an attribute."""

    def class_named(self, qualified: str) -> str | None:
        """The class that a qualified name denotes, where that matters."""


Key = int | str | None
"""The index or key of an item; None for any."""
_DEEPEST = 110
"""Questions that may be open at once."""
_STACK = 2000
"""Calls that so many questions may need; how deep Python's stack was before must not change an answer."""
_ROUNDS = 12
_WORK = 60_000
"""Questions that one question from outside may lead to."""
_WORK_OF_PROGRAM = 20_000
"""The same, for one of a whole program of which not all files are kept: in a large project that takes long."""
_WORK_FOR_FILE = 30_000
"""What all questions of a whole program may lead to that are asked for one file: flows ask hundreds of them."""
_PARSING = 400
"""What parsing a file counts as, of these."""
_SETTLED = 1 << 30


class _SpentError(Exception):
    """An answer takes more work than is left for it."""


class _Open:
    __slots__ = ("depth", "leads_back", "values")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.values: Values = NOTHING
        self.leads_back = False


class _Draft(NamedTuple):
    values: Values
    lowest: int
    """The depth of the outermost open question that it depends on."""
    files: frozenset[str]


class Engine(ABC):
    """Asks questions of files, and names those that the steps of the analysis ask of each other.

    Args:
        project: the project's files.
        reach: how far questions look.
        keep: how many files are remembered; None for all.
        tells_calls_apart: what a function makes that is called in several places is another thing for each of them.
        leave_out: files in which neither calls nor assignments are sought.
        resolve: the file that a module's name means to a file that imports it, where more is known of that than the
            project says.
    """

    def __init__(
        self,
        project: Project,
        reach: Reach,
        keep: int | None = 48,
        tells_calls_apart: bool = False,
        leave_out: Callable[[str], bool] | None = None,
        resolve: Callable[[str, str], str | None] | None = None,
    ) -> None:
        self.project = project
        self.reach = reach
        self.at_hand: FileModel | None = None
        self.files: OrderedDict[str, FileModel] = OrderedDict()
        self.tells_calls_apart = tells_calls_apart
        self._keep = keep
        self._leave_out = leave_out
        self._resolve = resolve
        self._is_current = False
        self._packages: frozenset[str] | None = None
        self._paths: frozenset[str] = frozenset(project.modules.values())
        self._open: dict[tuple[FileModel, Any], _Open] = {}
        self._drafts: dict[tuple[FileModel, Any], _Draft] = {}
        self._log: list[tuple[FileModel, Any]] = []
        self._lowest = _SETTLED
        self._seen: set[str] = set()
        # Files are shared by models of one project: one that is asked otherwise answers otherwise.
        is_plain = not tells_calls_apart and leave_out is None and resolve is None
        self._sort: object = reach if is_plain else object()
        self._is_limited = keep is not None and reach is Reach.PROGRAM
        self._left = _WORK_FOR_FILE
        self._granted = self._work = self._grant()

    # --- files ---

    def open(self, source: PythonSource, *, current: bool = False) -> FileModel:
        """The model of a file that the caller holds; ``current`` says that its text is the one in the project."""
        if self.at_hand is None or self.at_hand.source is not source:
            self.at_hand = FileModel(source)
        self._is_current = current
        return self.at_hand

    def start_file(self) -> None:
        """What is asked from now on is asked for another file, with the same right to be worked on."""
        self._left = _WORK_FOR_FILE
        self._granted = self._work = self._grant()

    @property
    def is_spent(self) -> bool:
        """Whether what may be asked for one file is used up, so that what was found since may lack something."""
        return self._is_limited and self._left <= self._granted - self._work

    def _settle(self) -> None:
        """Book what was used since work was granted, and grant anew: files are looked at between questions, too."""
        if self._is_limited:
            self._left -= self._granted - self._work
        self._granted = self._work = self._grant()

    def _grant(self) -> int:
        return min(_WORK_OF_PROGRAM, max(self._left, 0)) if self._is_limited else _WORK

    def forget(self) -> None:
        """Let go of all files."""
        self.at_hand = None
        self.files.clear()

    def file(self, relative: str, near: FileModel | None = None) -> FileModel | None:
        """A file of the project, as far as the question reaches; None where it cannot be looked at."""
        if near is not None and near.relative == relative:
            return near
        hand = self.at_hand
        if hand is not None and hand.relative == relative and (self._is_current or self.reach is Reach.FILE):
            return hand
        if self.reach is Reach.FILE:
            return None
        (self._seen if self._open else self.project.dependencies).add(relative)
        known = self.files.get(relative)
        if known is None:
            model = self.project.model_of(relative)
            if model is None:
                return None
            known = self.files[relative] = model
            if self._keep is not None and self.reach is Reach.PROGRAM:
                # Files that are let go of again are parsed again: in a large project that would take minutes.
                self._work -= _PARSING
        self.files.move_to_end(relative)
        return known

    def file_of_module(self, module: str, near: FileModel) -> str | None:
        """The file that a module's name means where ``near`` imports it."""
        if self._resolve is not None:
            return self._resolve(module, near.relative)
        top = module.partition(".")[0]
        found = None if top in sys.stdlib_module_names else self.project.modules.get(module)
        if found is not None or not module:
            return found
        folder, slash, _ = near.relative.rpartition("/")
        path = f"{folder}{slash}{module.replace('.', '/')}"
        if f"{folder}{slash}__init__.py" not in self._paths or top not in NOT_THEIRS:
            # A script's folder is searched first.
            found = next((one for one in (f"{path}.py", f"{path}/__init__.py") if one in self._paths), None)
        # A file of that name elsewhere may be meant where folders are added to the path, but is hardly one of Python's.
        return found or (None if top in NOT_THEIRS else self.project.file_of(module))

    def is_package(self, module: str) -> bool:
        """Whether modules of the project lie below a name, also where its folder has no ``__init__.py``."""
        if self._packages is None:
            found: set[str] = set()
            for name in self.project.modules:
                while name := name.rpartition(".")[0]:
                    found.add(name)
            self._packages = frozenset(found)
        return module in self._packages

    def files_with(self, word: str, beside: tuple[str, ...] = ()) -> list[FileModel]:
        """The files that hold a word, and one of those ``beside`` it, if any; as far as the question reaches."""
        found = self.project.files_with
        if not beside:
            return self._looked_for(found, word)
        able = {one for other in beside for one in found(other.encode())}
        return self._looked_for(lambda text: [one for one in found(text) if one in able], word)

    def files_mentioning(self, name: str, home: str) -> list[FileModel]:
        """The files that may mention what a file binds at its top under a name; as far as the question reaches."""
        return self._looked_for(lambda _: files_mentioning(name, home, self.project), name)

    def files_deriving(self, name: str) -> list[FileModel]:
        """The files in which a class of that name may be a base; as far as the question reaches."""
        return self._looked_for(self.project.files_deriving, name)

    def files_storing(self, name: str) -> list[FileModel]:
        """The files that may assign to an attribute, as far as the question reaches."""
        return self._looked_for(self.project.files_storing, name)

    def _looked_for(self, look: Callable[[bytes], list[str]], word: str) -> list[FileModel]:
        if self.reach is not Reach.PROGRAM:
            return []
        (self._seen if self._open else self.project.dependencies).add(SEARCHED)
        leave_out = self._leave_out
        found = look(word.encode())
        if self._is_limited and self._open:
            unread = sum(relative not in self.files for relative in found)
            if unread * _PARSING > self._work:
                raise _SpentError
        files = (self.file(relative) for relative in found if leave_out is None or not leave_out(relative))
        return [file for file in files if file is not None]

    def stands_for(self, qualified: str) -> str:
        """A qualified name with the project's re-exports followed."""
        before, self.project.dependencies = self.project.dependencies, set()
        try:
            return self.project.reexport(qualified) or qualified
        finally:
            self._seen |= self.project.dependencies
            before |= self.project.dependencies
            self.project.dependencies = before

    # --- nodes ---

    def node(self, place: Place | None, near: FileModel | None = None) -> tuple[FileModel, ast.AST] | None:
        """The node at a place, with its file."""
        file = self.file(place.file, near) if place is not None else None
        node = file.node_at(place) if file is not None and place is not None else None
        return (file, node) if file is not None and node is not None else None

    def definition(self, value: Value, near: FileModel | None = None) -> tuple[FileModel, ast.AST] | None:
        """The function or class of a value, with its file."""
        return self.node(value.definition, near)

    # --- what the steps ask of each other ---

    @abstractmethod
    def values(self, node: ast.expr, file: FileModel) -> Values:
        """What an expression may stand for."""

    @abstractmethod
    def name(self, name: str, scope: Scope, file: FileModel) -> Values:
        """What a name of a scope stands for."""

    @abstractmethod
    def bound(self, bound: Bound, file: FileModel) -> Values:
        """What a target gets."""

    @abstractmethod
    def attribute(self, values: Values, name: str, file: FileModel) -> Values:
        """An attribute of values."""

    @abstractmethod
    def items(self, values: Values, key: Key, file: FileModel) -> Values:
        """The item of containers under a key; any, for the key None."""

    @abstractmethod
    def elements(self, values: Values, file: FileModel) -> Values:
        """What a loop over values goes through."""

    @abstractmethod
    def called(self, callee: Value, file: FileModel) -> Values:
        """What a function or object of the project gives when it is called."""

    @abstractmethod
    def instance(self, value: Value, file: FileModel) -> Value:
        """Some object of a class of the project."""

    @abstractmethod
    def parameter(self, arg: ast.arg, default: ast.expr | None, scope: Scope, file: FileModel) -> Values:
        """What a parameter gets."""

    @abstractmethod
    def callers(self, function: Function, file: FileModel) -> Values:
        """Where a function is called: ``CALL_SITE`` values, with ``UNKNOWN`` where there may be more."""

    @abstractmethod
    def imported(self, module: str, file: FileModel) -> Values:
        """What an import of a dotted name gives."""

    @abstractmethod
    def entered(self, values: Values, file: FileModel) -> Values:
        """What ``with`` gives of context managers."""

    @abstractmethod
    def stored_in(self, file: FileModel, name: str) -> Values:
        """What other files assign to a name of a module."""

    # --- asking ---

    def ask(self, file: FileModel, key: Any, answer: Callable[..., Values], *given: Any) -> Values:
        """The answer to a question, which ``answer`` gives unless it is known."""
        answers = file.answers.setdefault(self._sort, {})
        known = answers.get(key)
        if known is not None:
            (self._seen if self._open else self.project.dependencies).update(known.files)
            return known.values
        full = (file, key)
        open_ = self._open.get(full)
        if open_ is not None:
            open_.leads_back = True
            self._lowest = min(self._lowest, open_.depth)
            return open_.values
        draft = self._drafts.get(full)
        if draft is not None:
            self._lowest = min(self._lowest, draft.lowest)
            self._seen.update(draft.files)
            return draft.values
        depth = len(self._open)
        if depth == 0:
            self._settle()
        if depth >= _DEEPEST or self._work <= 0:
            # Another question may come here on a shorter way, so nothing that depends on this is remembered.
            self._lowest = -1
            return ANYTHING
        self._work -= 1
        outer_lowest, outer_seen = self._lowest, self._seen
        self._lowest, self._seen = _SETTLED, set()
        mark = len(self._log)
        asked = self._open[full] = _Open(depth)
        limit = sys.getrecursionlimit()
        try:
            if depth == 0:
                sys.setrecursionlimit(limit + _STACK)
            values = self._until_settled(asked, mark, answer, given)
        except _SpentError:
            # As where no work is left at all.
            self._drop(mark)
            self._lowest, values = -1, ANYTHING
        except BaseException:
            self._drop(mark)
            self._lowest, self._seen = outer_lowest, outer_seen
            if depth == 0:
                self._end()
            raise
        finally:
            if depth == 0:
                sys.setrecursionlimit(limit)
            del self._open[full]
        lowest, files = self._lowest, frozenset(self._seen)
        if lowest >= depth:
            for one in self._log[mark:]:
                found = self._drafts.pop(one)
                one[0].answers.setdefault(self._sort, {})[one[1]] = Answer(found.values, found.files | files)
            del self._log[mark:]
            answers[key] = Answer(values, files)
            lowest = _SETTLED
        else:
            for one in self._log[mark:]:
                found = self._drafts[one]
                if found.lowest > lowest or not files <= found.files:
                    self._drafts[one] = found._replace(lowest=min(found.lowest, lowest), files=found.files | files)
            self._drafts[full] = _Draft(values, lowest, files)
            self._log.append(full)
        self._lowest = min(outer_lowest, lowest)
        self._seen = outer_seen
        self._seen.update(files)
        if depth == 0:
            self._end()
        return values

    def is_open(self, file: FileModel, key: Any) -> bool:
        """Whether a question is being asked, and led back to itself."""
        return (file, key) in self._open

    def _until_settled(self, asked: _Open, mark: int, answer: Callable[..., Values], given: Iterable[Any]) -> Values:
        values = NOTHING
        for _ in range(_ROUNDS):
            values = answer(*given)
            if not asked.leads_back:
                return values
            more = asked.values | values
            if more == asked.values:
                return more
            asked.values = values = more
            self._drop(mark)
        return values | ANYTHING

    def _drop(self, mark: int) -> None:
        for one in self._log[mark:]:
            self._drafts.pop(one, None)
        del self._log[mark:]

    def _end(self) -> None:
        """A question from outside is answered."""
        self._drafts.clear()
        self._log.clear()
        self._lowest = _SETTLED
        self._settle()
        self.project.dependencies |= self._seen
        self._seen = set()
        while self._keep is not None and len(self.files) > self._keep:
            self.files.popitem(last=False)
