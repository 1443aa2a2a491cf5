"""What takes the place of apex's classes and functions, and how their arguments carry over."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_ANY = object()
"""Among the values of ``neutral``: any literal at all."""


class Form(NamedTuple):
    """A class or function of torch that does what one of apex does.

    Attributes:
        target: what to import; ``member`` is the attribute of it that is called.
        theirs: apex's parameters, in order; ``ours``: torch's, in order.
        neutral: parameters of apex that torch lacks, with the literals with which they may be left out.
        added: parameters whose default differs, with the source of apex's default.
        note: when the two differ all the same.
        as_value: it may stand where it is not called, since it is called alike.
    """

    target: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    neutral: dict[str, tuple[object, ...]]
    added: dict[str, str]
    note: str
    member: str = ""
    as_value: bool = False
    since: tuple[int, int] = (1, 0)
    """First release of torch that has the target."""
    exact: bool = False
    """Whether a call does the same in torch, by proof, where it gives none of ``inexact``, and all of ``needed``."""
    inexact: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Parameters that have another name in torch; such a one is left out where it is given False."""


_ADAM = Form(
    "torch.optim.AdamW",
    ("params", "lr", "bias_correction", "betas", "eps", "adam_w_mode", "weight_decay", "amsgrad", "set_grad_none",
     "capturable", "master_weights"),
    ("params", "lr", "betas", "eps", "weight_decay"),
    {"bias_correction": (True,), "adam_w_mode": (True,), "amsgrad": (False,), "set_grad_none": (True,),
     "capturable": (False,), "master_weights": (False,)},
    {"weight_decay": "0.0"},
    "apex decouples the weight decay by default, as AdamW does, and defaults to 0.0 instead of 0.01. Optimizer states "
    "saved by apex do not load: apex keeps the step in the parameter group",
)  # fmt: skip
_ADAM_L2 = _ADAM._replace(
    target="torch.optim.Adam",
    neutral={**_ADAM.neutral, "adam_w_mode": (False,)},
    added={},
    note="with adam_w_mode=False apex adds the weight decay to the gradient, as Adam does. Optimizer states saved by "
    "apex do not load: apex keeps the step in the parameter group",
)

FORMS: dict[str, Form] = {
    "apex.optimizers.FusedAdam": _ADAM,
    "apex.optimizers.FusedSGD": Form(
        "torch.optim.SGD",
        ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov", "wd_after_momentum",
         "materialize_master_grads", "set_grad_none"),
        ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov"),
        {"wd_after_momentum": (False,), "materialize_master_grads": (True,), "set_grad_none": (True, False)},
        {},
        "apex's zero_grad() sets gradients to zero, torch's to None: a parameter that takes no part in a step is then "
        "not updated, not even by momentum and decay",
    ),
    "apex.optimizers.FusedAdagrad": Form(
        "torch.optim.Adagrad",
        ("params", "lr", "eps", "weight_decay", "set_grad_none", "adagrad_w_mode"),
        ("params", "lr"),
        {"set_grad_none": (True,), "adagrad_w_mode": (False,)},
        {},
        "optimizer states saved by apex do not load",
    ),
    "apex.normalization.FusedLayerNorm": Form(
        "torch.nn.LayerNorm",
        ("normalized_shape", "eps", "elementwise_affine", "memory_efficient"),
        ("normalized_shape", "eps", "elementwise_affine"),
        {"memory_efficient": (True, False)},
        {},
        "weights have the same names, and checkpoints load",
        as_value=True,
        exact=True,
    ),
    "apex.normalization.MixedFusedLayerNorm": Form(
        "torch.nn.LayerNorm",
        ("normalized_shape", "eps"),
        ("normalized_shape", "eps"),
        {"memory_efficient": (True, False), "elementwise_affine": (True,)},
        {},
        "apex accepts float32 weights with a half-precision input and returns the type of the weights; in torch both "
        "must have the same type, which autocast ensures",
        as_value=True,
    ),
    "apex.normalization.FusedRMSNorm": Form(
        "torch.nn.RMSNorm",
        ("normalized_shape", "eps", "elementwise_affine", "memory_efficient"),
        ("normalized_shape", "eps", "elementwise_affine"),
        {"memory_efficient": (True, False)},
        {"eps": "1e-5"},
        "weights have the same names, and checkpoints load; torch's default for eps differs",
        since=(2, 4),
    ),
    "apex.normalization.MixedFusedRMSNorm": Form(
        "torch.nn.RMSNorm",
        ("normalized_shape", "eps"),
        ("normalized_shape", "eps"),
        {"memory_efficient": (True, False), "elementwise_affine": (True,)},
        {"eps": "1e-5"},
        "apex accepts float32 weights with a half-precision input and returns the type of the weights; in torch both "
        "must have the same type, which autocast ensures",
        since=(2, 4),
    ),
    "apex.parallel.DistributedDataParallel": Form(
        "torch.nn.parallel.DistributedDataParallel",
        ("module", "message_size", "delay_allreduce", "shared_param", "allreduce_trigger_params",
         "retain_allreduce_buffers", "allreduce_always_fp32", "num_allreduce_streams", "allreduce_communicators",
         "gradient_average", "gradient_predivide_factor", "gradient_average_split_factor", "prof"),
        ("module",),
        {"message_size": (_ANY,), "shared_param": (_ANY,), "allreduce_trigger_params": (None,),
         "retain_allreduce_buffers": (False,), "allreduce_always_fp32": (False,), "num_allreduce_streams": (_ANY,),
         "gradient_average": (True,), "gradient_predivide_factor": (_ANY,), "gradient_average_split_factor": (None,),
         "prof": (False,)},
        {"broadcast_buffers": "False"},
        "apex leaves buffers alone (broadcast_buffers=False), and waits for no parameter without a gradient, for which "
        "torch needs find_unused_parameters=True. Both average the gradients, whatever gradient_predivide_factor is. "
        "Neither moves the inputs, so device_ids is not needed",
        exact=True,
        inexact=("gradient_predivide_factor",),
        needed=("delay_allreduce",),
        renamed=(("delay_allreduce", "find_unused_parameters"),),
    ),
    "apex.parallel.convert_syncbn_model": Form(
        "torch.nn.SyncBatchNorm",
        ("module", "process_group", "channel_last"),
        ("module", "process_group"),
        {"channel_last": (False,)},
        {},
        "both convert every batch normalization layer to a synchronized one",
        member=".convert_sync_batchnorm",
        exact=True,
    ),
    "apex.parallel.SyncBatchNorm": Form(
        "torch.nn.SyncBatchNorm",
        ("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group", "channel_last",
         "fuse_relu"),
        ("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group"),
        {"channel_last": (False,), "fuse_relu": (False,)},
        {},
        "torch's needs a process group and a device",
        as_value=True,
    ),
}  # fmt: skip

