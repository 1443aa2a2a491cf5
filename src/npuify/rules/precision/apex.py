"""apex: its optimizers, layers and parallel wrappers become torch's own, or are named with the way out."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import Evidence, Safety
from npuify.rules.common.edits.statements import indentation
from npuify.rules.common.packages.import_guards import no_other_takes
from npuify.rules.common.settled import settles
from npuify.rules.precision.apex_forms import FORMS, Conversion, Form, canonical, convert_call
from npuify.rules.precision.apex_uses import (
    NO_TORCH,
    PERHAPS_IMPORTED,
    Bound,
    bound_names,
    is_guarded,
    is_mentioned,
    may_be_passed_on,
    may_be_removed,
)
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.common.packages.name_uses import Use
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SOURCE = "signatures and code in apex and torch"


@rule(
    "NPU211",
    "apex-parallel",
    Safety.SAFE,
    words=("apex",),
    evidence=Evidence.PACKAGE,
    source=_SOURCE,
)
def apex_parallel(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """apex's DistributedDataParallel and SyncBatchNorm are now part of torch.

    apex leaves buffers alone, and waits for no parameter that gets no gradient; torch's options say the same. Where
    ``delay_allreduce`` is not given, a person decides whether a parameter may get no gradient.

    Before::

        import torch
        from apex.parallel import DistributedDataParallel as DDP, convert_syncbn_model
        model = convert_syncbn_model(torch.nn.Linear(2, 2))
        model = DDP(model, delay_allreduce=True)

    After::

        import torch
        from torch.nn.parallel import DistributedDataParallel as DDP
        from torch.nn import SyncBatchNorm
        model = SyncBatchNorm.convert_sync_batchnorm(torch.nn.Linear(2, 2))
        model = DDP(model, find_unused_parameters=True, broadcast_buffers=False)
    """
    yield from _forms("apex.parallel.", file)


@rule(
    "NPU212",
    "apex-optimizer",
    Safety.REVIEW,
    words=("apex",),
    evidence=Evidence.PACKAGE,
    source=_SOURCE,
)
def apex_optimizer(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """apex's fused optimizers need CUDA; torch has most of them, with different defaults.

    FusedAdam decouples the weight decay by default, so it becomes AdamW, and its decay is 0 unless given.
    torch_npu.optim has fused optimizers (NpuFusedAdamW, NpuFusedSGD), which are faster for many small parameters.

    Before::

        import torch
        from apex.optimizers import FusedAdam
        optimizer = FusedAdam(torch.nn.Linear(2, 2).parameters(), lr=1e-3, adam_w_mode=True)

    After::

        import torch
        from torch.optim import AdamW
        optimizer = AdamW(torch.nn.Linear(2, 2).parameters(), lr=1e-3, weight_decay=0.0)
    """
    yield from _forms("apex.optimizers.", file)


@rule(
    "NPU213",
    "apex-normalization",
    Safety.SAFE,
    words=("apex",),
    evidence=Evidence.PACKAGE,
    source=_SOURCE,
)
def apex_normalization(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """apex's fused layer norm computes the same as torch's, which apex itself calls for tensors that are not on CUDA.

    Before::

        import apex
        import torch
        norm = apex.normalization.FusedLayerNorm(64, eps=1e-6)

    After::

        import torch
        norm = torch.nn.LayerNorm(64, eps=1e-6)
    """
    yield from _forms("apex.normalization.", file)


def _forms(area: str, file: PythonFile) -> Iterator[Diagnostic]:
    for bound in bound_names(file):
        if is_guarded(bound, file):
            continue
        if canonical(bound.target).startswith(area) and canonical(bound.target).count(".") == 2:
            if canonical(bound.target) in FORMS and not bound.target.endswith(".*"):
                yield from _imported_name(bound, file)
            elif bound.target.rpartition(".")[2][:1].isupper() or bound.target.endswith(".*"):
                for node in _places(bound):
                    yield _without_form(node, canonical(bound.target), file)
            else:
                yield from _uses_of_module(bound, area, file)
        elif not canonical(bound.target).startswith(area):
            yield from _uses_of_module(bound, area, file)


def _uses_of_module(bound: Bound, area: str, file: PythonFile) -> Iterator[Diagnostic]:
    """Findings for uses through a module: ``apex.optimizers.FusedAdam(…)``."""
    for use in bound.uses:
        name = canonical(use.name)
        if not name.startswith(area) or name == area.rstrip("."):
            continue
        if name not in FORMS:
            yield _without_form(use.node, name, file)
            continue
        converted = _conversion_through_module(use, bound, file)
        if isinstance(converted, str):
            yield _left(use.node, name, converted, file)
            continue
        form = converted.form
        edits = [file.replace(use.node, form.target + form.member), *converted.edits]
        yield _report(use.node, name, converted, edits, file)


def _conversion_through_module(use: Use, bound: Bound, file: PythonFile) -> Conversion | str:
    converted = conversion_of(use, canonical(use.name), file)
    if isinstance(converted, Conversion) and file.source.name_target("torch", file.scope(use.node)) != "torch":
        return NO_TORCH
    if isinstance(converted, Conversion) and not bound.sole:
        return phrase("{name} is bound in more than one way", name=bound.name)
    return converted


@settles("apex")
def nothing_of_apex_is_left(file: PythonFile) -> bool:
    """Whether safe edits take all of apex out of the file, as far as it fails without it."""
    bounds = bound_names(file)
    return bool(bounds) and all(is_guarded(bound, file) or _goes(bound, file) for bound in bounds)


def _goes(bound: Bound, file: PythonFile) -> bool:
    name = canonical(bound.target)
    if bound.uses and name in FORMS:
        planned = _plan_for(bound, name, file)
        return not isinstance(planned, dict) and planned.safety is Safety.SAFE
    for use in bound.uses:
        converted = _conversion_through_module(use, bound, file) if canonical(use.name) in FORMS else ""
        if isinstance(converted, str) or not converted.exact:
            return False
    return bound.sole and may_be_removed(bound, file, uses=len(bound.uses))


def _places(bound: Bound) -> list[ast.AST]:
    """Where what is imported has to be replaced by hand: at each use; the import's own line says too little."""
    return [use.node for use in bound.uses] or [bound.alias]


