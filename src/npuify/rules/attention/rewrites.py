"""Attention of flash_attn and xformers: rewritten to ``torch_npu.npu_fusion_attention`` where the meaning is proven."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase, semicolons
from npuify.model import Evidence, Safety, Severity
from npuify.rules.attention.call import OPERATOR
from npuify.rules.attention.calls import plan_of
from npuify.rules.attention.forms import FLASH_WORDS, VARIABLE_LENGTH, is_memory_efficient_attention
from npuify.rules.registry import rule
from npuify.rules.text_checks import not_called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SOURCE = "torch_npu/_op_plugin_docs.py: npu_fusion_attention; flash_attn's docstrings"
_LIMITS = "needs an Atlas A2 or newer, and float16, bfloat16 or float32"


@rule("NPU501", "flash-attention", Safety.SAFE, words=FLASH_WORDS, source=_SOURCE)
def flash_attention(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """flash_attn needs NVIDIA GPUs; the NPU's fused attention is ``torch_npu.npu_fusion_attention``.

    Tensors keep their layout. The scale, which is 1.0 unless given, is passed; causal attention is aligned to the lower
    right corner, as in flash_attn since 2.1, by ``sparse_mode=3`` with a triangular mask of 2048 by 2048; a window is
    ``sparse_mode=4``. The mask is created at each call: create it once where that matters. ``alibi_slopes`` become a
    bias for ``npu_fusion_attention_v2``. Calls with arguments that have no equivalent (softcap, return_attn_probs), or
    that are only known at run time, are not rewritten. The operator is documented for training; generation with a cache
    needs another one.

    Before::

        import torch
        from flash_attn import flash_attn_func

        def attend(q, k, v):
            return flash_attn_func(q, k, v, causal=True)

    After::

        import torch
        import torch_npu

        def attend(q, k, v):
            return torch_npu.npu_fusion_attention(
                q,
                k,
                v,
                q.shape[2],
                "BSND",
                atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
                scale=q.shape[-1] ** -0.5,
                sparse_mode=3,
            )[0]
    """
    name = file.qualname(node.func)
    if name is not None and name.rpartition(".")[2] not in VARIABLE_LENGTH and not is_memory_efficient_attention(name):
        yield from _rewritten(node, name, file)


@rule("NPU502", "flash-attention-varlen", Safety.SAFE, words=FLASH_WORDS, source=_SOURCE)
def flash_attention_varlen(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """flash_attn's attention over packed sequences is ``npu_fusion_attention`` with the layout ``TND``.

    It takes the cumulative lengths as integers on the host, without the leading 0. Fetching them waits for the NPU:
    where that matters, fetch them once per batch. No query may be left without keys, so a causal mask is proven only
    where queries and keys have the same lengths.

    Before::

        import torch
        from flash_attn import flash_attn_varlen_func

        def attend(q, k, v, cu, longest):
            return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, dropout_p=0.1)

    After::

        import torch
        import torch_npu

        def attend(q, k, v, cu, longest):
            return torch_npu.npu_fusion_attention(
                q,
                k,
                v,
                q.shape[1],
                "TND",
                scale=q.shape[-1] ** -0.5,
                keep_prob=1 - 0.1,
                actual_seq_qlen=cu[1:].tolist(),
                actual_seq_kvlen=cu[1:].tolist(),
            )[0]
    """
    name = file.qualname(node.func)
    if name is not None and name.rpartition(".")[2] in VARIABLE_LENGTH:
        yield from _rewritten(node, name, file)


@rule(
    "NPU503",
    "memory-efficient-attention",
    Safety.REVIEW,
    words=("memory_efficient_attention",),
    source="torch_npu/_op_plugin_docs.py: npu_fusion_attention; xformers' docstrings",
)
def memory_efficient_attention(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """xformers' attention needs NVIDIA GPUs; its tensors with 4 dimensions have the layout ``BSND``.

    A tensor as ``attn_bias`` is added after scaling, by ``npu_fusion_attention_v2`` with ``pse_type=0``; a
    block-diagonal mask created in the call becomes packed sequences, with the layout ``TND``.

    Before::

        import torch
        import xformers.ops as xops

        def attend(q, k, v):
            return xops.memory_efficient_attention(q, k, v)

    After::

        import torch
        import torch_npu

        def attend(q, k, v):
            return torch_npu.npu_fusion_attention(q, k, v, q.shape[2], "BSND", scale=q.shape[-1] ** -0.5)[0]
    """
    name = file.qualname(node.func)
    if name is not None and is_memory_efficient_attention(name):
        yield from _rewritten(node, name, file)


def _rewritten(node: ast.Call, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    plan = plan_of(node, file)
    if plan is None:
        return
    message = phrase("{name} needs an NVIDIA GPU; the NPU has {OPERATOR}", name=name, OPERATOR=OPERATOR)
    if plan.text:
        condition = (
            phrase("; not proven: {conditions}", conditions=semicolons(plan.conditions)) if plan.conditions else ""
        )
        yield file.report(
            node,
            f"{message} ({_LIMITS}){condition}",
            edits=[file.replace(node, plan.text)],
            safety=plan.safety,
            subject=name,
            needs_torch_npu=True,
        )
    else:
        yield file.report(
            node,
            phrase("{message}; not rewritten: {refusal}", message=message, refusal=plan.refusal),
            subject=name,
            advice=_BY_HAND,
        )


_BY_HAND = "change the call by hand; see the documentation of torch_npu.npu_fusion_attention"
_CACHE = "torch_npu.npu_fused_infer_attention_score"
_NO_FORM = {
    "flash_attn_with_kvcache": "attention with a cache for inference: torch_npu.npu_fused_infer_attention_score reads "
    "a cache that your code fills",
    "flash_attn_unpadded_func": "the flash_attn 1 form of flash_attn_varlen_func, causal from the upper left corner",
    "flash_attn_unpadded_qkvpacked_func": "the flash_attn 1 form of flash_attn_varlen_qkvpacked_func",
    "flash_attn_unpadded_kvpacked_func": "the flash_attn 1 form of flash_attn_varlen_kvpacked_func",
    "_flash_attn_forward": "an internal function that also returns the log-sum-exp",
    "_flash_attn_backward": "an internal function; npu_fusion_attention computes its own gradient",
    "_flash_attn_varlen_forward": "an internal function that also returns the log-sum-exp",
    "_flash_attn_varlen_backward": "an internal function; npu_fusion_attention computes its own gradient",
    "memory_efficient_attention_forward": "xformers' attention without gradient",
    "memory_efficient_attention_forward_requires_grad": "it also returns the log-sum-exp",
    "memory_efficient_attention_partial": "it also returns the log-sum-exp",
}


@rule(
    "NPU504",
    "attention-without-equivalent",
    Safety.MANUAL,
    words=(*FLASH_WORDS, "memory_efficient_attention_"),
    source=_SOURCE,
)
def attention_without_equivalent(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A function of flash_attn or xformers without a single counterpart on the NPU."""
    name = file.qualname(node.func) or ""
    package, _, last = name.rpartition(".")
    if package in ("flash_attn_interface", "flash_attn_3.flash_attn_interface", "flash_attn.cute"):
        reason = "its arguments belong to another generation of flash_attn"
    elif last in _NO_FORM and package.split(".")[0] in ("flash_attn", "xformers"):
        reason = _NO_FORM[last]
    else:
        return
    there = file.release.has(_CACHE) or _CACHE not in reason
    yield file.report(
        node,
        phrase(
            "{name} needs an NVIDIA GPU; not rewritten: {value}",
            name=name,
            value=reason if there else "attention with a cache for inference",
        ),
        subject=name,
        advice=_BY_HAND,
    )


