"""Operators that an NPU has within limits: sparse tensors, Fourier transforms, views written in place, switches."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, imports_torch, keyword_of
from npuify.rules.common.chip import without_fused_attention
from npuify.rules.operators.places import in_module_class
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SPARSE_MAKERS = frozenset(
    f"torch.sparse_{layout}_tensor" for layout in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
)


def _once(code: str, file: PythonFile) -> bool:
    if file.recall(code):
        return False
    file.remember(code, True)
    return True


@rule(
    "NPU421",
    "sparse-tensor",
    Safety.MANUAL,
    Severity.WARNING,
    words=(
        "torch.sparse",
        ".to_sparse",
        "sparse=true",
        "sparse_coo_tensor",
        "sparse_csr_tensor",
        "torch import sparse",
    ),
    source="the wheel's list of operators: _to_sparse; sparse kernels in its library",
)
def sparse_tensor(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A sparse tensor is created or used: releases have no kernels for them, or only some.

    Reported once per file.
    """
    name = file.qualname(node.func) or ""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    made = name in _SPARSE_MAKERS or name.startswith("torch.sparse.")
    turned = method.startswith("to_sparse") and not name and imports_torch(file)
    embedding = name in ("torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.functional.embedding")
    flag = keyword_of(node, "sparse")
    embedding = embedding and isinstance(flag, ast.Constant) and flag.value is True
    if not (made or turned or embedding) or not _once("NPU421", file):
        return
    release = file.release
    there = "_to_sparse" in release.operators
    message = (
        phrase(
            "torch_npu {torch_npu} has kernels for sparse tensors, but not for every operator",
            torch_npu=release.torch_npu,
        )
        if there
        else phrase("torch_npu {torch_npu} lists no kernels for sparse tensors", torch_npu=release.torch_npu)
    )
    yield file.report(
        node,
        message + (": the gradient of this embedding is sparse" if embedding else ""),
        severity=Severity.INFO if there else Severity.WARNING,
        subject="torch.nn.Embedding(sparse=True)" if embedding else name or f"torch.Tensor.{method}",
        advice="use sparse=False"
        if embedding
        else "test this part separately; otherwise keep it dense, use index_add_ or scatter_add_, or leave it on the "
        "CPU",
    )


