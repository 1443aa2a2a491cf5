"""Imports of apex: parts without a single counterpart in torch, and imports that nothing uses."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.packages.import_guards import has_fallback, is_asked_for, no_other_takes
from npuify.rules.common.packages.members import replacement
from npuify.rules.precision.apex_uses import (
    bound_names,
    holds_apex,
    is_guarded,
    is_mentioned,
    may_be_passed_on,
    removal,
)
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PARTS = {
    "apex.multi_tensor_apply": "torch._foreach_mul_, torch._foreach_norm and the like work on lists of tensors",
    "apex.fp16_utils": "autocast and GradScaler of torch.npu.amp replace network_to_half and FP16_Optimizer",
    "apex.mlp": "write the layers as torch.nn.Linear and activations; the weights are lists there, so rename them in "
    "checkpoints",
    "apex.fused_dense": "write torch.nn.Linear and torch.nn.functional.gelu",
    "apex.transformer": "use Megatron with MindSpeed, or torch's own layers",
    "apex.contrib.clip_grad": "torch.nn.utils.clip_grad_norm_ does the same",
    "apex.contrib.optimizers": "use an optimizer of torch.optim, with ZeroRedundancyOptimizer where it was distributed",
    "apex.contrib.xentropy": "torch.nn.functional.cross_entropy has label_smoothing, and ignore_index for padding_idx",
    "apex.contrib.layer_norm": "torch.nn.LayerNorm does the same",
    "apex.contrib.group_norm": "torch.nn.GroupNorm does the same, for channels-first tensors",
    "apex.contrib.focal_loss": "torchvision.ops.sigmoid_focal_loss does the same",
    "apex.contrib.multihead_attn": "torch.nn.MultiheadAttention or scaled_dot_product_attention",
    "apex.contrib.fmha": "torch_npu.npu_fusion_attention, or scaled_dot_product_attention",
    "apex.contrib.sparsity": "structured sparsity has no counterpart on the NPU; remove it",
    "apex.contrib.groupbn": "torch.nn.SyncBatchNorm, with channels-first tensors",
    "apex.RNN": "use torch.nn.LSTM or torch.nn.GRU",
    "apex.reparameterization": "use torch.nn.utils.parametrizations.weight_norm",
    "apex.pyprof": "use torch_npu.profiler",
}
_EXTENSIONS = re.compile(r"amp_C|apex_C|fused_layer_norm_cuda|fused_adam_cuda|fused_lamb_cuda|syncbn|xentropy_cuda|"
                         r"scaled_(?:upper_triang_)?masked_softmax_cuda|fused_weight_gradient_mlp_cuda|mlp_cuda|"
                         r"fused_dense_cuda|distributed_adam_cuda|distributed_lamb_cuda|fast_layer_norm")  # fmt: skip


@rule(
    "NPU214",
    "apex-without-counterpart",
    Safety.MANUAL,
    words=("apex", "amp_c", "_cuda", "syncbn"),
    evidence=Evidence.PACKAGE,
    source="apex's code and its setup.py",
)
def apex_without_counterpart(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A part of apex, or a CUDA extension that it builds, without a single counterpart in torch.

    ``amp_C``, ``multi_tensor_apply``, ``apex.contrib`` and the like: the finding says what to use instead.
    """
    if has_fallback(node, file) or is_asked_for(node, "apex", file) or holds_apex(file):
        return
    found = replacement(node, file)
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            name = f"{node.module}.{alias.name}" if not node.level and node.module else ""
        else:
            name = alias.name
        if found is not None and alias in found.replaced:
            continue
        part = next((part for part in _PARTS if name == part or name.startswith(part + ".")), None)
        if part is None and name.startswith("apex.contrib."):
            part = name
        if part is not None:
            advice = _PARTS.get(part, "there is no counterpart; implement it with torch operators")
            yield file.report(alias, phrase("{part} is CUDA code of apex", part=part), subject=part, advice=advice)
        elif _EXTENSIONS.fullmatch(name.partition(".")[0]) and name.partition(".")[0] not in file.project.modules:
            yield file.report(
                alias,
                phrase("{partition} is a CUDA extension that apex builds", partition=name.partition(".")[0]),
                subject=name.partition(".")[0],
                advice="remove the import, and replace its functions with torch's: torch._foreach_* for lists of "
                "tensors, torch.nn.functional for layers; torch_npu has fused operators for many",
            )


@rule(
    "NPU215",
    "apex-import-unused",
    Safety.SAFE,
    words=("apex",),
    evidence=Evidence.PACKAGE,
    source="apex's setup.py",
)
def apex_import_unused(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """apex is imported but not used, so the program fails for no reason.

    Such an import remains when all uses have been rewritten. It stays where another file is meant to import the name
    from here, and is left to review where one may.

    Before::

        import torch
        from apex import amp
        print(torch.__version__)

    After::

        import torch
        print(torch.__version__)
    """
    if may_be_passed_on(file):
        return
    bounds = bound_names(file)
    for bound in bounds:
        statement = bound.statement
        if bound.uses or not bound.sole or is_guarded(bound, file) or bound.name == "*":
            continue
        if is_mentioned(bound, file):
            continue
        others = [alias for alias in statement.names if alias is not bound.alias]
        if not others:
            edit = removal(statement, file)
        elif b"#" in file.source.data[file.source.start(statement) : file.source.end(statement)]:
            edit = None
        else:
            texts = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in others]
            head = f"from {statement.module} import" if isinstance(statement, ast.ImportFrom) else "import"
            edit = file.replace(statement, f"{head} {', '.join(texts)}")
        yield file.report(
            bound.alias,
            phrase("{name} of apex is imported but not used; without CUDA the import fails", name=bound.name),
            edits=[edit] if edit else (),
            safety=Safety.SAFE if no_other_takes([bound.name], file) else Safety.REVIEW,
            severity=Severity.ERROR,
            subject=bound.target,
            advice="remove the import",
        )
