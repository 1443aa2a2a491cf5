"""Automatic mixed precision where no CUDA word stands, and CUDA is meant all the same: defaults and old spellings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.renaming import rename_chain
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GPU_FUNCTIONS = {
    "torch.get_autocast_gpu_dtype": "torch.npu.get_autocast_dtype",
    "torch.set_autocast_gpu_dtype": "torch.npu.set_autocast_dtype",
}
_DEFAULT_FUNCTIONS = {
    "torch.is_autocast_enabled": "torch.npu.is_autocast_enabled",
    "torch.set_autocast_enabled": "torch.npu.set_autocast_enabled",
}
"""Functions that mean CUDA when they are given no device type, with the number of arguments they then have."""
_DEFAULT_ARGUMENTS = {"torch.is_autocast_enabled": 0, "torch.set_autocast_enabled": 1}


@rule(
    "NPU201", "autocast-state-of-gpu", Safety.SAFE, words=("autocast_gpu_dtype", "autocast_enabled"), names=("torch.",)
)
def autocast_state_of_gpu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The autocast state is queried for CUDA: by name, or because no device type is given.

    Before::

        import torch
        if torch.is_autocast_enabled():
            dtype = torch.get_autocast_gpu_dtype()

    After::

        import torch
        import torch_npu  # noqa: F401
        if torch.npu.is_autocast_enabled():
            dtype = torch.npu.get_autocast_dtype()
    """
    name = file.qualname(node.func)
    if name is None:
        return
    target = _GPU_FUNCTIONS.get(name)
    if target is None:
        target = _DEFAULT_FUNCTIONS.get(name)
        if target is None or len(node.args) != _DEFAULT_ARGUMENTS[name] or node.keywords:
            return
    edits: list[Edit] | None = None
    if file.release.has(target) and isinstance(node.func, ast.Attribute):
        edits = rename_chain(node.func, name, target, file)
    yield file.report(
        node,
        phrase("{name}() queries CUDA; the NPU's counterpart is {target}()", name=name, target=target),
        edits=edits or (),
        subject=name,
        advice=phrase("call {target}()", target=target),
        needs_torch_npu=True,
    )


_DEFAULT_DEVICE = {
    "torch.amp.GradScaler": ("device", 0),
    "torch.GradScaler": ("device", 0),
    "torch.amp.grad_scaler.GradScaler": ("device", 0),
    "torch.random.fork_rng": ("device_type", None),
}


@rule(
    "NPU202",
    "default-device-is-cuda",
    Safety.SAFE,
    words=("gradscaler", "fork_rng"),
    evidence=Evidence.PACKAGE,
    source="signatures in the torch package: the parameter defaults to 'cuda'",
)
def default_device_is_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A call omits a device type that defaults to ``"cuda"``.

    Without a device, ``torch.amp.GradScaler()`` is a CUDA scaler: on an NPU machine it warns once, disables itself, and
    gradients are no longer scaled. ``torch.random.fork_rng()`` only preserves the random state of CUDA devices.

    Before::

        import torch
        scaler = torch.amp.GradScaler(enabled=True)

    After::

        import torch
        import torch_npu  # noqa: F401
        scaler = torch.amp.GradScaler("npu", enabled=True)
    """
    name = file.qualname(node.func) or ""
    if name not in _DEFAULT_DEVICE:
        return
    parameter, position = _DEFAULT_DEVICE[name]
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(keyword.arg is None for keyword in node.keywords):
        return
    given = argument(node, position, parameter) if position is not None else argument(node, 99, parameter)
    if given is not None:
        return
    end = file.source.end(node) - 1
    opening = file.source.data.find(b"(", file.source.end(node.func))
    edits = []
    if file.source.data[end : end + 1] == b")" and 0 <= opening < end:
        inside = file.source.segment(opening + 1, end)
        if position == 0:
            blank = len(inside) - len(inside.lstrip())
            if "#" not in inside[:blank]:
                # On several lines the new argument gets a line of its own, indented as the next one.
                separator = "," + (inside[:blank] or " ") if inside.strip() else ""
                place = opening + 1 + len(inside[:blank].encode())
                edits = [file.edit(place, place, f'"npu"{separator}')]
        else:
            separator = ", " if inside.strip() and not inside.rstrip().endswith(",") else ""
            edits = [file.edit(end, end, f'{separator}{parameter}="npu"')] if "#" not in inside else []
    yield file.report(
        node,
        phrase("{name}() without {parameter} uses CUDA", name=name, parameter=parameter),
        edits=edits,
        severity=Severity.ERROR if "GradScaler" in name else Severity.WARNING,
        subject=name,
        advice=phrase('pass {parameter}="npu"', parameter=parameter),
        needs_torch_npu=True,
    )
