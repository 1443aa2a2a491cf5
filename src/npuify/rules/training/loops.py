"""Training practice: the order of calls in a training loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.registry import rule
from npuify.rules.training.walks import (
    DOCUMENTATION,
    LOOPS,
    SCOPES,
    block_of,
    calls_in,
    enclosing,
    enclosing_function,
    is_backward,
    is_conditional,
    is_step,
    named_calls,
    nodes_in,
    receiver,
)
from npuify.source.python import dotted_text, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU804",
    "clip-before-unscale",
    Safety.MANUAL,
    Severity.WARNING,
    words=("clip_grad_norm",),
    also_in_file=("scaler",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION}, automatic mixed precision examples: unscale before clipping",
)
def clip_before_unscale(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Gradients are clipped while they are still scaled, so that nearly all of them are clipped to almost nothing.

    Reported where the same block steps with a scaler and nothing unscales the gradients first.
    """
    word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if not word.startswith("clip_grad_norm") or not imports_torch(file):
        return
    statements, own, holder = block_of(node, file)
    if not _scaled(statements, own) and isinstance(holder, ast.If):
        # The clipping often stands under an ``if``; the steps around it are then one level further out.
        statements, own, _ = block_of(holder, file)
    if not _scaled(statements, own):
        return
    function = enclosing_function(node, file)
    if any(name in ("unscale_", "unscale") for name, _ in named_calls(function)):
        return
    yield file.report(
        node,
        "gradients are clipped before the scaler unscales them",
        subject="torch.amp.GradScaler.unscale_",
        advice="call scaler.unscale_(optimizer) before clipping",
    )


def _scaled(statements: list[ast.stmt], own: ast.stmt | None) -> bool:
    """Whether ``scaler.scale(loss).backward()`` stands before, and ``scaler.step(...)`` behind, a statement."""
    if own is None or own not in statements:
        return False
    place = statements.index(own)
    before = any(
        name == "backward"
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Call)
        and isinstance(call.func.value.func, ast.Attribute)
        and call.func.value.func.attr == "scale"
        for statement in statements[:place]
        for name, call in named_calls(statement)
    )
    after = any(
        name == "step" and isinstance(call.func, ast.Attribute) and "scaler" in (dotted_text(call.func) or "").lower()
        for statement in statements[place:]
        for name, call in named_calls(statement)
    )
    return before and after


