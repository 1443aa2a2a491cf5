"""Where ``.to(device)`` goes in the text of a file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.rules.common.edits.statements import indentation, line_after, put_import
from npuify.rules.placement.needs import CONSTRUCTORS

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.placement.plan import Plan
    from npuify.rules.placement.view import Loop, ProgramView


def edits_of(plan: Plan, file: PythonFile) -> list[Edit] | None:
    """The edits of a plan, in order; None where statements share lines."""
    edits: list[Edit | None] = []
    behind: dict[int, list[tuple[int, str]]] = {}
    for call in plan.models:
        behind.setdefault(file.source.end(call), []).append((file.source.start(call), ".to(device)"))
    for value in plan.values:
        start, end = file.source.start(value), file.source.end(value)
        if isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
            behind.setdefault(end, []).append((start, ".to(device)"))
        else:
            edits.append(file.edit(start, start, "("))
            behind.setdefault(end, []).append((start, ").to(device)"))
    for call in plan.made:
        edits.append(_with_device(call, "device", file))
    for value in plan.host:
        simple = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
        if not simple:
            return None
        behind.setdefault(file.source.end(value), []).append((file.source.start(value), ".cpu()"))
    for end, texts in behind.items():
        # Where two expressions end at one place, the inner one, which begins later, is closed first.
        edits.append(file.edit(end, end, "".join(text for _, text in sorted(texts, key=lambda item: -item[0]))))
    for loop, names in plan.elements.items():
        bound = [item.id for item in ast.walk(loop.target) if isinstance(item, ast.Name)]
        edits.append(_first_in(loop, _moved(sorted(names, key=bound.index)), file))
    for loop, (name, shape) in plan.batches.items():
        edits.append(_first_in(loop, _moved_whole(name, shape), file))
    for statement, names in plan.unpacked.items():
        edits.append(line_after(statement, _moved(sorted(names)), file))
    edits.append(_definition(file))
    found = [edit for edit in edits if edit is not None]
    return sorted(found) if len(found) == len(edits) else None


def _moved(names: list[str]) -> str:
    return f"{', '.join(names)} = {', '.join(f'{name}.to(device)' for name in names)}"


def _moved_whole(name: str, shape: str) -> str:
    item = "value.to(device) if torch.is_tensor(value) else value"
    if shape == "dict":
        return f"{name} = {{key: {item} for key, value in {name}.items()}}"
    return f"{name} = [{item} for value in {name}]"


def _first_in(loop: Loop, text: str, file: PythonFile) -> Edit | None:
    """Put a statement at the beginning of a loop's body."""
    first = loop.body[0]
    indent = indentation(first, file)
    if indent is None:
        return None
    start = file.source.start(first)
    return file.edit(start, start, f"{text}{file.source.text.newline}{indent}")


def _with_device(call: ast.Call, value: str, file: PythonFile) -> Edit | None:
    """Give a call the argument ``device``."""
    end = file.source.end(call) - 1
    given = [*call.args, *call.keywords]
    if file.source.data[end : end + 1] != b")" or not given:
        return None
    last = file.source.end(given[-1])
    between = file.source.segment(last, end)
    if "#" in between:
        return None
    if between.strip() == ",":
        place = last + between.index(",") + 1
        return file.edit(place, place, f" device={value},")
    return file.edit(last, last, f", device={value}") if not between.strip() else None


def _definition(file: PythonFile) -> Edit:
    """The statement that chooses the device, behind the imports."""
    plan = file.plan
    choice = '"npu" if torch.npu.is_available() else "cpu"'
    if plan.style == "portable":
        choice = f'{plan.helper}.type if {plan.helper}.api.is_available() else "cpu"'
    elif plan.style == "auto":
        choice = '"cuda" if torch.cuda.is_available() else "cpu"'
    line = len(file.source.text.line_starts) + 1
    return put_import(f"device = torch.device({choice})", file.source.tree, line, file, alone=True)


def moved_in_module(call: ast.Call, device: str, file: PythonFile, view: ProgramView, model: FileModel) -> Edit | None:
    """Have a module's code make a tensor on the device that an expression says."""
    if not device:
        return None
    if view.name(call.func, model) in CONSTRUCTORS:
        return _with_device(call, device, file)
    end = file.source.end(call)
    return file.edit(end, end, f".to({device})")
