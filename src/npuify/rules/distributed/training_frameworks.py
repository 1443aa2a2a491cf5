"""Frameworks around torch: what a program that uses one of them changes besides its own CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.lightning import _call_of, _own, asked_of_lightning
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
    words=("accelerator=", "gpus="),
    also_in_file=("lightning",),
    evidence=Evidence.REPORTED,
    source="Lightning issue 19498 and pull request 19308, closed without an NPU accelerator",
)
def lightning_accelerator(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """Lightning's Trainer or Fabric requests a GPU; Lightning has no accelerator for NPUs.

    With ``accelerator="auto"`` it silently uses the CPU.
    """
    name = asked_of_lightning(node, file)
    if not name:
        return
    value = node.value.value if isinstance(node.value, ast.Constant) else None
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


@rule(
    "NPU321",
    "ray-gpu",
    Safety.REVIEW,
    Severity.ERROR,
    words=("num_gpus=", "use_gpu=", "get_gpu_ids", '"gpu"', "'gpu'"),
    also_in_file=("import ray", "from ray"),
    evidence=Evidence.DOCUMENTED,
    source="Ray's documentation of accelerators: Huawei Ascend is the resource NPU",
)
def ray_gpu(node: ast.keyword | ast.Attribute | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """Ray counts NPUs as a resource named ``NPU``; tasks that request GPUs are never scheduled there.

    This does not hold where the cluster uses another resource name for its NPUs.

    Before::

        import ray
        import torch

        @ray.remote(num_gpus=1)
        def train():
            return torch.zeros(1)

    After::

        import ray
        import torch

        @ray.remote(resources={"NPU": 1})
        def train():
            return torch.zeros(1)
    """
    data = file.source.data
    if (b"import ray" not in data and b"from ray" not in data) or _own(("ray",), file):
        return
    if isinstance(node, ast.Attribute):
        if file.qualname(node) == "ray.get_gpu_ids":
            yield file.report(
                node,
                "ray.get_gpu_ids() is empty on an NPU machine",
                subject="ray.get_gpu_ids",
                advice='use ray.get_runtime_context().get_accelerator_ids()["NPU"]',
            )
        return
    if isinstance(node, ast.Constant):
        yield from _ray_resource(node, file)
        return
    call = _call_of(node, file)
    if call is None or not _is_ray(call.func, file):
        return
    if node.arg == "use_gpu" and not (isinstance(node.value, ast.Constant) and not node.value.value):
        yield file.report(
            node.value,
            "use_gpu= requests GPUs from Ray Train",
            subject="ray.train.ScalingConfig",
            advice='replace it with resources_per_worker={"NPU": 1}, with TorchConfig(backend="hccl") as torch_config',
        )
    if node.arg != "num_gpus" or (isinstance(node.value, ast.Constant) and not node.value.value):
        return
    taken = any(item.arg in ("resources", None) for item in call.keywords)
    edit = file.edit(file.source.start(node), file.source.end(node), f'resources={{"NPU": {file.code(node.value)}}}')
    yield file.report(
        node.value,
        "num_gpus counts NVIDIA and AMD GPUs; in Ray, NPUs are the resource NPU",
        edits=() if taken else [edit],
        subject="ray.remote",
        advice='add "NPU" to resources= instead of num_gpus',
    )


def _is_ray(function: ast.expr, file: PythonFile) -> bool:
    name = file.qualname(function) or ""
    if name in ("ray.remote", "ray.init", "ray.method") or name.startswith(("ray.train.", "ray.air.", "ray.tune.")):
        return True
    # Worker.options(num_gpus=1), dataset.map_batches(f, num_gpus=1): what these are of cannot always be told, but in a
    # file that imports Ray nothing else has an argument of that name.
    return isinstance(function, ast.Attribute) and function.attr in ("options", "map_batches", "map", "flat_map")


def _ray_resource(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``"GPU"`` as the name of a resource: in a bundle or a dict that Ray is given, or asked of what Ray returns."""
    if not isinstance(node.value, str) or node.value not in ("GPU", "gpu"):
        return
    call = _ray_around(node, file)
    if call is None:
        return
    edits = []
    if node.value == "GPU":
        quote = file.code(node)[0]
        edits = [file.edit(file.source.start(node), file.source.end(node), f"{quote}NPU{quote}")]
    yield file.report(
        node,
        phrase("{value!r} is Ray's name for NVIDIA and AMD GPUs; NPUs are the resource NPU", value=node.value),
        edits=edits,
        subject=file.qualname(call.func) or "ray",
        advice=""
        if edits
        else 'name the resource "NPU" here; where only "cpu" and "gpu" are accepted, as in resources_per_trial, pass '
        'custom_resources={"NPU": 1}',
    )


def _ray_around(node: ast.Constant, file: PythonFile) -> ast.Call | None:
    """The call of Ray that a string is a key for: of a dict among its arguments, or of what it returns."""
    parent = file.parent(node)
    if isinstance(parent, ast.Subscript):
        made: ast.AST = parent.value
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "get":
        made = parent.func.value
    elif isinstance(parent, ast.Dict) and node in parent.keys:
        above = file.parent(parent)
        while isinstance(above, (ast.List, ast.ListComp, ast.BinOp, ast.Tuple, ast.keyword)):
            above = file.parent(above)
        made = above if above is not None else parent
    else:
        return None
    if not isinstance(made, ast.Call):
        return None
    name = file.qualname(made.func) or ""
    if isinstance(made.func, ast.Attribute) and made.func.attr == "get_accelerator_ids":
        return made
    return made if name.startswith("ray.") else None


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
