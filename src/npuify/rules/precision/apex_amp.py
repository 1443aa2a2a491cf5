"""Mixed precision of apex: ``amp.initialize`` and ``amp.scale_loss`` become autocast and a GradScaler.

apex patches torch's functions for the whole program; autocast holds for a block. So an edit is only offered where one
loop holds the forward pass, the backward pass and the step, and the file uses nothing else of ``apex.amp``.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import mark, phrase, semicolons
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.statements import ends_its_line, indentation, line_after
from npuify.rules.common.packages.import_guards import has_fallback, is_asked_for, may_not_run
from npuify.rules.common.surely_run import surely_runs
from npuify.rules.precision.apex_amp_reading import AMP_LEVELS, AmpUse, Incomplete, level_of, read_amp
from npuify.rules.precision.apex_uses import bound_names, removal
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_STEPS = mark(
    "1. scaler = torch.npu.amp.GradScaler() in place of amp.initialize; 2. the model's call and the loss inside `with "
    "torch.npu.amp.autocast():`, also in evaluation; 3. scaler.scale(loss).backward() in place of the scale_loss "
    "block; 4. scaler.unscale_(optimizer) before gradients are clipped or inspected; 5. scaler.step(optimizer) and "
    "scaler.update() in place of optimizer.step(); 6. scaler.state_dict() in checkpoints. On Ascend 910B and later "
    "dtype=torch.bfloat16 needs no scaler"
)
_ADVICE = {
    "initialize": _STEPS,
    "scale_loss": "write scaler.scale(loss).backward(), and scaler.step(optimizer) with scaler.update() for the step; "
    "with delay_unscale=True, for accumulated gradients, only the last backward pass is followed by them. apex "
    "unscales the gradients at the end of the block: scaler.unscale_(optimizer) does the same",
    "master_params": "pass model.parameters(), after scaler.unscale_(optimizer)",
    "state_dict": "save scaler.state_dict(); a state saved by apex does not load into it",
    "load_state_dict": "load with scaler.load_state_dict(); a state saved by apex does not fit: start with a new "
    "scaler",
    "disable_casts": "write `with torch.npu.amp.autocast(enabled=False):`",
    "half_function": "use torch.amp.custom_fwd(cast_inputs=torch.float16, device_type='npu'), or cast by hand",
    "float_function": "use torch.amp.custom_fwd(cast_inputs=torch.float32, device_type='npu'), or cast by hand",
}


@rule(
    "NPU210",
    "apex-amp",
    Safety.REVIEW,
    words=("apex",),
    evidence=Evidence.DOCUMENTED,
    source="apex's documentation of apex.amp; torch's notes on automatic mixed precision",
)
def apex_amp(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """``apex.amp`` needs CUDA; torch has its own mixed precision.

    O0 is float32, O1 is autocast with a GradScaler, O2 keeps the model in float16 and float32 copies of its weights, O3
    is float16 throughout. Edits are offered for O0 and O1, where one loop contains the forward pass, the backward pass
    and the step; elsewhere each call is reported with its replacement.

    Before::

        import torch
        from apex import amp

        def train(model, optimizer, criterion, loader):
            model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
            for inputs, targets in loader:
                outputs = model(inputs)
                loss = criterion(outputs, targets)
                optimizer.zero_grad()
                with amp.scale_loss(loss, optimizer) as scaled_loss:
                    scaled_loss.backward()
                optimizer.step()

    After::

        import torch
        import torch_npu  # noqa: F401

        def train(model, optimizer, criterion, loader):
            scaler = torch.npu.amp.GradScaler()
            for inputs, targets in loader:
                with torch.npu.amp.autocast():
                    outputs = model(inputs)
                    loss = criterion(outputs, targets)
                optimizer.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    """
    uses, unsure = [], set[ast.AST]()
    for bound in bound_names(file):
        if has_fallback(bound.statement, file) or is_asked_for(bound.statement, "apex", file):
            continue
        if may_not_run(bound.statement, file) and not surely_runs(bound.statement, file):
            unsure.update(use.node for use in bound.uses)
        uses += [(use, use.name) for use in bound.uses if (use.name + ".").startswith("apex.amp.")]
    if not uses:
        return
    plan: AmpUse | str
    edits: tuple[Edit, ...] = ()
    try:
        plan = read_amp([use for use, _ in uses], file)
        edits = _edits(plan, file)
    except Incomplete as reason:
        plan = str(reason)
    file.remember("apex.amp", plan)
    for use, name in uses:
        what = name[len("apex.amp.") :].partition(".")[0]
        if isinstance(plan, AmpUse):
            if what == "initialize":
                yield file.report(
                    use.node,
                    phrase(
                        "apex.amp needs CUDA. {LEVELS}. Check whether the model is also called elsewhere: apex "
                        "casts there as well, autocast only in its block",
                        LEVELS=AMP_LEVELS[plan.level],
                    ),
                    edits=edits,
                    subject="apex.amp.initialize",
                    needs_torch_npu=plan.level != "O0",
                )
            continue
        level = level_of(use.call) if what == "initialize" and use.call is not None else None
        meaning = AMP_LEVELS.get(level or "") or phrase(
            "its opt_level is not given here: {levels}", levels=semicolons(AMP_LEVELS.values())
        )
        yield file.report(
            use.node,
            phrase("{name} needs CUDA. {meaning}. No edit: {plan}", name=name, meaning=meaning, plan=plan)
            if what == "initialize"
            else phrase("{name} needs CUDA", name=name),
            subject=name,
            # Whether the program comes to the import is as little known as in NPU620.
            severity=Severity.WARNING if use.node in unsure else None,
            advice=_ADVICE.get(what, "use autocast and GradScaler of torch.npu.amp"),
        )


def _edits(amp: AmpUse, file: PythonFile) -> tuple[Edit, ...]:
    edits: list[Edit | None] = [file.replace(call, f"{amp.model}.parameters()") for call in amp.master_params]
    start, block, scaler, optimizer = amp.initialization, amp.backward, amp.scaler, amp.optimizer
    if amp.level == "O0":
        return _complete([*edits, removal(start, file), _backward(block, f"{amp.loss}.backward{amp.arguments}", file)])
    edits += [file.replace(node, f"{scaler}.{node.attr}") for node in amp.states]
    edits.append(file.replace(start, f"{scaler} = torch.npu.amp.GradScaler()"))
    edits.append(autocast_around(amp.forward, "torch.npu.amp.autocast()", file))
    edits.append(_backward(block, f"{scaler}.scale({amp.loss}).backward{amp.arguments}", file))
    if amp.looks_at_gradients:
        edits.append(line_after(block, f"{scaler}.unscale_({optimizer})", file))
    edits.append(file.replace(amp.step, f"{scaler}.step({optimizer})"))
    edits.append(line_after(amp.step, f"{scaler}.update()", file))
    return _complete(edits)


def _complete(edits: list[Edit | None]) -> tuple[Edit, ...]:
    found = [edit for edit in edits if edit is not None]
    if len(found) != len(edits):
        raise Incomplete("it shares lines with other code")
    return tuple(sorted(found))


def autocast_around(statements: tuple[ast.stmt, ...], context: str, file: PythonFile) -> Edit:
    """Put whole statements into ``with context:``."""
    indent = indentation(statements[0], file) or ""
    start, end = file.source.start(statements[0]) - len(indent.encode()), file.source.end(statements[-1])
    deeper = "\t" if "\t" in indent else "    "
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", file.source.segment(start, end))
    moved = "".join(deeper + line if line.strip() else line for line in lines)
    return file.edit(start, end, f"{indent}with {context}:{file.source.text.newline}{moved}")


def _backward(block: ast.With, text: str, file: PythonFile) -> Edit | None:
    """Put ``text`` in place of the ``with`` block; a comment behind its first line goes on a line before it."""
    only = block.body[0]
    indent = indentation(block, file)
    if indent is None or not ends_its_line(only, file):
        return None
    header = file.source.segment(file.source.end(block.items[0].context_expr), file.source.start(only))
    if isinstance(block.items[0].optional_vars, ast.Name):
        header = file.source.segment(file.source.end(block.items[0].optional_vars), file.source.start(only))
    comments = [line[line.index("#") :].rstrip() for line in header.splitlines() if "#" in line]
    newline = file.source.text.newline
    before = "".join(f"{comment}{newline}{indent}" for comment in comments)
    return file.replace(block, before + text)