_AREAS = ("apex.optimizers.", "apex.normalization.", "apex.parallel.")


def canonical(name: str) -> str:
    """``apex.optimizers.fused_adam.FusedAdam`` as it is called in its package."""
    for area in _AREAS:
        if name.startswith(area):
            return area + name.rpartition(".")[2]
    return name


class Conversion(NamedTuple):
    """How one use is rewritten: what it refers to, and the edits of its arguments."""

    form: Form
    edits: tuple[Edit, ...]
    exact: bool = False


def convert_call(name: str, call: ast.Call, file: PythonFile) -> Conversion | str:
    """The conversion of a call of ``name``, a key of FORMS, or the reason why there is none."""
    form = FORMS[name]
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(item.arg is None for item in call.keywords):
        return "its arguments are unpacked here and cannot be determined"
    given: dict[str, ast.expr] = dict(zip(form.theirs, call.args, strict=False))
    given |= {item.arg: item.value for item in call.keywords if item.arg is not None}
    if len(call.args) > len(form.theirs) or len(given) != len(call.args) + len(call.keywords):
        return "its arguments do not match this apex"
    mode = given.get("adam_w_mode")
    if form is _ADAM and isinstance(mode, ast.Constant) and mode.value is False:
        form = _ADAM_L2
    for parameter, value in given.items():
        if parameter in form.neutral:
            if not _is_neutral(value, form.neutral[parameter]):
                return phrase(
                    "{parameter}={value} has no counterpart in {target}",
                    parameter=parameter,
                    value=file.code(value),
                    target=form.target,
                )
        elif parameter not in form.theirs:
            return phrase("{parameter} is not an argument of this apex", parameter=parameter)
    edits = _argument_edits(call, given, form, file)
    if edits is None:
        return "its arguments cannot be edited in place"
    exact = form.exact and not any(name in given for name in form.inexact)
    return Conversion(form, tuple(edits), exact and all(_is_true(given.get(name)) for name in form.needed))


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _is_neutral(value: ast.expr, neutral: tuple[object, ...]) -> bool:
    if not isinstance(value, ast.Constant):
        return neutral == (_ANY,)
    return neutral == (_ANY,) or any(value.value == item and type(value.value) is type(item) for item in neutral)


def _argument_edits(call: ast.Call, given: dict[str, ast.expr], form: Form, file: PythonFile) -> list[Edit] | None:
    """Take out what torch lacks, name what stands elsewhere, and add the defaults that differ."""
    source = file.source
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    names = [*form.theirs[: len(call.args)], *(item.arg or "" for item in call.keywords)]
    renamed = dict(form.renamed)
    edits: list[Edit] = []
    kept = 0
    last = -1
    for index, (argument, name) in enumerate(zip(arguments, names, strict=True)):
        if name in form.neutral or (name in renamed and _is_false(given[name])):
            if not index:
                return None
            start, end = source.end(arguments[index - 1]), source.end(argument)
            between = source.segment(start, source.start(argument))
            behind = source.data[end : source.end(call)].lstrip()
            if between.replace(",", "", 1).strip() or between.count(",") != 1 or not behind.startswith((b",", b")")):
                return None
            edits.append(file.edit(start, end, ""))
            continue
        start, new = source.start(argument), renamed.get(name, name)
        if index < len(call.args) and form.ours[kept : kept + 1] != (name,):
            edits.append(file.edit(start, start, f"{new}="))
        elif new != name:
            edits.append(file.edit(start, start + len(name.encode()), new))
        kept += 1
        last = index
    missing = [f"{name}={default}" for name, default in form.added.items() if name not in given]
    if missing:
        if last < 0:
            return None
        end = source.end(arguments[last])
        if end >= source.end(call) or not source.data[end : source.end(call)].lstrip().startswith((b",", b")", b"#")):
            return None
        before = source.data[source.end(call.func) : source.start(arguments[0])].strip()
        if before != b"(" and len(arguments) == 1:
            return None
        edits.append(file.edit(end, end, "".join(f", {item}" for item in missing)))
    return sorted(edits)