@rule(
    "NPU422",
    "fourier-transform-limits",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch.fft", "torch.stft", "torch.istft"),
    evidence=Evidence.DOCUMENTED,
    source="torch_npu's list of supported APIs, torch.fft (torch 2.11)",
)
def fourier_transform_limits(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A Fourier transform, which runs on Atlas A2 and A3 with limits on data type and length."""
    name = file.qualname(node.func) or ""
    if not name.startswith("torch.fft.") and name not in ("torch.stft", "torch.istft"):
        return
    if name.endswith(("freq", "shift")) or not _once("NPU422", file):
        return
    product, release = file.product, file.release
    if product is not None and product.name not in ("A2", "A3"):
        message, severity = (
            phrase("{name} is documented for Atlas A2 and A3, not for {title}", name=name, title=product.title),
            Severity.WARNING,
        )
    elif "_fft_c2c" not in release.operators:
        message = phrase(
            "torch_npu {torch_npu} lists no kernel for complex transforms, so {name} may run on the CPU",
            torch_npu=release.torch_npu,
            name=name,
        )
        severity = Severity.WARNING
    else:
        message = phrase(
            "{name} runs on Atlas A2 and A3 only, in float32, and for lengths of small prime factors", name=name
        )
        severity = Severity.INFO
    yield file.report(
        node,
        message,
        severity=severity,
        subject=name,
        advice="source the set_env.sh of nnal's atb and asdsip first; convert float16, bfloat16 and float64 inputs to "
        "float32 first",
    )


_OVERLAPPING = frozenset(("expand", "expand_as"))
_STRIDED = frozenset(("transpose", "permute", "t", "swapaxes", "movedim", "unfold", "flip"))
_IN_PLACE = tuple(
    f").{name}_(" for name in ("add", "sub", "mul", "div", "copy", "fill", "zero", "clamp", "masked_fill")
)


@rule(
    "NPU423",
    "in-place-on-view",
    Safety.MANUAL,
    Severity.INFO,
    words=_IN_PLACE,
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: in-place operators compute on a contiguous copy and write it back (check_match)",
)
def in_place_on_view(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An in-place method works on an expanded or transposed view.

    An NPU computes on a contiguous copy and writes it back. For an expanded tensor, several values are then written to
    the same memory; torch's own kernels reject that, the NPU's may not.
    """
    function = node.func
    if not isinstance(function, ast.Attribute) or not function.attr.endswith("_") or function.attr.endswith("__"):
        return
    view = function.value
    if not isinstance(view, ast.Call) or not isinstance(view.func, ast.Attribute) or not imports_torch(file):
        return
    kind = view.func.attr
    if kind in _OVERLAPPING:
        message = phrase(
            "{attr} writes into the result of {kind}, whose elements share memory", attr=function.attr, kind=kind
        )
        severity, advice = Severity.WARNING, "clone() the expanded tensor first, or compute out of place"
    elif kind in _STRIDED and in_module_class(node, file):
        if kind == "t" and not file.is_tensor(view.func.value):
            return
        message = phrase(
            "{attr} on the result of {kind}: the NPU copies it, computes, and copies it back",
            attr=function.attr,
            kind=kind,
        )
        severity, advice = Severity.INFO, "compute out of place, or on the contiguous tensor"
    else:
        return
    yield file.report(node, message, severity=severity, subject=f"torch.Tensor.{function.attr}", advice=advice)


@rule(
    "NPU424",
    "deterministic-set-again",
    Safety.MANUAL,
    Severity.INFO,
    words=("use_deterministic_algorithms",),
    names=("torch.use_deterministic_algorithms",),
    evidence=Evidence.DOCUMENTED,
    source="torch_npu's documentation of deterministic computing: the setting under which the first operator ran stays",
)
def deterministic_set_again(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Deterministic operators are switched on and off in one file; an NPU keeps a thread's first setting."""
    settings = {True: 0, False: 0}
    for item in file.nodes_on_lines_with("use_deterministic_algorithms"):
        if isinstance(item, ast.Call) and file.qualname(item.func) == "torch.use_deterministic_algorithms":
            value = argument(item, 0, "mode")
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                settings[value.value] += 1
    if not all(settings.values()) or not _once("NPU424", file):
        return
    yield file.report(
        node,
        "deterministic operators are switched on and off here; once an operator has run, a thread keeps its setting",
        subject="torch.use_deterministic_algorithms",
        advice="decide once, before the first operator; run code that needs the other setting in a separate process",
    )


@rule(
    "NPU425",
    "float32-precision-is-hf32",
    Safety.MANUAL,
    Severity.INFO,
    words=("set_float32_matmul_precision",),
    names=("torch.set_float32_matmul_precision",),
    evidence=Evidence.DOCUMENTED,
    source="PyTorch: it selects TF32 for CUDA and bfloat16 for oneDNN; torch_npu: torch_npu.npu.matmul.allow_hf32",
)
def float32_precision_is_hf32(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``set_float32_matmul_precision`` configures cuBLAS and oneDNN; the NPU's HF32 has its own switch."""
    value = argument(node, 0, "precision")
    if isinstance(value, ast.Constant) and value.value == "highest":
        return
    yield file.report(
        node,
        "this selects TF32 for CUDA; an NPU has HF32, which is off for matrix products and on for convolutions by "
        "default",
        subject="torch.set_float32_matmul_precision",
        advice="set torch_npu.npu.matmul.allow_hf32 = True if the accuracy allows it",
    )


@rule(
    "NPU426",
    "shapes-vary-on-older-chip",
    Safety.MANUAL,
    Severity.WARNING,
    words=("dataloader(",),
    common_words=True,
    applies_to_chip=without_fused_attention,
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: torch_npu.npu.set_compile_mode; on the first-generation 910 and the 310P jit_compile is on",
)
def shapes_vary_on_older_chip(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """On older chips each new shape is compiled, and the last batch of an epoch is smaller than the others.

    Reported once per file, with ``--soc`` only, where the training data is shuffled and nothing drops the last batch.
    """
    product = file.product
    if product is None or not (file.qualname(node.func) or "").startswith("torch.utils.data."):
        return
    data = file.source.data
    shuffle, last = argument(node, 2, "shuffle"), argument(node, 8, "drop_last")
    shuffled = isinstance(shuffle, ast.Constant) and shuffle.value is True
    if not shuffled or last is not None or b"set_compile_mode" in data or b"jit_compile" in data:
        return
    if any(item.arg in (None, "batch_sampler") for item in node.keywords) or not _once("NPU426", file):
        return
    yield file.report(
        node,
        phrase(
            "{title} compiles operators for each new shape, and the last batch has a different one", title=product.title
        ),
        subject="torch.utils.data.DataLoader",
        advice="call torch_npu.npu.set_compile_mode(jit_compile=False) after the imports, in each process; or set "
        "drop_last=True for training data (never for evaluation)",
    )
