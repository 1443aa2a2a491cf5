"""ONNX Runtime: options of its CUDA provider, the provider TensorRT, and the question which device a build is for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.targets import bound_by
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.common.edits.taking_out import taken_out, without_entry
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_RENAMED = {"gpu_mem_limit": "npu_mem_limit"}
_GONE = frozenset(
    (
        *("cudnn_conv_algo_search", "do_copy_in_default_stream", "cudnn_conv_use_max_workspace", "enable_cuda_graph"),
        *("cudnn_conv1d_pad_to_nc1d", "tunable_op_enable", "tunable_op_tuning_enable", "user_compute_stream"),
        *("has_user_compute_stream", "gpu_external_alloc", "gpu_external_free", "gpu_external_empty_cache"),
        *("use_ep_level_unified_stream", "use_tf32", "prefer_nhwc", "enable_skip_layer_norm_strict_mode"),
    )
)
"""Options of the CUDA provider that the CANN provider refuses; ``device_id`` and ``arena_extend_strategy`` it takes."""
_TENSORRT = ("TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")
_GPU = "GPU"


@rule(
    "NPU976",
    "onnxruntime-of-cuda",
    Safety.REVIEW,
    Severity.ERROR,
    words=(
        *sorted((*_GONE, *_RENAMED)),
        "tensorrtexecutionprovider",
        "tensorrtrtxexecutionprovider",
        "get_device(",
        '"gpu"',
        "'gpu'",
    ),
    also_in_file=("onnxruntime", "executionprovider"),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="microsoft/onnxruntime: core/providers/cann/cann_execution_provider_info.cc, which options it parses;"
    " python/onnxruntime_pybind_state_common.h, the name of a build's device",
)
def onnxruntime_of_cuda(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """ONNX Runtime is given options of its CUDA provider, TensorRT, or asked whether it is built for a GPU.

    The CANN provider ends with an error at an option that it does not know. A build with CANN calls its device
    ``CPU-CANN``.

    Before::

        import onnxruntime

        options = {"device_id": 0, "gpu_mem_limit": 2 * 1024**3, "cudnn_conv_algo_search": "DEFAULT"}
        providers = ["TensorrtExecutionProvider", ("CUDAExecutionProvider", options)]
        if onnxruntime.get_device() == "GPU":
            session = onnxruntime.InferenceSession("net.onnx", providers=providers)

    After::

        import onnxruntime

        options = {"device_id": 0, "npu_mem_limit": 2 * 1024**3}
        providers = [("CANNExecutionProvider", options)]
        if "CANN" in onnxruntime.get_device():
            session = onnxruntime.InferenceSession("net.onnx", providers=providers)
    """
    value, parent = node.value, file.parent(node)
    if not isinstance(value, str):
        return
    if value in _TENSORRT and not isinstance(parent, ast.Expr):
        edit = _without_tensorrt(node, parent, file)
        yield file.report(
            node,
            "TensorRT has no build for Ascend, and ONNX Runtime none with both",
            edits=[edit] if edit is not None else (),
            subject=value,
            advice="" if edit is not None else "leave it out; the provider of an NPU is CANNExecutionProvider",
        )
    elif (value in _GONE or value in _RENAMED) and isinstance(parent, ast.Dict) and node in parent.keys:
        if not file.contains(b"ExecutionProvider"):
            return
        new = _RENAMED.get(value, "")
        edit = (
            replace_in_literal(node, value, new, file) if new else without_entry(parent, parent.keys.index(node), file)
        )
        yield file.report(
            node,
            phrase("{option} is {new} of the CANN provider", option=value, new=new)
            if new
            else phrase("{option} is an option of the CUDA provider; the CANN provider refuses it", option=value),
            edits=[edit] if edit is not None else (),
            subject=f"onnxruntime: {value}",
            advice="" if edit is not None else "leave it out",
        )
    elif value == _GPU and isinstance(parent, ast.Compare):
        yield from _question(node, parent, file)


def _question(node: ast.Constant, parent: ast.Compare, file: PythonFile) -> Iterator[Diagnostic]:
    """``onnxruntime.get_device() == "GPU"``, or the same of a name that is bound to the answer."""
    other = parent.left if node is not parent.left else parent.comparators[0]
    asked: ast.AST | None = other
    if isinstance(other, ast.Name):
        found = file.scope(other).lookup(other.id)
        bound = [bound_by(one, file.model) for one in found[1]] if found is not None else []
        only = bound[0] if len(bound) == 1 else None
        asked = only.source if only is not None and only.how == "value" and not only.path else None
    name = file.qualname(asked.func) if isinstance(asked, ast.Call) else None
    if name is None or not name.startswith("onnxruntime.") or not name.endswith(".get_device") or len(parent.ops) != 1:
        return
    words = {ast.Eq: "in", ast.In: "in", ast.NotEq: "not in", ast.NotIn: "not in"}
    word = words.get(type(parent.ops[0]))
    edits = [file.replace(parent, f'"CANN" {word} {file.code(other)}')] if word is not None else []
    yield file.report(
        node,
        "a build of ONNX Runtime with CANN calls its device CPU-CANN",
        edits=edits,
        subject="onnxruntime.get_device",
        advice="" if edits else phrase('ask whether "CANN" stands in it'),
    )


def _without_tensorrt(node: ast.Constant, parent: ast.AST | None, file: PythonFile) -> Edit | None:
    """Takes the provider out of a list of several, with its options where it stands beside them."""
    member: ast.expr = node
    if isinstance(parent, ast.Tuple) and parent.elts[0] is node and isinstance(file.parent(parent), ast.List):
        member, parent = parent, file.parent(parent)
    if not isinstance(parent, ast.List) or not isinstance(member, ast.expr) or len(parent.elts) < 2:
        return None
    given = file.parent(parent)
    call = file.parent(given) if isinstance(given, ast.keyword) else given
    if isinstance(call, ast.Call) and any(one.arg == "provider_options" for one in call.keywords):
        return None  # a list of options stands beside it, member by member
    at = parent.elts.index(member)
    before = file.source.end(parent.elts[at - 1]) if at else None
    return taken_out(file.source.start(member), file.source.end(member), before, file)
