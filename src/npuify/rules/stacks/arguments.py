"""Keywords of the stacks around PyTorch in Python: SGLang's engine, Ultralytics' models."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from npuify.analysis.targets import bound_by
from npuify.knowledge.frameworks.stacks import stack_additions, stack_argument, stack_arguments, stack_programs
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.stacks import StackProgram
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_CALLED = tuple(one for one in stack_programs() if one.calls)
_METHODS = frozenset(("train", "val", "predict", "track", "export", "tune", "benchmark"))
"""Methods of Ultralytics' models; what they are methods of is asked, too."""


@rule(
    "NPU972",
    "stack-argument",
    Safety.SAFE,
    words=(
        *sorted({f"{name}=" for one in _CALLED for name in stack_arguments(one.stack, "python")}),
        *sorted({f".{name}(" for row in stack_additions("Ultralytics", "python") for name in row.only_in}),
    ),
    also_in_file=("sglang", "ultralytics"),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of stacks; npuify says the source with each finding",
)
def stack_keyword(node: ast.keyword | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """SGLang or Ultralytics is given an argument that an NPU changes.

    Before::

        import sglang

        engine = sglang.Engine(model_path="facebook/opt-125m", attention_backend="flashinfer")

    After::

        import sglang

        engine = sglang.Engine(model_path="facebook/opt-125m", attention_backend="ascend")
    """
    if not file.project.packages.isdisjoint(("sglang", "ultralytics")):
        return
    if isinstance(node, ast.Call):
        yield from _to_add(node, file)
        return
    call = file.parent(node)
    if node.arg is None or not isinstance(call, ast.Call):
        return
    program = next((one for one in _CALLED if _takes(one, call, file)), None)
    row = stack_argument(program.stack, "python", node.arg, _text(node.value)) if program is not None else None
    if row is None:
        return
    edits: list[Edit] = []
    if row.action == "set":
        edits = [file.replace(node.value, _written(row.becomes, node.value, file))]
    yield file.report(
        node,
        phrase("{stack} {option}: {message}", stack=row.stack, option=node.arg, message=row.message),
        edits=edits,
        safety=row.safety,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"{row.stack}: {node.arg}",
        advice=row.advice,
    )


def _to_add(call: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """What a call has to say: ``model.train(data="coco8.yaml")`` computes on the CPU of a machine with NPUs."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    program = next((one for one in _CALLED if stack_additions(one.stack, "python") and _takes(one, call, file)), None)
    for row in stack_additions(program.stack, "python") if program is not None and method else ():
        given = {one.arg for one in call.keywords}
        if method not in row.only_in or not given.isdisjoint((None, "cfg", row.names[0])):
            continue
        last = max((*call.args, *(one.value for one in call.keywords)), key=file.source.end, default=None)
        at = file.source.end(last) if last is not None else file.source.end(call) - 1
        text = f'{", " if last is not None else ""}{row.names[0]}="{row.becomes}"'
        yield file.report(
            call,
            phrase("{stack} {option}: {message}", stack=row.stack, option=row.names[0], message=row.message),
            edits=[file.edit(at, at, text)],
            safety=row.safety,
            severity=row.severity,
            evidence=row.evidence,
            source=row.source,
            subject=f"{row.stack}: {row.names[0]}",
            advice=row.advice,
        )


def _takes(program: StackProgram, call: ast.Call, file: PythonFile) -> bool:
    """Whether a call is one of the stack's functions, or a method of what one of them made."""
    name = file.qualname(call.func)
    if name is not None and any(fnmatchcase(name, one) for one in program.calls):
        return True
    if program.stack != "Ultralytics" or not isinstance(call.func, (ast.Attribute, ast.Name, ast.Call)):
        return False
    # A method of the model, or the model itself, which an object may hold: self.model("im.jpg", device=0).
    inner = isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
    model = call.func.value if isinstance(call.func, ast.Attribute) and inner else call.func
    return isinstance(model, (ast.Name, ast.Call, ast.Attribute)) and _is_model(model, program, file)


def _is_model(node: ast.expr, program: StackProgram, file: PythonFile) -> bool:
    """Whether an expression is a call of the stack's classes, or a name that is bound to such calls only."""
    if isinstance(node, ast.Call):
        name = file.qualname(node.func)
        return name is not None and any(fnmatchcase(name, one) for one in program.calls)
    if isinstance(node, ast.Attribute):
        held = [file.model.parent(one) for one in file.model.references(node.attr) if file.code(one) == file.code(node)]
        given = [one.value for one in held if isinstance(one, ast.Assign)]
        return bool(given) and all(isinstance(one, ast.Call) and _is_model(one, program, file) for one in given)
    found = file.scope(node).lookup(node.id) if isinstance(node, ast.Name) else None
    bound = [bound_by(one, file.model) for one in found[1]] if found is not None else []
    return bool(bound) and all(
        one is not None
        and one.how == "value"
        and not one.path
        and isinstance(one.source, ast.Call)
        and _is_model(one.source, program, file)
        for one in bound
    )


def _text(value: ast.expr) -> str | None:
    """What a literal says: a list of devices is a string of them."""
    if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
        parts = [_text(one) for one in value.elts]
        return ",".join(part for part in parts if part is not None) if None not in parts else None
    if isinstance(value, ast.Constant) and not isinstance(value.value, bool):
        return str(value.value)
    return None


def _written(becomes: str, value: ast.expr, file: PythonFile) -> str:
    text = becomes.format(value=_text(value))
    if text.isdigit():
        return text
    code = file.code(value)
    quote = code[0] if code[:1] in "\"'" and isinstance(value, ast.Constant) else '"'
    return f"{quote}{text}{quote}"
