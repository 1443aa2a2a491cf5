"""The files of a project as one program: which of them hand models, data and losses to each other.

A model that one file makes and another trains is moved in the one, and its batches in the other. So either all files of
a group are placed on the device, or none of them is.
"""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import EVERY_FILE, is_test
from npuify.project.import_paths import ImportPaths
from npuify.rules.placement.flow import Flow, Unproven, returns
from npuify.rules.placement.plan import PlacementPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.rules.context import PythonFile
    from npuify.rules.placement.flow import Function
    from npuify.rules.run import Run

_MAX_ROUNDS = 16
_MAX_FILES = 200
"""Files of one group; a program made of more is not looked at as a whole."""

MOST_CONNECTED = 500
"""Files that imports connect; among more, who calls whom is not sought: that takes minutes, and finds a library."""


class Group(NamedTuple):
    """Files that are placed together: a plan for each, or why there is none."""

    plans: dict[str, PlacementPlan]
    problem: Unproven | None = None


class Links:
    """The flows of a project's files, made when they are asked for."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._project = run.project
        self._release = run.release
        self._flows: dict[str, Flow | None] = {}
        self._groups: dict[str, Group] = {}
        self._connections: dict[str, int] | None = None

    def flow(self, relative: str) -> Flow | None:
        """What the names of a file are bound to; None where it cannot be parsed."""
        self._project.dependencies.add(relative)
        if relative not in self._flows:
            from npuify.rules.context import PythonFile

            self._flows[relative] = None
            source = self._project.load(relative)
            if source is not None:
                source.reexport = self._project.reexport
                source.star_has = self._star_has
                self._flows[relative] = Flow(PythonFile(source, self._run), self)
        return self._flows[relative]

    def _star_has(self, name: str) -> bool:
        """Whether ``from module import *`` brings a name."""
        if name.startswith("torch."):
            return self._release.counterpart(name) is not None
        return self._project.provides(name)

    def far_callers(self, flow: Flow, function: Function) -> list[tuple[Flow, list[ast.Call]]]:
        """The calls of a function from other files than its own, tests left out."""
        own = flow.source.relative
        holder = flow.class_around(function)
        word = holder.name if holder is not None and function.name == "__init__" else function.name
        found = []
        for relative in self._project.files_with(word.encode()):
            if relative == own or is_test(relative):
                continue
            other = self.flow(relative)
            calls = other.far_calls(own, function.lineno) if other is not None else []
            if other is not None and calls:
                found.append((other, calls))
        return found

    # --- groups ---

    def connections(self, relative: str) -> int:
        """How many files imports connect with a file, tests left out."""
        self._project.dependencies.add(EVERY_FILE)
        if self._connections is None:
            texts = {}
            for other in self._project.modules.values():
                if not is_test(other):
                    with contextlib.suppress(OSError):
                        texts[other] = (self._project.root / other).read_bytes()
            self._connections = ImportPaths(texts).connected()
        return self._connections.get(relative, 1)

    def group(self, relative: str) -> Group | None:
        """The group that a file belongs to; None where the file cannot be parsed."""
        if relative not in self._groups:
            flow = self.flow(relative)
            if flow is None:
                return None
            self._project.dependencies.add(EVERY_FILE)
            files = self._connected(flow)
            group = self._planned(files)
            self._groups |= dict.fromkeys(files, group)
        return self._groups[relative]

    def _connected(self, first: Flow) -> dict[str, Flow]:
        files = {first.source.relative: first}
        pending = [first]
        while pending and len(files) <= _MAX_FILES:
            flow = pending.pop()
            for other in self._neighbours(flow):
                if other.source.relative not in files:
                    files[other.source.relative] = other
                    pending.append(other)
        return files

    def _neighbours(self, flow: Flow) -> list[Flow]:
        """Files between which and this one models, data or tensors go, by calls from here or to here."""
        found: dict[str, Flow] = {}
        for node in flow.nodes:
            if isinstance(node, ast.Call) and not flow.in_module_class(node):
                called = flow.target(node)
                if called is not None and called[0] is not flow and _matters(node, flow, called):
                    found[called[0].source.relative] = called[0]
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not flow.in_module_class(node):
                for other, calls in self.far_callers(flow, node):
                    if any(_matters(call, other, (flow, node)) for call in calls):
                        found[other.source.relative] = other
        return list(found.values())

    def _planned(self, files: dict[str, Flow]) -> Group:
        placeable = self._run.plan.placed
        plans: dict[str, PlacementPlan] = {}
        for relative, flow in files.items():
            plans[relative] = PlacementPlan(flow, plans)
        try:
            if len(files) > _MAX_FILES:
                raise _at(next(iter(files.values())), None, f"it is made of more than {_MAX_FILES} files")
            for relative, flow in files.items():
                if relative not in placeable and b"torch" in flow.source.data:
                    raise _at(flow, None, f"{relative}, which belongs to it, names a device, or a framework that does")
            if any(plan.called for plan in plans.values()):
                _settle(plans.values())
            for relative, plan in plans.items():
                if plan.changes and relative not in placeable:
                    raise _at(plan.flow, None, f"{relative} does not import torch, and something is to be moved there")
            return Group(plans)
        except Unproven as problem:
            return Group(plans, problem)


def _settle(plans: Iterable[PlacementPlan]) -> None:
    plans = list(plans)
    for plan in plans:
        _in_its_file(plan, plan.begin)
    for _ in range(_MAX_ROUNDS):
        before = sum(plan.size() for plan in plans)
        for plan in plans:
            _in_its_file(plan, plan.advance)
        if sum(plan.size() for plan in plans) == before:
            break
    for plan in plans:
        plan.finish()


def _in_its_file(plan: PlacementPlan, step: Callable[[], None]) -> None:
    """Do a step of a plan; a problem that names no file is one of the plan's own file."""
    try:
        step()
    except Unproven as problem:
        problem.flow = problem.flow or plan.flow
        raise


def _matters(call: ast.Call, flow: Flow, called: tuple[Flow, Function]) -> bool:
    """Whether a call from one file into another may hand over something that is on the device, or is to be."""
    if any(flow.kind(value) for value in (*call.args, *(item.value for item in call.keywords))):
        return True
    target, function = called
    if any(target.kind(value) for value in returns(function)):
        return True
    return b"torch." in target.source.data[target.source.start(function) : target.source.end(function)]


def _at(flow: Flow, node: ast.AST | None, reason: str) -> Unproven:
    problem = Unproven(node or flow.source.tree, reason)
    problem.flow = flow
    return problem


def links_of(file: PythonFile) -> Links:
    """The links of a file's project, kept for its other files."""
    # What is known of one file rests on all that imports connect with it.
    file.project.dependencies.add(EVERY_FILE)
    known = file.project.remembered.get("placement")
    if not isinstance(known, Links):
        known = file.project.remembered["placement"] = Links(file.run._replace(project=file.project.view()))
    return known
