"""Frameworks around torch: what a program that uses one of them changes besides its own CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.defaults.conditions import by_default
from npuify.rules.common.lightning import _own, asked_of_lightning, lightning_class
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LIGHTNING_STEPS = (
    "write a subclass of lightning's Accelerator whose setup_device calls torch.npu.set_device, whose "
    "auto_device_count is torch.npu.device_count() and whose get_parallel_devices returns torch.device('npu', i); "
    "pass it as accelerator=, with SingleDeviceStrategy(device=torch.device('npu', 0)) for one card or "
    "DDPStrategy(process_group_backend='hccl') for several; precision '16-mixed' then needs a precision plugin with "
    "device='npu'; 'bf16-mixed' needs no scaler"
)


@rule(
    "NPU320",
    "lightning-accelerator",
    Safety.MANUAL,
    Severity.ERROR,
    words=("accelerator=", "gpus=", "trainer(", "fabric("),
    also_in_file=("lightning",),
    evidence=Evidence.REPORTED,
    source="Lightning issue 19498 and pull request 19308, closed without an NPU accelerator",
)
def lightning_accelerator(node: ast.keyword | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Lightning's Trainer or Fabric requests a GPU; Lightning has no accelerator for NPUs.

    With ``accelerator="auto"``, and where none is named, it silently uses the CPU.
    """
    if isinstance(node, ast.Call):
        yield from _without_accelerator(node, file)
        return
    name = asked_of_lightning(node, file)
    if not name:
        return
    known = node.value if isinstance(node.value, ast.Constant) else by_default(node.value, file)
    value = known.value if known is not None else None
    if node.arg == "gpus":
        if value in (0, None) and isinstance(node.value, ast.Constant):
            return
        message = "gpus= requests CUDA devices, and Lightning has no accelerator for NPUs"
    elif value in ("gpu", "cuda"):
        message = phrase(
            'accelerator="{value}" fails on an NPU machine: Lightning has no accelerator for NPUs', value=value
        )
    elif value == "auto":
        message = 'accelerator="auto" silently uses the CPU on an NPU machine'
    else:
        return
    yield file.report(
        node.value,
        message,
        severity=Severity.WARNING if value == "auto" else Severity.ERROR,
        subject=name,
        advice=_LIGHTNING_STEPS,
    )