def _imported_name(bound: Bound, file: PythonFile) -> Iterator[Diagnostic]:
    """Findings for ``from apex.optimizers import FusedAdam``: the import and all uses change together, or none.

    None for a name without uses, which is taken out by NPU215. What is left is told of at each use.
    """
    name = canonical(bound.target)
    if not bound.uses and not may_be_passed_on(file) and not is_mentioned(bound, file):
        return
    planned = _plan_for(bound, name, file)
    if not isinstance(planned, dict):
        yield planned
        return
    first = next(iter(planned.values()))
    for node in _places(bound):
        reason = planned.get(node) or phrase(
            "another use cannot be replaced (line {line}): {first}", line=_line(planned), first=first
        )
        yield _left(node, name, reason, file)


def _line(reasons: dict[ast.AST, str]) -> int:
    node = next(iter(reasons))
    return int(getattr(node, "lineno", 0))


def _plan_for(bound: Bound, name: str, file: PythonFile) -> Diagnostic | dict[ast.AST, str]:
    """The finding that changes an import and all its uses, or why that cannot be, by the places in the way."""
    if not bound.uses and not FORMS[name].as_value:
        return {bound.alias: PERHAPS_IMPORTED}
    if not bound.sole:
        return dict.fromkeys(_places(bound), phrase("{name} is bound in more than one way", name=bound.name))
    conversions: list[tuple[Use, Conversion]] = []
    reasons: dict[ast.AST, str] = {}
    for use in bound.uses:
        converted = (
            conversion_of(use, name, file) if use.name == bound.target else phrase("{name} is used", name=use.name)
        )
        if isinstance(converted, str):
            reasons[use.node] = converted
        else:
            conversions.append((use, converted))
    if reasons:
        return reasons
    forms = {conversion.form.target: conversion.form for _, conversion in conversions} or {
        FORMS[name].target: FORMS[name]
    }
    if any(_too_old(form, file) for form in forms.values()):
        return dict.fromkeys(
            _places(bound), phrase("torch {torch} has no {forms}", torch=file.release.torch, forms=commas(forms))
        )
    names = _new_names(bound, forms, [use for use, _ in conversions], file)
    imports = _import_edit(bound, names, file) if names is not None else None
    if names is None or imports is None:
        return dict.fromkeys(_places(bound), "the import cannot be edited in place")
    edits = [imports]
    for use, conversion in conversions:
        new = names[conversion.form.target] + conversion.form.member
        if new != bound.name:
            edits.append(file.replace(use.node, new))
        edits += conversion.edits
    exact = bool(conversions) and all(conversion.exact for _, conversion in conversions)
    exact = exact and (bound.name in names.values() or no_other_takes([bound.name], file))
    return _report(bound.alias, name, Conversion(next(iter(forms.values())), (), exact), edits, file)


def conversion_of(use: Use, name: str, file: PythonFile) -> Conversion | str:
    """How one use of a key of FORMS is rewritten, or why it is not."""
    form = FORMS[name]
    if _too_old(form, file):
        return phrase("torch {torch} has no {target}", torch=file.release.torch, target=form.target)
    if use.call is not None:
        return convert_call(name, use.call, file)
    parent = file.parent(use.node)
    if isinstance(parent, ast.ClassDef):
        return "a class inherits from it"
    asked = isinstance(parent, ast.Tuple) and isinstance(file.parent(parent), ast.Call)
    call = file.parent(parent) if asked and parent is not None else parent
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "isinstance":
        return Conversion(form, (), form.exact) if name != "apex.optimizers.FusedAdam" else "its type is checked"
    return Conversion(form, ()) if form.as_value else "it is used without being called, so its arguments are unknown"


def _too_old(form: Form, file: PythonFile) -> bool:
    found = re.match(r"(\d+)\.(\d+)", file.release.torch)
    return found is not None and (int(found.group(1)), int(found.group(2))) < form.since