@rule(
    "NPU506",
    "attention-kernel-choice",
    Safety.MANUAL,
    Severity.INFO,
    words=("sdpa_kernel",),
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: FusedSdpChoiceKernelNpuOpApi.cpp",
)
def attention_kernel_choice(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``sdpa_kernel`` selects among CUDA kernels; on an NPU, scaled_dot_product_attention selects its own."""
    if file.qualname(node.func) != "torch.nn.attention.sdpa_kernel":
        return
    yield file.report(
        node,
        "the NPU selects the kernel of scaled_dot_product_attention itself, whatever is requested here",
        subject="torch.nn.attention.sdpa_kernel",
        advice="keep it, or remove it; a mask that is not bool, or float16 on a first-generation 910, is computed "
        "operator by operator",
    )


_ADDITIVE = ("-inf", "torch.finfo", "NEG_INF")


@rule(
    "NPU507",
    "additive-attention-mask",
    Safety.MANUAL,
    Severity.INFO,
    words=("scaled_dot_product_attention",),
    also_in_file=tuple(word.lower() for word in _ADDITIVE),
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: ScaledDotProductAttentionKernelNpuOpApi.cpp",
)
def additive_attention_mask(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The NPU's fused attention takes a bool mask; with an additive mask, attention is computed step by step."""
    if file.qualname(node.func) != "torch.nn.functional.scaled_dot_product_attention":
        return
    mask = next((item.value for item in node.keywords if item.arg == "attn_mask"), None)
    if mask is None and len(node.args) > 3 and not any(isinstance(arg, ast.Starred) for arg in node.args):
        mask = node.args[3]
    if not isinstance(mask, ast.Name):
        return
    values = file.assigned(mask)
    if not any(word in file.code(value) for value in values if value is not None for word in _ADDITIVE):
        return
    yield file.report(
        node,
        phrase("{id} is an additive mask, for which the NPU computes attention operator by operator", id=mask.id),
        subject="torch.nn.functional.scaled_dot_product_attention",
        advice="pass a bool mask that is True where a key may be attended to: it takes less memory and uses the fused "
        "kernel",
    )


_ATTENTION_NAME = re.compile(r"attn|attention|flash", re.IGNORECASE)


@rule(
    "NPU510",
    "attention-kernel-in-triton",
    Safety.MANUAL,
    Severity.ERROR,
    words=("triton.jit", "import triton"),
    evidence=Evidence.DOCUMENTED,
    source="triton-ascend's README; torch_npu/_op_plugin_docs.py: npu_fusion_attention",
)
def attention_kernel_in_triton(node: ast.FunctionDef, file: PythonFile) -> Iterator[Diagnostic]:
    """Attention is written as Triton kernels, which upstream Triton compiles for GPUs only.

    triton-ascend compiles them for Atlas A2 and A3, where a tile must fit in 192 KB. The NPU has attention as a single
    operator. Reported once per file, at the first kernel named after attention.
    """
    if not _ATTENTION_NAME.search(node.name) or file.recall("NPU510"):
        return
    names = [_decorator_name(item, file) for item in node.decorator_list]
    if "triton.jit" not in names:
        return
    file.remember("NPU510", True)
    yield file.report(
        node.decorator_list[0],
        phrase("{name} implements attention as a Triton kernel", name=node.name),
        subject="triton.jit",
        advice=phrase(
            "call {OPERATOR} or torch.nn.functional.scaled_dot_product_attention instead; "
            "otherwise install triton-ascend, and choose tiles that fit in its 192 KB and a grid "
            "of about as many programs as there are AI cores",
            OPERATOR=OPERATOR,
        ),
    )


def _decorator_name(node: ast.expr, file: PythonFile) -> str:
    return file.qualname(node.func if isinstance(node, ast.Call) else node) or ""


_FLEX_RELEASES = frozenset(("2.7.1.post11", "2.13.0", "2.14.0"))
"""Releases whose package holds torch_npu/utils/patch_flexattention.py."""


@rule(
    "NPU511",
    "flex-attention",
    Safety.MANUAL,
    Severity.ERROR,
    words=("flex_attention",),
    skip_if=not_called,
    names=("torch.nn.attention.flex_attention.flex_attention",),
    source="torch/nn/attention/flex_attention.py, _validate_device; torch_npu/utils/patch_flexattention.py",
)
def flex_attention(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """torch's flex_attention rejects devices it does not know; some releases of torch_npu make it accept an NPU.

    Reported once per file.
    """
    if file.recall("NPU511"):
        return
    file.remember("NPU511", True)
    release = file.release.torch_npu
    there = release in _FLEX_RELEASES
    yield file.report(
        node,
        phrase(
            "torch_npu {release} supports flex_attention; uncompiled, it materializes the full score matrix",
            release=release,
        )
        if there
        else phrase("flex_attention rejects NPU tensors with torch_npu {release}", release=release),
        severity=Severity.INFO if there else Severity.ERROR,
        subject="torch.nn.attention.flex_attention",
        advice="compile it with triton-ascend there"
        if there
        else phrase(
            "use {OPERATOR} with a mask, or scaled_dot_product_attention; or a release with "
            "patch_flexattention (2.7.1.post11, 2.13, 2.14)",
            OPERATOR=OPERATOR,
        ),
    )