def _without_accelerator(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``Trainer(max_epochs=3)``: told once for each file, since programs of Lightning make many."""
    name = lightning_class(node, file)
    given = {one.arg for one in node.keywords}
    if not name or node.args or not given.isdisjoint((None, "accelerator", "gpus", "tpu_cores", "strategy")):
        return
    if file.recall((name, "no accelerator")):
        return
    file.remember((name, "no accelerator"), True)
    yield file.report(
        node.func,
        "where no accelerator is named, Lightning takes the CPU on an NPU machine, and says so in its log only",
        severity=Severity.WARNING,
        subject=name,
        advice=_LIGHTNING_STEPS,
    )


@rule(
    "NPU322",
    "megatron-without-mindspeed",
    Safety.REVIEW,
    Severity.ERROR,
    words=("import megatron", "from megatron"),
    also_in_file=("__main__",),
    evidence=Evidence.DOCUMENTED,
    source="MindSpeed's README: import mindspeed.megatron_adaptor before megatron",
)
def megatron_without_mindspeed(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """Megatron runs on NPUs through MindSpeed, whose adaptor must be imported before Megatron in each script.

    The MindSpeed branch must match the Megatron release. The adaptor also patches torch.cuda.

    Before::

        import torch
        from megatron.training import pretrain

        if __name__ == "__main__":
            pretrain()

    After::

        import torch
        import mindspeed.megatron_adaptor  # noqa: F401
        from megatron.training import pretrain

        if __name__ == "__main__":
            pretrain()
    """
    data = file.source.data
    if b"__main__" not in data or b"mindspeed" in data or _own(("megatron",), file):
        return
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if getattr(node, "level", 0) or not any(name.partition(".")[0] == "megatron" for name in names):
        return
    if file.recall("NPU322"):
        return
    file.remember("NPU322", True)
    start = file.source.start(node)
    line = file.source.text.line_starts[node.lineno - 1]
    top = isinstance(file.parent(node), ast.Module) and start == line
    newline = file.source.text.newline
    yield file.report(
        node,
        "Megatron needs MindSpeed's adaptor to be imported first",
        edits=[file.edit(start, start, f"import mindspeed.megatron_adaptor  # noqa: F401{newline}")] if top else (),
        subject="megatron",
        advice="import mindspeed.megatron_adaptor before anything from megatron",
    )


_DEEPSPEED_OPERATORS = {
    "deepspeed.ops.lamb": "use torch_npu.optim.NpuFusedLamb, or a LAMB written in PyTorch",
    "deepspeed.ops.lion.FusedLion": "use deepspeed.ops.lion.DeepSpeedCPULion, or a Lion written in PyTorch",
    "deepspeed.ops.sparse_attention": "use torch_npu.npu_fusion_attention with a mask",
    "deepspeed.ops.transformer": "use the model's own layers",
    "deepspeed.ops.deepspeed4science": "use scaled_dot_product_attention with the biases added to a mask",
    "deepspeed.ops.quantizer": "turn quantization off",
    "deepspeed.ops.fp_quantizer": "turn quantization off",
    "deepspeed.ops.random_ltd": "turn random layer-token dropping off",
}
_DEEPSPEED_BUILDERS = frozenset(
    f"{name}Builder"
    for name in ("AsyncIO", "FusedAdam", "Inference", "CPUAdam", "CPUAdagrad", "CPULion", "NotImplemented", "Op")
)
"""Those of ``op_builder/npu``, and those that build nothing."""


@rule(
    "NPU323",
    "deepspeed-operator",
    Safety.MANUAL,
    Severity.ERROR,
    words=("deepspeed.ops",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="DeepSpeed, op_builder/npu: async_io, fused_adam, inference, and the CPU's Adam, Adagrad and Lion",
)
def deepspeed_operator(node: ast.Import | ast.ImportFrom | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A DeepSpeed operator without a builder for the NPU, so that creating it raises."""
    if getattr(node, "level", 0) or _own(("deepspeed",), file):
        return
    if isinstance(node, ast.Call):
        # Named in full, ``deepspeed.ops.lamb.FusedLamb``; what was imported by name is told at the import.
        if not isinstance(node.func, ast.Attribute) or not file.code(node.func).startswith("deepspeed.ops."):
            return
        names = [file.qualname(node.func) or ""]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        module, _, last = name.rpartition(".")
        if module in ("deepspeed.ops.op_builder", "op_builder") and last.endswith("Builder"):
            if last not in _DEEPSPEED_BUILDERS:
                yield file.report(
                    node,
                    phrase("DeepSpeed has no {last} for the NPU", last=last),
                    subject=name,
                    advice="guard its use, or do without",
                )
            continue
        for operator, advice in _DEEPSPEED_OPERATORS.items():
            if f"{name}.".startswith(f"{operator}.") and "CPU" not in last and not last.endswith("Config"):
                yield file.report(
                    node, phrase("DeepSpeed has no NPU version of {name}", name=name), subject=name, advice=advice
                )
                break


_MMCV_PARALLEL = {"MMDataParallel": "NPUDataParallel", "MMDistributedDataParallel": "NPUDistributedDataParallel"}


@rule(
    "NPU325",
    "mmcv-parallel",
    Safety.MANUAL,
    Severity.ERROR,
    words=("mmdataparallel", "mmdistributeddataparallel"),
    evidence=Evidence.PACKAGE,
    source="open-mmlab/mmcv 1.x, mmcv/parallel/_functions.py and mmcv/device/npu; its pull request 2262",
)
def mmcv_parallel(node: ast.ImportFrom | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """mmcv 1 copies a batch to its cards on CUDA streams; from 1.7 on, it has separate classes for NPUs.

    mmcv 2 has neither: MMEngine's models move the batch, to NPUs too.
    """
    if _own(("mmcv",), file) or file.contains(b"mmcv.device.npu"):
        return
    if isinstance(node, ast.ImportFrom):
        module = "" if node.level else node.module or ""
        names = [alias.name for alias in node.names] if f"{module}.".startswith("mmcv.parallel.") else []
    else:
        name = file.qualname(node) or ""
        names = [node.attr] if name.startswith("mmcv.parallel.") else []
    for name in names:
        own = _MMCV_PARALLEL.get(name)
        if own is not None:
            yield file.report(
                node,
                phrase(
                    "mmcv's {name} copies each batch on CUDA streams; its counterpart for NPUs is "
                    "mmcv.device.npu.{own}",
                    name=name,
                    own=own,
                ),
                subject=f"mmcv.parallel.{name}",
                advice=phrase("with mmcv from 1.7 on, below 2: from mmcv.device.npu import {own}, ", own=own)
                + (
                    "which drives one NPU, device_ids=[its number]"
                    if own == "NPUDataParallel"
                    else "with the same arguments and one process for each NPU"
                ),
            )
