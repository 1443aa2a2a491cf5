"""The files of a project as one program: which of them hand models, data and losses to each other.

A model that one file makes and another trains is moved in the one, and its batches in the other. So either all files of
a group are placed on the device, or none of them is.
"""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.project import EVERY_FILE, is_test
from npuify.project.import_paths import ImportPaths
from npuify.rules.placement.outcome import outcome_of
from npuify.rules.placement.plan import MOST_FILES
from npuify.rules.placement.view import ProgramView, returns

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
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
            known = outcome_of(connected(first, view), view, self._run)
            self._outcomes |= dict.fromkeys(known.files, known)
        own = known.files.get(relative)
        return known if own is not None and own.data == data else None

    def _view_of(self, files: frozenset[str]) -> ProgramView:
        """The program model of files that imports connect; calls are not sought in others."""
        if self._view is None or self._view[0] != files:
            model = ProgramModel(self._run.project, Reach.PROGRAM, keep=None, leave_out=lambda name: name not in files)
            self._view = files, ProgramView(model)
        return self._view[1]


def alone(file: PythonFile) -> Outcome:
    """What becomes of a file whose text is not the one that the project holds: no calls from other files are known."""
    model = ProgramModel(file.project, Reach.PROGRAM, keep=None, leave_out=lambda name: True)
    own = model.open(file.source, current=True)
    outcome = outcome_of({own.relative: own}, ProgramView(model), file.run)
    model.forget()
    return outcome


def links_of(file: PythonFile) -> Links:
    """The links of a file's project, kept for its other files."""
    # What is known of one file rests on all that imports connect with it.
    file.project.dependencies.add(EVERY_FILE)
    known = file.project.remembered.get("placement")
    if not isinstance(known, Links):
        known = file.project.remembered["placement"] = Links(file.run._replace(project=file.project.view()))
    return known


# --- groups ---


def connected(first: FileModel, view: ProgramView) -> dict[str, FileModel]:
    """The files that are placed together with a file; one more than there may be, where there are more."""
    files = {first.relative: first}
    pending = [first]
    while pending and len(files) <= MOST_FILES:
        for other in _neighbours(pending.pop(), view):
            if other.relative not in files:
                files[other.relative] = other
                pending.append(other)
    return files


def _neighbours(file: FileModel, view: ProgramView) -> list[FileModel]:
    """Files between which and this one models, data or tensors go, by calls from here or to here."""
    found: dict[str, FileModel] = {}
    for node in view.nodes(file):
        if view.in_module(node, file):
            continue
        if isinstance(node, ast.Call):
            for home, function in view.called(node, file):
                if home is not file and _matters(node, file, home, function, view):
                    found[home.relative] = home
        elif isinstance(node, DEFINITIONS):
            for other, call in view.calls_of(node, file):
                if other is not file and _matters(call, other, file, node, view):
                    found[other.relative] = other
    return list(found.values())


def _matters(call: ast.Call, file: FileModel, home: FileModel, function: Definition, view: ProgramView) -> bool:
    """Whether a call from one file into another may hand over something that is on the device, or is to be."""
    if any(view.kind(value, file) for value in (*call.args, *(item.value for item in call.keywords))):
        return True
    if any(view.kind(value, home) for value in returns(function, home)):
        return True
    return b"torch." in home.source.data[home.source.start(function) : home.source.end(function)]
