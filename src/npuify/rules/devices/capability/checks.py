"""The checks that a capability decides, wherever in the program they stand, and which of them refuse to go on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from npuify.analysis.engine import Reach
from npuify.language import phrase
from npuify.rules.common.refusals import UNKNOWN, check_around, may_refuse, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from npuify.analysis.files import FileModel
    from npuify.rules.context import PythonFile

Values = tuple[Any, Any]
"""What an expression is where the capability is the oldest, and where it is the newest."""
_MOST: Final = 120
"""Places to look at for one capability."""
_DEEPEST: Final = 5
_THERE: Final = frozenset(("torch.cuda.is_available", "torch.npu.is_available", "torch_npu.npu.is_available"))
_CONVERSIONS: Final = frozenset("float int str bool tuple list map round max min".split())


class Gate(NamedTuple):
    """A check, and whether it may end the program with the oldest capability, and with the newest."""

    where: str
    with_oldest: bool
    with_newest: bool


class _Home:
    """A file of the program as :mod:`npuify.rules.common.refusals` asks it."""

    def __init__(self, model: FileModel) -> None:
        self.parent = model.parent
        self.ancestors = model.ancestors
        self.qualname = model.source.qualname


def gates(node: ast.expr, values: Values, file: PythonFile) -> tuple[list[Gate], bool]:
    """The checks that a value decides, and whether it is compared elsewhere, to choose something.

    Args:
        node: the expression that gives the value.
        values: what that is.
        file: its file.
    """
    search = _Search(file)
    search.follow(node, values, file.model, 0)
    found = []
    for check, (home, known) in search.checks.items():
        line = getattr(check, "lineno", 0)
        where = phrase("line {line}", line=line) if home is file.model else f"{home.relative}:{line}"
        refuses = [may_refuse(check, _known(known, index, home), _Home(home)) for index in (0, 1)]
        found.append(Gate(where, *refuses))
    return found, search.chooses


class _Search:
    """Follows a value, and what is worked out from it, to the conditions in which it stands."""

    def __init__(self, file: PythonFile) -> None:
        self._own, self._model = file.reaching(Reach.FILE), file.reaching(Reach.PROGRAM)
        self._left = _MOST
        self._seen: set[ast.AST] = set()
        self.checks: dict[ast.If | ast.Assert, tuple[FileModel, dict[ast.expr, Values]]] = {}
        self.chooses = False

    def follow(self, node: ast.expr, values: Values, home: FileModel, depth: int) -> bool:
        """Whether a value, or what is worked out from it, decides a check."""
        found = False
        # What the file itself shows is followed by its own nodes, also where its text is no longer the project's.
        for model in (self._own, self._model):
            for here in model.flow(node, home).occurrences:
                if not here.depth:
                    found = self._at(here.node, values, here.file, depth) or found
        return found

    def _at(self, node: ast.expr, values: Values, home: FileModel, depth: int) -> bool:
        self._left -= 1
        if node in self._seen or self._left < 0:
            return False
        self._seen.add(node)
        check = check_around(node, _Home(home))
        if check is not None:
            self.checks.setdefault(check, (home, {}))[1][node] = values
            return True
        found = False
        for read, index in _taken_apart(node, home):
            parts = _part(values[0], index), _part(values[1], index)
            found = self._at(read, parts, home, depth) or found
        whole, compared = _worked_out(node, home)
        if whole is not node and depth < _DEEPEST:
            old, new = (value_of(whole, _known({node: values}, index, home)) for index in (0, 1))
            found = self.follow(whole, (old, new), home, depth + 1) or found
        self.chooses = self.chooses or (compared and not found)
        return found


def _known(values: Mapping[ast.expr, Values], index: int, home: FileModel) -> Callable[[ast.expr], Any]:
    """What is known of expressions: these values, and that there is a device to ask."""

    def known(node: ast.expr) -> Any:
        if node in values:
            return values[node][index]
        is_question = isinstance(node, ast.Call) and home.source.qualname(node.func) in _THERE
        return True if is_question else UNKNOWN

    return known


def _worked_out(node: ast.expr, home: FileModel) -> tuple[ast.expr, bool]:
    """The largest expression that is worked out from one, and whether something is compared in it."""
    whole, compared = node, False
    for up in home.ancestors(node):
        is_part = isinstance(up, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Tuple)) or (
            isinstance(up, ast.Subscript) and up.value is whole
        )
        if isinstance(up, ast.Call) and whole in up.args:
            function = up.func
            is_part = getattr(function, "id", "") in _CONVERSIONS or getattr(function, "attr", "") == "join"
        if not is_part or not isinstance(up, ast.expr):
            break
        whole, compared = up, compared or isinstance(up, ast.Compare)
    return whole, compared


def _taken_apart(node: ast.expr, home: FileModel) -> Iterator[tuple[ast.Name, int]]:
    """Where the two numbers of a capability are read that are assigned to names."""
    statement = home.parent(node)
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        for index, item in enumerate(target.elts):
            found = home.scope(item).lookup(item.id) if isinstance(item, ast.Name) else None
            for read in home.references(item.id) if found is not None and isinstance(item, ast.Name) else ():
                if isinstance(read, ast.Name) and isinstance(read.ctx, ast.Load):
                    where = home.scope(read).lookup(read.id)
                    if found is not None and where is not None and where[0] is found[0]:
                        yield read, index


def _part(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, tuple) and index < len(value) else UNKNOWN
