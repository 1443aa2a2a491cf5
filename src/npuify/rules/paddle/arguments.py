"""What PaddlePaddle is given by name: flags of CUDA, and ``use_gpu`` of its suites; and who else opens the NPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.flow.owners import owner_of_call
from npuify.language import mark, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.common.edits.taking_out import without_entry
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GONE = frozenset(
    (
        *("FLAGS_cudnn_deterministic", "FLAGS_cudnn_exhaustive_search", "FLAGS_conv_workspace_size_limit"),
        *("FLAGS_cudnn_batchnorm_spatial_persistent", "FLAGS_embedding_deterministic"),
        *("FLAGS_enable_cublas_tensor_op_math", "FLAGS_gemm_use_half_precision_compute_type"),
        "FLAGS_selected_gpus",
    )
)
"""Flags that a Paddle without CUDA does not have, or does not let be set."""
_DETERMINISTIC: Final = mark("npu_deterministic=true in the environment makes the plug-in deterministic")
_ADVICE: Final = {
    "FLAGS_cudnn_deterministic": _DETERMINISTIC,
    "FLAGS_embedding_deterministic": _DETERMINISTIC,
    "FLAGS_selected_gpus": mark('paddle.set_device("npu:N") chooses the card; FLAGS_selected_npus is a variable'),
}
_IMPORTS_TORCH = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+torch\b")
_IMPORTS_PADDLE = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+paddle\b")
_ON_CARD = re.compile(rb"\.cuda\b|[\"']cuda")


@rule(
    "NPU955",
    "paddle-flag-of-cuda",
    Safety.SAFE,
    words=tuple(sorted(flag.lower() for flag in _GONE)),
    also_in_file=("paddle",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="paddlepaddle 3.0.0 to 3.3.1 for the CPU: paddle.set_flags and paddle.get_flags, called",
)
def paddle_flag_of_cuda(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """PaddlePaddle is given a flag that only its builds for CUDA have: ``set_flags`` raises ValueError without CUDA.

    Before::

        import paddle

        paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth", "FLAGS_cudnn_deterministic": True})

    After::

        import paddle

        paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth"})
    """
    if node.value not in _GONE or "paddle" in file.project.packages:
        return
    table = file.parent(node)
    edits = []
    if isinstance(table, ast.Dict) and node in table.keys:
        call = file.parent(table)
        name = (file.qualname(call.func) or "") if isinstance(call, ast.Call) and table in call.args else ""
        if name.startswith("paddle.") and name.endswith("set_flags"):
            edit = without_entry(table, table.keys.index(node), file)
            edits = [edit] if edit is not None else []
    elif not isinstance(table, (ast.List, ast.Tuple, ast.Call)) or _is_of_environment(table, file):
        return
    yield file.report(
        node,
        phrase("{flag} is a flag of Paddle with CUDA; without it this raises ValueError", flag=node.value),
        edits=edits,
        severity=Severity.ERROR,
        subject=str(node.value),
        advice=_ADVICE.get(str(node.value)) or ("" if edits else "leave it out"),
    )


def _is_of_environment(node: ast.AST, file: PythonFile) -> bool:
    return isinstance(node, ast.Call) and "environ" in file.code(node.func)


@rule(
    "NPU956",
    "paddle-use-gpu",
    Safety.REVIEW,
    words=("use_gpu",),
    also_in_file=("paddle",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="PaddleOCR 2.x: tools/infer/utility.py, which asks use_gpu first, and its documentation for NPUs",
)
def paddle_use_gpu(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """PaddleOCR 2 is told to use a GPU; on an NPU ``use_gpu`` is false and ``use_npu`` true, both.

    Releases from 3 on take ``device="npu:0"`` in the place of both.

    Before::

        from paddleocr import PaddleOCR

        ocr = PaddleOCR(lang="en", use_gpu=True)

    After::

        from paddleocr import PaddleOCR

        ocr = PaddleOCR(lang="en", use_gpu=False, use_npu=True)
    """
    call = file.parent(node)
    if node.arg != "use_gpu" or not isinstance(call, ast.Call) or "paddle" in file.project.packages:
        return
    owner = owner_of_call(call, file.model)
    if owner is None or owner.name != "PaddlePaddle":
        return
    value = node.value
    if isinstance(value, ast.Constant) and not value.value:
        return
    has_npu = any(one.arg == "use_npu" for one in call.keywords)
    is_ocr = any(
        "paddleocr" in (file.qualname(one) or "") for one in (call.func, getattr(call.func, "value", call.func))
    )
    is_plain = isinstance(value, ast.Constant) and value.value is True and not has_npu and is_ocr
    others = sorted(
        one.arg for one in call.keywords if one.arg in ("use_tensorrt", "gpu_mem", "gpu_id", "precision") and one.arg
    )
    advice = "" if is_plain else "set use_gpu to false and use_npu to true"
    if not is_ocr:
        advice = phrase("set use_gpu to false, and use_npu to true where the function has it")
    if others:
        advice = f"{advice}; " if advice else ""
        advice += phrase("leave out what belongs to the GPU: {others}", others=", ".join(others))
    yield file.report(
        node,
        "use_gpu needs a Paddle with CUDA, and is asked before use_npu",
        edits=[file.replace(node, "use_gpu=False, use_npu=True")] if is_plain else (),
        severity=Severity.ERROR,
        subject="paddle: use_gpu",
        advice=advice,
    )


@rule(
    "NPU957",
    "two-owners-of-the-npu",
    Safety.MANUAL,
    Severity.WARNING,
    words=("import torch", "from torch"),
    also_in_file=("paddle",),
    evidence=Evidence.REPORTED,
    source="PaddlePaddle/PaddleX#5027: a second aclInit in one process fails",
)
def two_owners_of_the_npu(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """One program computes with PyTorch and with PaddlePaddle on the card.

    torch_npu and Paddle's plug-in both open the NPU, and a process can do that once. One of the two computes on the
    CPU, or in a process of its own.
    """
    module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
    data = file.source.data
    if module.partition(".")[0] != "torch" or _IMPORTS_PADDLE.search(data) is None or _ON_CARD.search(data) is None:
        return
    first = _IMPORTS_TORCH.search(data)
    if first is None or file.source.start(node) > first.end():
        return
    yield file.report(
        node,
        "torch_npu and Paddle's plug-in cannot share a process: each opens the NPU",
        subject="paddle: torch",
        advice="let one of the two compute on the CPU, or run it in a process of its own",
        only_with=_switch_of_paddle(file),
    )


def _switch_of_paddle(file: PythonFile) -> str:
    """The option without which no statement of a file imports Paddle; empty where one runs without it."""
    switches = [
        only_with(one, file)
        for one in file.nodes_on_lines_with("paddle")
        if (isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] == "paddle")
        or (isinstance(one, ast.Import) and any(name.name.partition(".")[0] == "paddle" for name in one.names))
    ]
    return switches[0] if switches and all(switches) else ""