def _new_names(bound: Bound, forms: dict[str, Form], uses: list[Use], file: PythonFile) -> dict[str, str] | None:
    """What the import binds, by target: torch's own name, or the old one where that is wanted or torch's is taken."""
    own = {target: target.rpartition(".")[2] for target in forms}
    if all(name == bound.name for name in own.values()):
        return own
    scopes = [file.scope(bound.statement), *(file.scope(use.node) for use in uses)]
    taken = any(scope.lookup(name) is not None for scope in scopes for name in own.values())
    said = re.search(rb"[\"']" + bound.name.encode() + rb"[\"']", file.source.data) is not None
    renamed = bound.alias.asname is not None and bound.alias.asname != bound.alias.name
    member = any(form.member for form in forms.values())
    if (taken or said or renamed or not uses) and not member:
        return dict.fromkeys(forms, bound.name) if len(forms) == 1 else None
    return own if not taken and uses else None


def _import_edit(bound: Bound, names: dict[str, str], file: PythonFile) -> Edit | None:
    """The statement without the name, and with imports of torch's in its place."""
    statement = bound.statement
    indent = indentation(statement, file)
    if indent is None or not isinstance(statement, ast.ImportFrom):
        return None
    if b"#" in file.source.data[file.source.start(statement) : file.source.end(statement)]:
        return None
    by_module: dict[str, list[str]] = {}
    for target, name in sorted(names.items()):
        module, _, own = target.rpartition(".")
        by_module.setdefault(module, []).append(own if own == name else f"{own} as {name}")
    lines = [f"from {module} import {', '.join(parts)}" for module, parts in by_module.items()]
    others = [alias for alias in statement.names if alias is not bound.alias]
    if others:
        texts = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in others]
        lines.append(f"from {statement.module} import {', '.join(texts)}")
    return file.replace(statement, (file.source.text.newline + indent).join(lines))


def _report(node: ast.AST, name: str, changed: Conversion, edits: list[Edit], file: PythonFile) -> Diagnostic:
    form = changed.form
    return file.report(
        node,
        phrase(
            "{name} needs CUDA; {target}{member} does the same: {note}",
            name=name,
            target=form.target,
            member=form.member,
            note=form.note,
        ),
        edits=edits,
        safety=Safety.SAFE if changed.exact else Safety.REVIEW,
        subject=name,
    )


def _left(node: ast.AST, name: str, reason: str, file: PythonFile) -> Diagnostic:
    form = FORMS[name]
    return file.report(
        node,
        phrase("{name} needs CUDA, and was left unchanged: {reason}", name=name, reason=reason),
        subject=name,
        advice=phrase(
            "use {target}: {note}{fused}", target=f"{form.target}{form.member}", note=form.note, fused=_fused(name)
        ),
    )


def _fused(name: str) -> str:
    return ". torch_npu.optim has a fused one" if name.startswith("apex.optimizers.") else ""


_WITHOUT_FORM = {
    "apex.optimizers.FusedLAMB": "torch has no LAMB. torch_npu.optim.NpuFusedLamb comes close: it has no bias "
    "correction, clips the weight norm to 10, and clips the gradient to a norm of 1 only with "
    "use_global_grad_norm=True; or use LAMB from timm or pytorch-optimizer, with the same bias_correction, "
    "max_grad_norm and weight_decay=0.01",
    "apex.optimizers.FusedMixedPrecisionLamb": "torch has no LAMB; see FusedLAMB. It also keeps float32 copies of the "
    "weights: keep the model in float32 and use autocast instead",
    "apex.optimizers.FusedNovoGrad": "torch has no NovoGrad; use a PyTorch implementation (timm has one) with the "
    "same betas, grad_averaging, norm_type and reg_inside_moment",
    "apex.normalization.fused_layer_norm": "use torch.nn.functional.layer_norm(input, normalized_shape, eps=…); apex's "
    "eps is 1e-6 unless given",
    "apex.normalization.fused_layer_norm_affine": "use torch.nn.functional.layer_norm(input, normalized_shape, "
    "weight, bias, eps): another order of arguments; apex's eps is 1e-6 unless given",
    "apex.normalization.fused_rms_norm_affine": "use torch.nn.functional.rms_norm(input, normalized_shape, weight, "
    "eps) of torch 2.4 or newer: another order of arguments; apex's eps is 1e-6 unless given",
    "apex.parallel.LARC": "torch has no LARC; it takes a few lines of PyTorch around the optimizer: scale each "
    "gradient by trust_coefficient * |w| / (|g| + weight_decay * |w| + eps), bounded by lr when clip=True",
    "apex.parallel.Reducer": "call torch.distributed.all_reduce on the gradients and divide by the world size",
    "apex.parallel.create_syncbn_process_group": "create the groups with torch.distributed.new_group and pass one to "
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model, process_group)",
}


def _without_form(node: ast.AST, name: str, file: PythonFile) -> Diagnostic:
    advice = _WITHOUT_FORM.get(name, "implement it with torch; Ascend's patch for apex may have it")
    message = (
        phrase("{name} needs CUDA, and torch has no counterpart", name=name)
        if "torch.nn.functional" not in advice
        else phrase("{name} needs CUDA", name=name)
    )
    return file.report(node, message, subject=name, advice=advice)
