"""``--place-on-npu``: a program that names no device gets one, and its model, data and loss are placed on it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety, Severity
from npuify.rules.placement.flow import Flow, Unproven
from npuify.rules.placement.links import MOST_CONNECTED, Group, links_of
from npuify.rules.placement.plan import CONSTRUCTORS, PlacementPlan, layers_made_elsewhere
from npuify.rules.registry import rule
from npuify.rules.statements import indentation, line_after, put_import

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DEVICE: Final = re.compile(
    rb"(?<![\w.])devices?\b|torch\.device|\.(?:cuda|npu)\(|[\"'](?:cuda|npu|mps|xpu|cpu)(?::\d+)?[\"']|map_location|"
    rb"torch\.(?:cuda|npu|accelerator)\b|compute_device|npuify_device"
)
"""What names a device, the portable style's helper included."""
_PLACES_ITSELF: Final = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:lightning|pytorch_lightning|accelerate|deepspeed|fastai|ignite|mmengine|mmcv|"
    rb"detectron2|colossalai|ray)\b|from transformers import [^\n]*\bTrainer\b",
    re.MULTILINE,
)
_TEXT: Final = re.compile(rb"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)
_TRAINS: Final = b".backward("
_SOURCE: Final = "semantics of torch: Module.to moves in place, Tensor.to gives a tensor on the device"


def may_be_placed(raw: bytes) -> bool:
    """Whether a file uses torch, and names no device and no framework that places models by itself."""
    if b"torch" not in raw or _PLACES_ITSELF.search(raw):
        return False
    return _DEVICE.search(_TEXT.sub(b"", raw)) is None


@rule(
    "NPU125",
    "not-placed-on-device",
    Safety.SAFE,
    Severity.ERROR,
    words=(),
    place_on_npu=True,
    evidence=Evidence.DOCUMENTED,
    source=_SOURCE,
)
def not_placed_on_device(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A program names no device, so that it computes on the CPU. With ``--place-on-npu`` it gets one.

    Models move where they are made, before an optimizer gets their parameters; batches in the loop over their
    DataLoader; other tensors where they are made; and what numpy gets comes back. It is done for a file as a whole, and
    only where each value can be followed to where it comes from.

    Before::

        import torch
        from torch import nn
        from torch.utils.data import DataLoader

        def train(model, loader, optimizer):
            criterion = nn.CrossEntropyLoss(weight=torch.ones(4))
            for inputs, targets in loader:
                loss = criterion(model(inputs), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        model = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(model, DataLoader([(torch.ones(8), 1)]), optimizer)

    After::

        import torch
        import torch_npu  # noqa: F401
        from torch import nn
        from torch.utils.data import DataLoader

        device = torch.device("npu" if torch.npu.is_available() else "cpu")

        def train(model, loader, optimizer):
            criterion = nn.CrossEntropyLoss(weight=torch.ones(4)).to(device)
            for inputs, targets in loader:
                inputs, targets = inputs.to(device), targets.to(device)
                loss = criterion(model(inputs), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        model = nn.Linear(8, 4).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(model, DataLoader([(torch.ones(8), 1)]), optimizer)
    """
    if file.source.relative not in file.plan.placed or not may_be_placed(file.source.data):
        return
    if file.source.name_target("torch", file.source.scope) != "torch":
        return
    if _is_of_a_library(file):
        at = file.source.data.find(_TRAINS)
        if at >= 0:
            yield file.report(
                (at, at + len(_TRAINS)),
                "the program names no device, and was not placed on one: imports connect it with more than "
                f"{MOST_CONNECTED} files",
                subject="torch.Tensor.to",
                advice=_BY_HAND,
            )
        return
    group = _group(file)
    own = group.plans.get(file.source.relative)
    if group.problem is not None:
        yield from _unproven(group.problem, own, file)
        return
    if own is None or not own.changes:
        if own is not None and not any(plan.called for plan in group.plans.values()):
            yield from _elsewhere(own.flow, file)
        return
    edits = {relative: _edits(plan, plan.flow.file) for relative, plan in group.plans.items() if plan.changes}
    shared = next((relative for relative, found in edits.items() if found is None), None)
    first = next(iter(own.models), None) or own.first or own.flow.source.tree
    if shared is not None:
        yield file.report(
            _span(first, own.flow),
            f"the program names no device, and was not placed on one: statements of {shared} share lines",
            subject="torch.Tensor.to",
            advice="write one statement a line, and run npuify again",
        )
        return
    yield file.report(
        _span(first, own.flow),
        "the program names no device; its model, data and loss are placed on one",
        edits=edits[file.source.relative] or (),
        subject="torch.Tensor.to",
        needs_torch_npu=file.plan.style == "npu",
    )


def _is_of_a_library(file: PythonFile) -> bool:
    return links_of(file).connections(file.source.relative) > MOST_CONNECTED


def _group(file: PythonFile) -> Group:
    """The files that are placed together with a file, or it alone where the project holds another text."""
    relative = file.source.relative
    if file.project.file_of(file.source.module) == relative:
        links = links_of(file)
        flow = links.flow(relative)
        if flow is not None and flow.source.data == file.source.data:
            found = links.group(relative)
            if found is not None:
                return found
    alone = Flow(file)
    plan = PlacementPlan(alone)
    try:
        plan.work_out()
    except Unproven as problem:
        problem.flow = alone
        return Group({relative: plan}, problem)
    return Group({relative: plan})


def _unproven(problem: Unproven, own: PlacementPlan | None, file: PythonFile) -> Iterator[Diagnostic]:
    """Says that a group was not placed: where the reason stands, and in files that call models."""
    flow = problem.flow
    relative = file.source.relative
    message = "the program names no device, and was not placed on one"
    if flow is not None and flow.source.relative == relative:
        yield file.report(
            _span(problem.node, flow),
            f"{message}: {problem.reason}",
            subject="torch.Tensor.to",
            advice=_BY_HAND,
        )
        return
    first = own.first if own is not None else None
    if flow is not None and own is not None and first is not None:
        place = f"{flow.source.relative}:{getattr(problem.node, 'lineno', 1)}"
        yield file.report(
            _span(first, own.flow),
            f"{message}: at {place}, {problem.reason}",
            subject="torch.Tensor.to",
            advice=_BY_HAND,
        )


_BY_HAND: Final = "move the model before the optimizer is built, and each batch in the loop, with .to(device)"


def _span(node: ast.AST, flow: Flow) -> tuple[int, int]:
    """Where a node stands, also one of another parse of the same text."""
    if isinstance(node, ast.Module):
        return (0, 0)
    return flow.source.start(node), flow.source.end(node)


def _elsewhere(flow: Flow, file: PythonFile) -> Iterator[Diagnostic]:
    """A file that trains with what it gets from other files."""
    for node in flow.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            if not flow.in_module_class(node):
                yield file.report(
                    node,
                    "training here names no device, and where its model and data come from is not shown in this file",
                    subject="torch.Tensor.to",
                    advice="move the model where it is made and each batch in this loop, with .to(device)",
                )
                return


def _edits(plan: PlacementPlan, file: PythonFile) -> list[Edit] | None:
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


def _first_in(loop: ast.For | ast.AsyncFor, text: str, file: PythonFile) -> Edit | None:
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


@rule(
    "NPU126",
    "made-on-cpu-in-a-module",
    Safety.SAFE,
    Severity.ERROR,
    words=(),
    place_on_npu=True,
    evidence=Evidence.DOCUMENTED,
    source=_SOURCE,
)
def made_on_cpu_in_a_module(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A module makes a tensor when it is called, and names no device: it is made on the CPU, wherever the module is.

    Before::

        import torch
        from torch import nn

        class Tagger(nn.Module):
            def forward(self, x):
                state = torch.zeros(x.shape[0], 8)
                return x + state

    After::

        import torch
        from torch import nn

        class Tagger(nn.Module):
            def forward(self, x):
                state = torch.zeros(x.shape[0], 8, device=x.device)
                return x + state
    """
    if file.source.relative not in file.plan.placed or not may_be_placed(file.source.data):
        return
    if _is_of_a_library(file) or _group(file).problem is not None:
        return  # NPU125 says why the program stays where it is
    for call, device in layers_made_elsewhere(Flow(file)):
        edit = None
        if device and file.qualname(call.func) in CONSTRUCTORS:
            edit = _with_device(call, device, file)
        elif device:
            end = file.source.end(call)
            edit = file.edit(end, end, f".to({device})")
        yield file.report(
            call,
            "this tensor is made on the CPU, wherever the module is",
            edits=[edit] if edit else (),
            subject="torch.Tensor.device",
            advice="" if edit else "give it the device of one of the inputs",
        )
