"""``--place-on-npu``: a program that names no device gets one, and its model, data and loss are placed on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.placement.links import MOST_CONNECTED, alone, links_of
from npuify.rules.registry import rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.rules.placement.outcome import Outcome, Placed, Problem

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
            yield _left(
                file,
                (at, at + len(_TRAINS)),
                phrase(": imports connect it with more than {MOST_CONNECTED} files", MOST_CONNECTED=MOST_CONNECTED),
            )
        return
    outcome = _outcome(file)
    own = outcome.files[file.source.relative]
    if outcome.problem is not None:
        yield from _unproven(outcome.problem, own, file)
    elif own.edits != ():
        shared = next((relative for relative, other in outcome.files.items() if other.edits is None), None)
        if shared is None:
            yield file.report(
                own.span,
                "the program names no device; its model, data and loss are placed on one",
                edits=own.edits or (),
                subject="torch.Tensor.to",
                needs_torch_npu=file.plan.style == "npu",
            )
            return
        advice = "put each statement on its own line, and run npuify again"
        yield _left(file, own.span, phrase(": several statements of {shared} are on one line", shared=shared), advice)
    elif own.trains is not None and not outcome.runs_models:
        yield file.report(
            own.trains,
            "this training loop names no device, and this file does not show where its model and data come from",
            subject="torch.Tensor.to",
            advice="move the model where it is created, and each batch in this loop, with .to(device)",
        )


def _is_of_a_library(file: PythonFile) -> bool:
    return len(links_of(file).connected(file.source.relative)) > MOST_CONNECTED


def _outcome(file: PythonFile) -> Outcome:
    """What becomes of a file, with those that are placed with it, or alone where the project holds another text."""
    relative = file.source.relative
    found: Outcome | None = file.recall("placement")
    if found is None and file.project.file_of(file.source.module) == relative:
        found = links_of(file).outcome(relative, file.source.data)
    return found or file.remember("placement", alone(file))


def _unproven(problem: Problem, own: Placed, file: PythonFile) -> Iterator[Diagnostic]:
    """Says that a group was not placed: where the reason stands, and in files that call models."""
    if problem.file == file.source.relative:
        yield _left(file, problem.span, phrase(": {reason}", reason=problem.reason))
        return
    # A program that names a device itself moves the models that it makes, or is given.
    at = own.runs_own if problem.is_placed else own.runs or own.makes
    if at is not None:
        yield _left(
            file, at, phrase(": at {place}, {reason}", place=f"{problem.file}:{problem.line}", reason=problem.reason)
        )


_BY_HAND: Final = "move the model before the optimizer is built, and each batch in the loop, with .to(device)"


def _left(file: PythonFile, span: tuple[int, int], why: str, advice: str = _BY_HAND) -> Diagnostic:
    message = phrase("the program names no device, and could not be placed on one{why}", why=why)
    return file.report(span, message, subject="torch.Tensor.to", advice=advice)


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
    if _is_of_a_library(file):
        return
    outcome = _outcome(file)
    if outcome.problem is not None:
        return  # NPU125 says why the program stays where it is
    for span, edit in outcome.files[file.source.relative].made:
        yield file.report(
            span,
            "this tensor is created on the CPU, whatever device the module is on",
            edits=[edit] if edit else (),
            subject="torch.Tensor.device",
            advice="" if edit else "give it the device of one of the inputs",
        )
