"""What becomes of the files of a group: edits for each, or why there are none. It holds no syntax trees."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.rules.context import PythonFile
from npuify.rules.placement.edits import edits_of, moved_in_module
from npuify.rules.placement.models import Models
from npuify.rules.placement.module_code import made_in_modules
from npuify.rules.placement.needs import Needs
from npuify.rules.placement.plan import MOST_FILES, Together, Unproven

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.model import Edit
    from npuify.rules.placement.plan import Plan
    from npuify.rules.placement.view import ProgramView
    from npuify.rules.run import Run

_MAX_ROUNDS = 16
Span = tuple[int, int]


class Problem(NamedTuple):
    """Why a group was not placed, and where that stands; ``is_placed`` where a file of it names a device itself."""

    file: str
    line: int
    span: Span
    reason: str
    is_placed: bool = False


class Placed(NamedTuple):
    """What becomes of one file.

    Attributes:
        data: its text.
        edits: what to change; None where statements share lines.
        span: where to say that it is placed.
        runs: where it calls a model; None where it does not.
        runs_own: where it calls a model that a file makes which names no device.
        makes: where it makes a model; None where it does not.
        trains: where it trains outside of modules.
        made: what modules make on the CPU, with the edit that moves it.
    """

    data: bytes
    edits: tuple[Edit, ...] | None = ()
    span: Span = (0, 0)
    runs: Span | None = None
    runs_own: Span | None = None
    makes: Span | None = None
    trains: Span | None = None
    made: tuple[tuple[Span, Edit | None], ...] = ()


class Outcome(NamedTuple):
    """What becomes of the files of a group."""

    files: dict[str, Placed]
    problem: Problem | None = None
    runs_models: bool = False


def outcome_of(files: dict[str, FileModel], view: ProgramView, run: Run) -> Outcome:
    """Place files together, or find out why they cannot be."""
    placeable = run.plan.placed
    problem = None
    elsewhere = next((file for file in files.values() if places_itself(file, placeable)), None)
    if elsewhere is not None and len(files) > 1:
        # A file alone is one that is asked about, and it may be placed.
        problem = _named_in(elsewhere)
        files = {relative: file for relative, file in files.items() if relative in placeable}
    together = Together(view, files)
    try:
        if problem is None:
            _settle(together, placeable)
    except Unproven as found:
        span = (0, 0) if isinstance(found.node, ast.Module) else _span(found.node, found.file)
        problem = Problem(found.file.relative, getattr(found.node, "lineno", 1), span, found.reason)
    placed = {name: _placed(plan, problem, together, run) for name, plan in together.plans.items()}
    return Outcome(placed, problem, any(plan.called for plan in together.plans.values()))


def handed_over(file: FileModel, other: FileModel, view: ProgramView, run: Run) -> Outcome:
    """What becomes of a file that hands its data to another, which names a device: nothing, and what it runs itself."""
    own = view.model.file(file.relative) or file
    together = Together(view, {file.relative: own})
    problem = _named_in(other)
    return Outcome({file.relative: _placed(together.plans[file.relative], problem, together, run)}, problem)


def _named_in(file: FileModel) -> Problem:
    reason = phrase(
        "{relative}, which belongs to it, names a device, or a framework that places models itself",
        relative=file.relative,
    )
    return Problem(file.relative, 1, (0, 0), reason, is_placed=True)


def places_itself(file: FileModel, placeable: frozenset[str]) -> bool:
    """Whether a file names a device, or a framework that does."""
    return file.relative not in placeable and b"torch" in file.source.data


def _settle(together: Together, placeable: frozenset[str]) -> None:
    plans = together.plans
    tree = next(iter(plans.values())).file.source.tree
    if len(plans) > MOST_FILES:
        raise Unproven(
            tree,
            phrase("the program has more than {MOST_FILES} files", MOST_FILES=MOST_FILES),
            next(iter(plans.values())).file,
        )
    if any(plan.called for plan in plans.values()):
        _follow(together)
    for relative, plan in plans.items():
        if plan.changes and relative not in placeable:
            reason = phrase(
                "{relative} does not import torch, but something would have to be moved there", relative=relative
            )
            raise Unproven(plan.file.source.tree, reason, plan.file)


def _follow(together: Together) -> None:
    models = [Models(plan, together) for plan in together.plans.values()]
    needs = [Needs(plan, together) for plan in together.plans.values()]
    for one in models:
        one.place()
    for one in models:
        one.check()
    for _ in range(_MAX_ROUNDS):
        before = together.size
        for each in needs:
            each.spread()
            each.all()
        if together.size == before:
            break
    for each in needs:
        each.hosts()


def _placed(plan: Plan, problem: Problem | None, together: Together, run: Run) -> Placed:
    file, view, is_placed = plan.file, together.view, problem is None
    runs = next(iter(plan.called), None)
    runs_own = next((call for call in plan.called if _is_own(call, file, view, run)), None)
    makes = None
    if problem is None or not problem.is_placed:
        makes = next((node for node in plan.calls if view.is_model(node, file)), None)
    at = next(iter(plan.models), None) or runs or makes
    trains = next(
        (node for node in plan.calls if isinstance(node.func, ast.Attribute) and node.func.attr == "backward"), None
    )
    own = PythonFile(file.source, run)
    edits = edits_of(plan, own) if is_placed and plan.changes else []
    made = [
        (_span(call, file), moved_in_module(call, device, own, view, file))
        for call, device in (made_in_modules(file, view) if is_placed else ())
    ]
    return Placed(
        file.source.data,
        None if edits is None else tuple(edits),
        _span(at, file) if at is not None else (0, 0),
        _span(runs, file) if runs is not None else None,
        _span(runs_own, file) if runs_own is not None else None,
        _span(makes, file) if makes is not None else None,
        _span(trains, file) if trains is not None else None,
        tuple(made),
    )


def _is_own(call: ast.Call, file: FileModel, view: ProgramView, run: Run) -> bool:
    """Whether a call runs a model that a file makes which names no device."""
    models = view.values(call.func, file).of_kind(Kind.MODEL)
    return any(value.place is not None and value.place.file in run.plan.placed for value in models)


def _span(node: ast.AST, file: FileModel) -> Span:
    return file.source.start(node), file.source.end(node)
