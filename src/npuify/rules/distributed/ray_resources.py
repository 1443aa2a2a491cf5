"""Ray: NPUs are a resource of their own, where GPUs have a number of theirs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.lightning import _call_of, _own
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_RESOURCES = frozenset(("CPU", "GPU", "NPU", "memory", "object_store_memory"))
_OPTIONS = frozenset(("ray_actor_options", "ray_remote_args", "ray_remote_options"))
"""Arguments of Ray's libraries that hold the options of a task or actor."""


@rule(
    "NPU321",
    "ray-gpu",
    Safety.REVIEW,
    Severity.ERROR,
    words=(
        *("num_gpus=", '"num_gpus"', "'num_gpus'", "use_gpu=", "get_gpu_ids", '"gpu"', "'gpu'"),
        *("accelerator_type=", "model_source=", "model_loading_config="),
    ),
    also_in_file=("import ray", "from ray"),
    without_torch=True,
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
        yield from _number(node, file) if node.value == "num_gpus" else _ray_resource(node, file)
        return
    call = _call_of(node, file)
    if node.arg in ("model_source", "model_loading_config", "accelerator_type"):
        yield from _of_accelerator(node, file.parent(node), file)
        return
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


def _of_accelerator(node: ast.keyword, call: ast.AST | None, file: PythonFile) -> Iterator[Diagnostic]:
    """``accelerator_type="A100"``, and the engines of Ray's own libraries for language models, which ask for GPUs."""
    name = (file.qualname(call.func) or "") if isinstance(call, ast.Call) else ""
    if not isinstance(call, ast.Call):
        return
    if node.arg == "accelerator_type":
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        is_named = isinstance(value, str) and not value.startswith("Ascend")
        is_named = is_named or (file.qualname(node.value) or "").startswith("ray.util.accelerators.")
        if is_named and (name.startswith("ray.") or _is_ray(call.func, file)):
            yield file.report(
                node.value,
                phrase("{value} is a GPU: no node with NPUs has it", value=file.code(node.value)),
                evidence=Evidence.PACKAGE,
                source="the wheel of ray 2.55.0: _private/accelerators/npu.py, get_current_node_accelerator_type",
                subject="ray.util.accelerators",
                advice="leave it out, or name the chip as Ascend's libraries do, such as Ascend910B3",
            )
    elif name.startswith(_LANGUAGE_MODELS) and not any(one.arg == "placement_group_config" for one in call.keywords):
        yield file.report(
            call.func,
            "Ray's libraries for language models reserve GPUs for each engine, and wait for them forever on NPUs",
            evidence=Evidence.PACKAGE,
            source=(
                "the wheel of ray 2.55.0: llm/_internal/batch/stages/vllm_engine_stage.py, "
                "llm/_internal/serve/engines/vllm/vllm_models.py"
            ),
            subject=name,
            advice=(
                'give placement_group_config={"bundles": [{"NPU": 1, "CPU": 1}]}, a bundle for each card'
                if name.startswith("ray.data.")
                else "start the engine in an actor of your own that asks for the resource NPU, or with vllm serve"
            ),
        )


_LANGUAGE_MODELS = ("ray.data.llm.", "ray.serve.llm.")


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
    subject = _ray_around(node, file)
    if subject is None:
        return
    edits = []
    if node.value == "GPU":
        quote = file.code(node)[0]
        edits = [file.edit(file.source.start(node), file.source.end(node), f"{quote}NPU{quote}")]
    yield file.report(
        node,
        phrase("{value!r} is Ray's name for NVIDIA and AMD GPUs; NPUs are the resource NPU", value=node.value),
        edits=edits,
        subject=subject,
        advice=""
        if edits
        else 'name the resource "NPU" here; where only "cpu" and "gpu" are accepted, as in resources_per_trial, pass '
        'custom_resources={"NPU": 1}',
    )


def _ray_around(node: ast.Constant, file: PythonFile) -> str | None:
    """Whose key a string is: of a dict among the arguments of a call of Ray's, of what that returns, or of a bundle."""
    parent = file.parent(node)
    if isinstance(parent, ast.Subscript):
        made: ast.AST = parent.value
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "get":
        made = parent.func.value
    elif isinstance(parent, ast.Dict) and node in parent.keys:
        above = file.parent(parent)
        while isinstance(above, (ast.List, ast.ListComp, ast.BinOp, ast.Tuple, ast.keyword, ast.IfExp)):
            above = file.parent(above)
        made = above if above is not None else parent
        if _is_bundle(parent):
            return _called(made, file) or "placement_group"
    else:
        return None
    return _called(made, file)


def _called(made: ast.AST, file: PythonFile) -> str | None:
    if not isinstance(made, ast.Call):
        return None
    name = file.qualname(made.func) or ""
    if isinstance(made.func, ast.Attribute) and made.func.attr == "get_accelerator_ids":
        return name or "ray.get_accelerator_ids"
    return name if name.startswith("ray.") else None


def _is_bundle(table: ast.Dict) -> bool:
    """Whether a dict says how much of Ray's resources a bundle has: all its keys name resources, CPUs among them."""
    keys = {key.value if isinstance(key, ast.Constant) else None for key in table.keys}
    return (
        "CPU" in keys
        and keys <= _RESOURCES
        and not any(isinstance(one, (ast.Dict, ast.List, ast.JoinedStr)) or _is_text(one) for one in table.values)
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _number(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``"num_gpus"`` as a key of the options that a task or actor of Ray's is given."""
    parent = file.parent(node)
    start = end = 0
    if isinstance(parent, ast.Dict) and node in parent.keys:
        value = parent.values[parent.keys.index(node)]
        beside: ast.expr = parent
        start, end = file.source.start(node), file.source.end(value)
        new = f'"resources": {{"NPU": {file.code(value)}}}'
    elif isinstance(parent, ast.Subscript) and isinstance(assignment := file.parent(parent), ast.Assign):
        value, beside = assignment.value, parent.value
        start, end = file.source.start(parent.slice), file.source.end(value)
        between = file.source.segment(file.source.end(parent.slice), file.source.start(value))
        new = f'"resources"{between}{{"NPU": {file.code(value)}}}'
        if len(assignment.targets) > 1:
            return
    else:
        return
    if not _is_given_to_ray(beside, file) or (isinstance(value, ast.Constant) and not value.value):
        return
    taken = '"resources"' in file.code(beside) or (
        isinstance(beside, ast.Name) and file.contains(f'{beside.id}["resources"]'.encode())
    )
    yield file.report(
        node,
        "num_gpus counts NVIDIA and AMD GPUs; in Ray, NPUs are the resource NPU",
        edits=() if taken else [file.edit(start, end, new)],
        subject="ray.remote",
        advice='add "NPU" to resources instead of num_gpus',
    )


def _is_given_to_ray(table: ast.expr, file: PythonFile) -> bool:
    """Whether a dict of options is given to Ray: behind two stars, or as the options of an actor or task."""
    given: list[ast.AST] = [table]
    if isinstance(table, ast.Name):
        given += file.model.references(table.id)
    elif isinstance(parent := file.parent(table), ast.Assign) and isinstance(parent.targets[0], ast.Name):
        given += file.model.references(parent.targets[0].id)
    for one in given:
        keyword = file.parent(one)
        call = file.parent(keyword) if isinstance(keyword, ast.keyword) else None
        if not isinstance(keyword, ast.keyword) or not isinstance(call, ast.Call):
            continue
        if keyword.arg in _OPTIONS or (keyword.arg is None and _is_ray(call.func, file)):
            return True
    return False
