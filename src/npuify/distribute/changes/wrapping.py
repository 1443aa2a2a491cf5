"""Models are wrapped; calls that would pass the wrapper by are led through it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import MODELS, Kind
from npuify.distribute.changes.sites import sites_of
from npuify.distribute.changes.unused import unused_parameters
from npuify.distribute.edits import Unprovable
from npuify.language import phrase
from npuify.model import Edit, Severity

if TYPE_CHECKING:
    from npuify.distribute.changes.sites import Site
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.models import Models
    from npuify.distribute.reading.program import Function, Program, Unit

_QUIET = frozenset("parameters named_parameters state_dict load_state_dict train eval zero_grad to".split())


def wrap_models(program: Program, loops: Loops, models: Models, draft: Draft, *, sync_batchnorm: bool) -> None:
    """Wrap the models that train, after they are made, moved and loaded, before the training begins."""
    try:
        sites = sites_of(models, program)
    except Unprovable as problem:
        unit = next(one for one in program.units if problem.node in one.nodes)
        _left(unit, problem.node, problem.message, draft)
        return
    if not sites:
        call, unit = loops.backwards[0]
        _left(unit, call, "it is unclear which model trains; specify it with --model", draft)
        return
    options = "find_unused_parameters=True" if _unused(models, program, draft) else ""
    options += (", " if options and sync_batchnorm else "") + ("sync_batchnorm=True" if sync_batchnorm else "")
    for site in sorted(sites, key=lambda one: (one.unit.relative, one.statement.lineno, one.name)):
        _wrap(site, options, draft)
    _through_wrapper(program, loops, models, draft)


def _left(unit: Unit, node: ast.AST, reason: str, draft: Draft) -> None:
    draft.left(
        "NPU351",
        unit,
        node,
        phrase("the model is not wrapped, so each process trains its own: {reason}", reason=reason),
        "after it is moved to its device and its checkpoint is loaded, before the first step: "
        "model = npu_distributed.wrap(model)",
    )


def _wrap(site: Site, options: str, draft: Draft) -> None:
    name, more = site.name, f", {options}" if options else ""
    if site.many:
        text = f"{name} = [npu_distributed.wrap(one{more}) for one in {name}]"
    else:
        text = f"{name} = npu_distributed.wrap({name}{more})"
    editor = draft.editor(site.unit)
    message = phrase("gradients of {name} are averaged over the processes", name=name)
    try:
        edit = editor.after(site.statement, text) if site.below else editor.before(site.statement, text)
        draft.done("NPU351", site.unit, site.statement, message, [edit], subject=name)
    except Unprovable as problem:
        draft.left(
            "NPU351",
            site.unit,
            problem.node,
            phrase("{name} is not wrapped: {message}", name=name, message=problem.message),
            text,
        )


def _unused(models: Models, program: Program, draft: Draft) -> bool:
    found = False
    for model in sorted(models.values, key=lambda one: one.place.line if one.place is not None else 0):
        reason = unused_parameters(model, program)
        if reason is not None:
            found = True
            draft.left(
                "NPU352",
                reason.unit,
                reason.node,
                phrase("find_unused_parameters=True: {text}", text=reason.text),
                "without it the next step would fail; with it each step takes slightly longer",
                Severity.INFO,
            )
    return found


def _through_wrapper(program: Program, loops: Loops, models: Models, draft: Draft) -> None:
    """Methods of a model that compute, other than ``forward``, are called through the wrapper while training."""
    seen: set[ast.AST] = set()
    for region, unit in loops.training:
        for node in ast.walk(region):
            if node in seen or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            seen.add(node)
            holders = [
                value for value in program.of_kind(node.func.value, unit, Kind.MODEL) if value.definition is not None
            ]
            if not holders or node.func.attr in _QUIET or _inside_model(node, unit, program):
                continue
            classes = filter(None, map(program.class_of, holders))
            methods = {program.method(*one, node.func.attr) for one in classes}
            computes = any(method is not None and _computes(*method, program) for method in methods)
            if not computes or loops.without_gradient(node, unit):
                continue
            source = unit.source
            start, end = source.start(node), source.end(node)
            text = source.segment(source.end(node.func), end)
            opening = source.end(node.func) + text.index("(") + 1
            more = ", " if node.args or node.keywords else ""
            base = source.code(node.func.value)
            head = f'npu_distributed.call({base}, "{node.func.attr}"{more}'
            edit = Edit(start, opening, source.segment(start, opening), head)
            message = phrase(
                "{attr}() computes without forward(), but its gradients must also be averaged", attr=node.func.attr
            )
            draft.done("NPU366", unit, node, message, [edit])


def _inside_model(node: ast.AST, unit: Unit, program: Program) -> bool:
    holder = unit.class_around(node)
    return holder is not None and program.kind_of_class(holder, unit) in MODELS


def _computes(method: Function, home: Unit, program: Program) -> bool:
    """Whether a method calls layers of its model, with gradients."""
    for function, unit in ((method, home), *program.reached((method, home)).items()):
        for decorator in getattr(function, "decorator_list", ()):
            if unit.qualname(getattr(decorator, "func", decorator)) in ("torch.no_grad", "torch.inference_mode"):
                return False
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and program.of_kind(node.func, unit, Kind.MODEL):
                return True
    return False
