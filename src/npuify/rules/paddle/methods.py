"""Methods of PaddlePaddle's tensors, places and predictors that mean CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.paddle import is_of_paddle
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_ONLY_CUDA = {
    "collect_shape_range_info": "it serves TensorRT, which has no build for Ascend",
    "enable_tuned_tensorrt_dynamic_shape": "it serves TensorRT, which has no build for Ascend",
    "fraction_of_gpu_memory_for_pool": "it is about CUDA's memory pool",
    "share_external_data": "memory of the CPU or of CUDA is handed over by it; copy_from_cpu copies to an NPU",
    "with_data_parallel": "gone since Paddle 2.5: start one process for each card with paddle.distributed.launch",
    "use_gpu": "false on an NPU, and Config has no such question for custom devices",
}
"""Methods of predictors and programs that an NPU has no use for."""


@rule(
    "NPU947",
    "paddle-inference-on-gpu",
    Safety.SAFE,
    words=("enable_use_gpu", "enable_npu", "enable_tensorrt_engine", *(f"{name}(" for name in _ONLY_CUDA)),
    also_in_file=("paddle",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="paddlepaddle 3.3.1: paddle.inference.Config, called on the CPU",
)
def paddle_inference_on_gpu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A predictor of PaddlePaddle is put on a GPU; with Paddle's wheel for the CPU it silently computes there.

    The size of the memory pool falls away; the second argument is the device, also by name (``device_id``).

    Before::

        from paddle.inference import Config

        config = Config("net.pdmodel", "net.pdiparams")
        config.enable_use_gpu(100, 0)

    After::

        from paddle.inference import Config

        config = Config("net.pdmodel", "net.pdiparams")
        config.enable_custom_device("npu", 0)
    """
    function = node.func
    if not isinstance(function, ast.Attribute) or "paddle" in file.project.packages:
        return
    if function.attr in ("enable_tensorrt_engine", "set_trt_dynamic_shape_info"):
        yield file.report(
            node,
            phrase("{attr}: TensorRT has no build for Ascend", attr=function.attr),
            severity=Severity.ERROR,
            subject="paddle.inference: TensorRT",
            advice="leave it out, with the options trt_* that belong to it",
        )
    elif function.attr in _ONLY_CUDA and (function.attr != "use_gpu" or _is_config(function.value, file)):
        yield file.report(
            node,
            phrase("{attr}: {message}", attr=function.attr, message=phrase(_ONLY_CUDA[function.attr])),
            severity=Severity.WARNING,
            subject=phrase("paddle.inference: {attr}", attr=function.attr),
            advice="leave it out, or ask what the program itself chose",
        )
    elif function.attr in ("enable_use_gpu", "enable_npu"):
        edits = _predictor(node, function, file)
        yield file.report(
            node,
            phrase("{attr} has no effect without CUDA, and the predictor computes on the CPU", attr=function.attr)
            if function.attr == "enable_use_gpu"
            else "no released Paddle from 2.6.2 on has enable_npu",
            edits=edits or (),
            safety=Safety.REVIEW if len(node.args) > 2 else Safety.SAFE,
            subject=phrase("paddle.inference: {attr}", attr=function.attr),
            advice="" if edits else 'enable_custom_device("npu", device)',
        )


def _predictor(node: ast.Call, function: ast.Attribute, file: PythonFile) -> list[Edit] | None:
    span = file.source.attribute_span(function)
    named = {one.arg: one.value for one in node.keywords}
    if function.attr == "enable_use_gpu" and not node.args[1:]:
        # Of two, the size of the memory pool and the device; what else is named has no form.
        named = {name: value for name, value in named.items() if name != "memory_pool_init_size_mb"}
        device = named.pop("device_id", None)
    else:
        device = None
    if span is None or named or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    rest = node.args[1:] if function.attr == "enable_use_gpu" else node.args
    rest = [device] if device is not None else rest
    arguments = ", ".join(['"npu"', *([file.code(one) for one in rest] or ["0"])])
    return [file.edit(span[0], file.source.end(node), f"enable_custom_device({arguments})")]


_RENAMED = {"is_gpu_place": "is_custom_place", "gpu_device_id": "custom_device_id"}


@rule(
    "NPU948",
    "paddle-cuda-method",
    Safety.REVIEW,
    words=("cuda", "is_gpu_place", "gpu_device_id", "pin_memory"),
    also_in_file=("paddle",),
    without_torch=True,
    names=("cuda", "is_cuda", "pin_memory", *_RENAMED),
    evidence=Evidence.PACKAGE,
    source="paddlepaddle 3.3.1: paddle/base/dygraph/tensor_patch_methods.py",
)
def paddle_cuda_method(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A method of PaddlePaddle's tensors or places means CUDA.

    Before::

        import paddle

        x = paddle.ones([2]).cuda()
        if x.place.is_gpu_place():
            print(x.place.gpu_device_id())

    After::

        import paddle

        x = paddle.ones([2]).to("npu")
        if x.place.is_custom_place():
            print(x.place.custom_device_id())
    """
    if not is_of_paddle(file) or "paddle" in file.project.packages:
        return
    if (file.qualname(node) or "").startswith("paddle."):
        return  # a name of the module, such as paddle.version.cuda
    call = file.parent(node)
    is_call = isinstance(call, ast.Call) and call.func is node
    edits: list[Edit] = []
    advice = ""
    if node.attr == "cuda" and isinstance(call, ast.Call) and is_call:
        message = "PaddlePaddle's .cuda() needs a Paddle with CUDA"
        span = file.source.attribute_span(node)
        if not call.args and not call.keywords and span is not None:
            edits = [file.edit(span[0], file.source.end(call), 'to("npu")')]
        elif span is not None and (number := _only_number(call)) is not None:
            edits = [file.edit(span[0], file.source.end(call), f'to("npu:{number}")')]
        advice = "" if edits else 'write .to("npu:0"), with the number of the device'
    elif node.attr == "is_cuda":
        message, advice = "is_cuda is false on an NPU", 'ask "npu" in str(x.place)'
    elif node.attr == "pin_memory" and is_call:
        message, advice = "pin_memory() raises: there is no pinned place for custom devices", "leave it out"
    elif node.attr == "gpu_device_id" and is_call and _is_config(node.value, file):
        message = "gpu_device_id() is 0 on an NPU, and Config has no such question for custom devices"
        advice = "ask what the program itself chose"
    elif node.attr in _RENAMED and is_call:
        message = phrase("{attr}() is {RENAMED}() of a custom device", attr=node.attr, RENAMED=_RENAMED[node.attr])
        edit = file.rename_attribute(node, _RENAMED[node.attr])
        edits = [edit] if edit is not None else []
    else:
        return
    yield file.report(node, message, edits=edits, subject=f"paddle: {node.attr}", advice=advice)


def _is_config(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is a ``Config`` of ``paddle.inference``: made there, or called so."""
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Attribute) and "config" in node.attr.lower()
    found = file.scope(node).lookup(node.id)
    made = [one.value for one in found[1] if one.kind == "assign"] if found is not None else []
    names = [file.qualname(one.func) or "" for one in made if isinstance(one, ast.Call)]
    return any(name.endswith("Config") for name in names) or (not names and "config" in node.id.lower())


def _only_number(call: ast.Call) -> int | None:
    """The number of a device, where it is the only thing that a call is given."""
    given = [*call.args, *(one.value for one in call.keywords if one.arg == "device_id")]
    only = given[0] if len(given) == len(call.args) + len(call.keywords) == 1 else None
    return only.value if isinstance(only, ast.Constant) and type(only.value) is int else None