@rule(
    "NPU805",
    "scheduler-before-optimizer",
    Safety.MANUAL,
    Severity.WARNING,
    words=("scheduler.step()", "sched.step()"),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} of torch.optim: since 1.1 the scheduler steps after the optimizer",
)
def scheduler_before_optimizer(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loop steps the learning-rate scheduler before the optimizer, so that the first learning rate is skipped."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "step" or node.args or node.keywords:
        return
    if "sched" not in (dotted_text(node.func.value) or "").lower() or not imports_torch(file):
        return
    statements, own, holder = block_of(node, file)
    if own is None or not isinstance(own, ast.Expr) or not isinstance(holder, LOOPS):
        return
    place = statements.index(own)
    if any(_steps_optimizer(statement) for statement in statements[:place]):
        return
    later = next((statement for statement in statements[place + 1 :] if _steps_optimizer(statement)), None)
    if later is None or any(name.startswith("train") for item in statements[:place] for name, _ in named_calls(item)):
        return
    yield file.report(
        node,
        phrase("the scheduler steps before the optimizer (line {lineno}) in each iteration", lineno=later.lineno),
        subject="torch.optim.lr_scheduler",
        advice="step the scheduler after the optimizer; the schedule then starts with the first learning rate",
    )


def _steps_optimizer(statement: ast.stmt) -> bool:
    return any(
        name == "step"
        and isinstance(call.func, ast.Attribute)
        and any(part in (dotted_text(call.func.value) or "").lower() for part in ("optim", "scaler"))
        and "sched" not in (dotted_text(call.func.value) or "").lower()
        for name, call in named_calls(statement)
    )


@rule(
    "NPU809",
    "train-mode-not-restored",
    Safety.MANUAL,
    Severity.WARNING,
    words=(".train()",),
    also_in_file=(".eval()",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} of Module.eval",
)
def train_mode_not_restored(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A training loop switches the model to evaluation mode, but it is set to training mode only before the loop.

    From the second epoch on, dropout is off and batch statistics are no longer updated.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "train" or node.args or not imports_torch(file):
        return
    model = dotted_text(node.func.value)
    statements, own, _ = block_of(node, file)
    if model is None or own is None:
        return
    for loop in statements[statements.index(own) + 1 :]:
        if not isinstance(loop, LOOPS):
            continue
        calls = list(named_calls(loop))
        names = {name for name, _ in calls}
        evaluates = any(
            name == "eval" and isinstance(call.func, ast.Attribute) and dotted_text(call.func.value) == model
            for name, call in calls
        )
        evaluates = evaluates or any(_evaluates(call, model, file) for _, call in calls)
        if evaluates and "backward" in names and not any(name.startswith("train") for name in names):
            yield file.report(
                node,
                phrase(
                    "{model} is set to training mode once, and to evaluation mode in the loop at line {lineno}",
                    model=model,
                    lineno=loop.lineno,
                ),
                subject="torch.nn.Module.train",
                advice=phrase("call {model}.train() at the start of each epoch", model=model),
            )
            return


def _evaluates(call: ast.Call, model: str, file: PythonFile) -> bool:
    """Whether a call of a function of this file switches the model, given to it by position, to evaluation for good."""
    place = next((index for index, item in enumerate(call.args) if dotted_text(item) == model), None)
    function = file.function(call.func) if place is not None and isinstance(call.func, ast.Name) else None
    if place is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    taken = [*function.args.posonlyargs, *function.args.args]
    if place >= len(taken):
        return False
    inside = [(name, item.func.value) for name, item in named_calls(function) if isinstance(item.func, ast.Attribute)]
    switched = {name for name, of in inside if dotted_text(of) == taken[place].arg}
    return "eval" in switched and "train" not in switched


def _clears(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"


@rule(
    "NPU811",
    "gradients-not-cleared",
    Safety.MANUAL,
    Severity.WARNING,
    words=(".backward(",),
    also_in_file=(".step(",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION}: gradients accumulate until zero_grad",
)
def gradients_not_cleared(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loop steps the optimizer but never clears the gradients, or clears them in iterations without a step.

    The latter defeats gradient accumulation: only the last micro-batch counts.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "backward" or not imports_torch(file):
        return
    loop = next((up for up in file.ancestors(node) if isinstance(up, (*LOOPS, *SCOPES))), None)
    if not isinstance(loop, LOOPS):
        return
    calls = calls_in(loop, file)
    steps = [call for call in calls if is_step(call)]
    if not steps or sum(is_backward(call) for call in calls) != 1:
        return
    if is_test(file.source.relative) or _made_in(receiver(steps[0]), loop, file):
        return
    data = file.source.data
    if not any(
        word in data for word in (b"zero_grad", b".grad = None", b".grad=None", b"grad.zero_", b"autograd.grad")
    ):
        message = "the optimizer steps in this loop, but nothing clears the gradients"
        yield file.report(
            steps[0],
            message,
            subject="torch.optim.Optimizer.zero_grad",
            advice="call optimizer.zero_grad() in each iteration",
        )
        return
    periods = {_period(call, loop, file) for call in steps}
    clears = [call for call in calls if _clears(call)]
    if len(periods) != 1 or None in periods or not clears:
        return
    if any(is_conditional(call, loop, file) for call in clears):
        return
    yield file.report(
        clears[0],
        phrase("gradients are cleared in every iteration, but the optimizer steps only if {pop}", pop=periods.pop()),
        subject="torch.optim.Optimizer.zero_grad",
        advice="clear them right after the step, under the same condition",
    )


def _made_in(name: str, loop: ast.AST, file: PythonFile) -> bool:
    """Whether a name is bound anew in each round of a loop."""
    return any(
        isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id.lower() == name
        for item in nodes_in(loop, file)
    )


def _period(call: ast.Call, loop: ast.AST, file: PythonFile) -> str | None:
    """The condition with a remainder under which a call stands in a loop, or None."""
    current: ast.AST = call
    for up in enclosing(call, loop, file):
        if isinstance(up, ast.If) and current in up.body:
            if any(isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod) for item in walk(up.test)):
                return file.code(up.test)
        current = up
    return None
