"""Calls of ``torch.cuda`` whose parameters differ on the NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.devices.torch_cuda.cuda_names import is_cuda_name
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge import Counterpart, Signature
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule("NPU103", "parameters-differ", Safety.SAFE, words=("cuda",), names=("torch.cuda",))
def parameters_differ(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A call passes a parameter that the NPU function lacks, or names differently.

    Where the parameter at the same position has a different name, the keyword is renamed.

    Before::

        import torch
        print(torch.cuda.get_device_name(device=0))

    After::

        import torch
        import torch_npu  # noqa: F401
        print(torch.npu.get_device_name(device_name=0))
    """
    name = file.qualname(node.func)
    if not is_cuda_name(name) or name is None:
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None or counterpart.npu is None:
        return
    renamed = dict(counterpart.renamed_parameters)
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in (*counterpart.missing_parameters, *renamed):
            continue
        new = renamed.get(keyword.arg)
        start = file.source.start(keyword)
        end = start + len(keyword.arg.encode())
        editable = new is not None and file.source.segment(start, end) == keyword.arg
        yield file.report(
            keyword,
            phrase("{npu} of torch_npu {torch_npu} ", npu=counterpart.npu, torch_npu=file.release.torch_npu)
            + (
                phrase("names the parameter {arg} {new}", arg=keyword.arg, new=new)
                if new
                else phrase("has no parameter {arg}", arg=keyword.arg)
            ),
            edits=[file.edit(start, end, str(new))] if editable else (),
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice="" if editable else phrase("call it without {arg}", arg=keyword.arg),
            needs_torch_npu=True,
        )
    yield from _moved_parameters(node, name, counterpart, file)
    signature = file.release.signature(counterpart.npu)
    if signature is None or signature.parameters is None:
        return
    there = _positional(signature)
    takes_more = any(p.kind == "args" for p in signature.parameters)
    if len(node.args) > len(there) and not takes_more and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield file.report(
            node,
            phrase(
                "{npu} of torch_npu {torch_npu} takes {number} positional arguments",
                npu=counterpart.npu,
                torch_npu=file.release.torch_npu,
                number=len(there),
            ),
            subject=name,
            evidence=counterpart.evidence,
            source=counterpart.source,
            advice="pass fewer arguments",
        )


def _moved_parameters(node: ast.Call, name: str, counterpart: Counterpart, file: PythonFile) -> Iterator[Diagnostic]:
    """Positional arguments for parameters that stand elsewhere on the NPU, and those behind, are passed by keyword."""
    original = file.release.signature(name)
    if not counterpart.moved_parameters or original is None or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    taken = _positional(original)[: len(node.args)]
    first = next((index for index, parameter in enumerate(taken) if parameter in counterpart.moved_parameters), None)
    if first is None:
        return
    edits = []
    for parameter, arg in zip(taken[first:], node.args[first:], strict=True):
        start = file.source.start(arg)
        edits.append(file.edit(start, start, f"{dict(counterpart.renamed_parameters).get(parameter, parameter)}="))
    yield file.report(
        node,
        phrase(
            "{taken} has a different position in {npu} of torch_npu {torch_npu}",
            taken=taken[first],
            npu=counterpart.npu,
            torch_npu=file.release.torch_npu,
        ),
        edits=edits,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        needs_torch_npu=True,
    )


def _positional(signature: Signature) -> list[str]:
    return [p.name for p in signature.parameters or () if p.kind in ("positional", "both")]
