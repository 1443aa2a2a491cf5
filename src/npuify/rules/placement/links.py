"""The files of a project as one program: which of them hand models, data and losses to each other.

A model that one file makes and another trains is moved in the one, and its batches in the other. So either all files of
a group are placed on the device, or none of them is.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from typing import TYPE_CHECKING

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.project import EVERY_FILE, is_test
from npuify.project.import_paths import ImportPaths
from npuify.rules.placement.outcome import handed_over, outcome_of, places_itself
from npuify.rules.placement.plan import MOST_FILES
from npuify.rules.placement.view import ProgramView, returns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile
    from npuify.rules.placement.outcome import Outcome
    from npuify.rules.placement.view import Definition
    from npuify.rules.run import Run

MOST_CONNECTED = 500
"""Files that imports connect; among more, who calls whom is not sought: that takes minutes, and finds a library."""


class Links:
    """What becomes of a project's files, worked out when it is asked for. No syntax tree is kept beyond that."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._outcomes: dict[str, Outcome] = {}
        self._connected: dict[str, frozenset[str]] | None = None
        self._view: tuple[frozenset[str], ProgramView] | None = None
        self._lone: ProgramView | None = None

    def connected(self, relative: str) -> frozenset[str]:
        """The files that imports connect with a file, tests left out."""
        project = self._run.project
        project.dependencies.add(EVERY_FILE)
        if self._connected is None:
            texts = {}
            for other in project.modules.values():
                if not is_test(other):
                    with contextlib.suppress(OSError):
                        texts[other] = (project.root / other).read_bytes()
            self._connected = ImportPaths(texts).connected()
        return self._connected.get(relative, frozenset((relative,)))

    def outcome(self, relative: str, data: bytes) -> Outcome | None:
        """What becomes of a file and of those that are placed with it; None where the project holds another text."""
        known = self._outcomes.get(relative)
        if known is None:
            view = self._view_of(self.connected(relative))
            first = view.model.file(relative)
            if first is None or first.source.data != data:
                return None
            placeable = self._run.plan.placed
            device = next(_places_itself_near(first, view, placeable), None)
            if device is not None:
                known = handed_over(first, device, self._lone or _lone_view(self._run.project), self._run)
            else:
                known = outcome_of(connected(first, view, placeable), view, self._run)
            self._outcomes |= dict.fromkeys(known.files, known)
        own = known.files.get(relative)
        return known if own is not None and own.data == data else None

    def _view_of(self, files: frozenset[str]) -> ProgramView:
        """The program model of files that imports connect; calls are not sought in others."""
        if self._view is None or self._view[0] != files:
            model = ProgramModel(self._run.project, Reach.PROGRAM, keep=None, leave_out=lambda name: name not in files)
            self._view = files, ProgramView(model)
            self._lone = _lone_view(self._run.project)
        return self._view[1]


def alone(file: PythonFile) -> Outcome:
    """What becomes of a file whose text is not the one that the project holds: no calls from other files are known."""
    view = _lone_view(file.project)
    own = view.model.open(file.source, current=True)
    return outcome_of({own.relative: own}, view, file.run)


def _lone_view(project: ProjectIndex) -> ProgramView:
    """The program model without calls from other files."""
    return ProgramView(ProgramModel(project, Reach.PROGRAM, keep=None, leave_out=lambda name: True))


def links_of(file: PythonFile) -> Links:
    """The links of a file's project, kept for its other files."""
    # What is known of one file rests on all that imports connect with it.
    file.project.dependencies.add(EVERY_FILE)
    known = file.project.remembered.get("placement")
    if not isinstance(known, Links):
        known = file.project.remembered["placement"] = Links(file.run._replace(project=file.project.view()))
    return known


# --- groups ---


def connected(first: FileModel, view: ProgramView, placeable: frozenset[str]) -> dict[str, FileModel]:
    """The files that are placed together with a file.

    Of a group that cannot be placed they are those up to the reason: a file that names a device, or one too many.
    """
    files = {first.relative: first}
    pending = [first]
    while pending:
        file = pending.pop()
        near = _places_itself_near(file, view, placeable)
        for other in itertools.chain(near, _neighbours(file, view)):
            if other.relative not in files:
                files[other.relative] = other
                pending.append(other)
                if len(files) > MOST_FILES or places_itself(other, placeable):
                    return files
    return files


def _places_itself_near(file: FileModel, view: ProgramView, placeable: frozenset[str]) -> Iterator[FileModel]:
    """Files that name a device, and whose functions a file calls, as its imports alone show: who calls it need not be
    sought."""
    for home, function in view.plainly_called(file):
        if places_itself(home, placeable) and _says_torch(function, home):
            yield home


def _neighbours(file: FileModel, view: ProgramView) -> Iterator[FileModel]:
    """Files between which and this one models, data or tensors go, by calls from here, then by calls to here."""
    nodes = [node for node in view.nodes(file) if not view.in_module(node, file)]
    for call in nodes:
        if isinstance(call, ast.Call):
            for home, function in view.called(call, file):
                if home is not file and _matters(call, file, home, function, view):
                    yield home
    for node in nodes:
        if isinstance(node, DEFINITIONS):
            for other, call in view.calls_of(node, file):
                if other is not file and _matters(call, other, file, node, view):
                    yield other


def _says_torch(function: Definition, home: FileModel) -> bool:
    return b"torch." in home.source.data[home.source.start(function) : home.source.end(function)]


def _matters(call: ast.Call, file: FileModel, home: FileModel, function: Definition, view: ProgramView) -> bool:
    """Whether a call from one file into another may hand over something that is on the device, or is to be."""
    if _says_torch(function, home):
        return True
    if any(view.kind(value, file) for value in (*call.args, *(item.value for item in call.keywords))):
        return True
    return any(view.kind(value, home) for value in returns(function, home))
