"""Each rewrite of attention computes what the original call computes, forward and backward.

The original text runs with plain definitions of flash_attn and xformers, the migrated text with one of torch_npu's
operator; ``attention_reference`` says where each comes from.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from npuify import knowledge
from npuify.model import Safety

from ...harness import RELEASE, findings, output

torch = pytest.importorskip("torch", reason="needs torch, to compute with")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch, to compute with", allow_module_level=True)

from . import attention_reference as reference  # noqa: E402

HEAD = """\
import torch
from flash_attn import (
    flash_attn_func, flash_attn_kvpacked_func, flash_attn_qkvpacked_func, flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func, flash_attn_varlen_qkvpacked_func,
)
from flash_attn import flash_attn_triton
import xformers.ops as xops


def attend(q, k, v, qkv, kv, cu_q, cu_k, causal, scale, slopes=None, bias=None):
    width = 0.5
    return """


@pytest.fixture(autouse=True)
def _libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain definitions stand where the libraries would be imported from."""
    flash, npu = ModuleType("flash_attn"), ModuleType("torch_npu")
    xformers, ops = ModuleType("xformers"), ModuleType("xformers.ops")
    xformers.ops = ops  # type: ignore[attr-defined]
    for name, item in vars(reference).items():
        if name.startswith("flash_attn"):
            setattr(flash, name, item)
    for item in (
        reference.memory_efficient_attention,
        reference.LowerTriangularMask,
        reference.LowerTriangularFromBottomRightMask,
        reference.BlockDiagonalMask,
        reference.BlockDiagonalCausalMask,
        reference.BlockDiagonalCausalFromBottomrightMask,
    ):
        setattr(ops, item.__name__, item)
    npu.npu_fusion_attention = reference.npu_fusion_attention  # type: ignore[attr-defined]
    npu.npu_fusion_attention_v2 = reference.npu_fusion_attention_v2  # type: ignore[attr-defined]
    for module in (flash, npu, xformers, ops):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def program(call: str) -> str:
    return f"{HEAD}{call}\n"


def run(text: str, inputs: dict[str, Any]) -> list[Any]:
    """The result of ``attend``, and the gradients of its tensors for a weighted sum."""
    space: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), space)
    leaves = {
        name: value.clone().requires_grad_()
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }
    result = space["attend"](**{**inputs, **leaves})
    weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).reshape(result.shape)
    (result * weights).sum().backward()
    return [result.detach(), *(leaf.grad for leaf in leaves.values())]


def assert_same(first: list[Any], second: list[Any]) -> None:
    for one, other in zip(first, second, strict=True):
        if one is None or other is None:
            assert one is other
        else:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def rewritten(call: str, safety: Safety) -> str:
    before = program(call)
    found = [item for item in findings(before) if item.code in ("NPU501", "NPU502", "NPU503")]
    assert [item.safety for item in found] == [safety], found
    after = output(before, unsafe=safety is Safety.REVIEW)
    assert "npu_fusion_attention" in after
    assert output(after) == after
    return after


def inputs_for(lengths: tuple[int, int], heads: tuple[int, int], **more: Any) -> dict[str, Any]:
    """Tensors [batch, length, heads, dimension] of doubles."""
    generator = torch.Generator().manual_seed(3)

    def made(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q, k = lengths
    nq, nk = heads
    values = {
        "q": made(2, q, nq, 4),
        "k": made(2, k, nk, 4),
        "v": made(2, k, nk, 4),
        "qkv": made(2, q, 3, nq, 4),
        "kv": made(2, k, 2, nk, 4),
    }
    return {**values, "cu_q": None, "cu_k": None, "causal": False, "scale": None, **more}


SHAPES = [((5, 5), (2, 2)), ((3, 7), (4, 2)), ((7, 3), (2, 1)), ((1, 6), (4, 4))]
SELF_SHAPES = [((5, 5), (2, 2)), ((8, 8), (4, 1))]
ALWAYS, NOT_LONGER, SAME = SHAPES, [shape for shape in SHAPES if shape[0][0] <= shape[0][1]], SELF_SHAPES

FIXED = [
    ("flash_attn_func(q, k, v)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, 0.0, None, True)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, causal=True)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q=q, v=v, k=k, softmax_scale=0.3, causal=True)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, softmax_scale=width)", Safety.SAFE, SAME),
    ("flash_attn_func(q, k, v, softmax_scale=1 / 3, causal=False, deterministic=False)", Safety.SAFE, SAME),
    ("flash_attn_func(q, k, v, dropout_p=0.25, causal=True)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, 0.5 - width / 2)", Safety.SAFE, SAME),
    ("flash_attn_func(q, k, v, causal=True, window_size=(-1, -1), softcap=0.0)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, window_size=(-1, 0), alibi_slopes=None)", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, causal=True, window_size=(-1, 3))", Safety.SAFE, ALWAYS),
    ("flash_attn_func(q, k, v, causal=True, window_size=(2, 0))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, causal=True, window_size=(1, -1))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, causal=True, window_size=(2, 5))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, window_size=(1, 2))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, window_size=(2, -1))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, window_size=(-1, 1))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, window_size=(0, 0))", Safety.REVIEW, NOT_LONGER),
    ("flash_attn_func(q, k, v, causal=True, deterministic=True)", Safety.REVIEW, SAME),
    ("flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], causal=True)", Safety.SAFE, SAME),
    ("flash_attn_func(q.contiguous(), k, v, causal=True).flatten(2)", Safety.SAFE, ALWAYS),
    ("flash_attn_qkvpacked_func(qkv)", Safety.SAFE, SAME),
    ("flash_attn_qkvpacked_func(qkv, causal=True, softmax_scale=0.7)", Safety.SAFE, SAME),
    ("flash_attn_qkvpacked_func(qkv, causal=True, window_size=(2, 0))", Safety.SAFE, SAME),
    ("flash_attn_qkvpacked_func(qkv, 0.25, None, window_size=(1, 1))", Safety.SAFE, SAME),
    ("flash_attn_kvpacked_func(q, kv, causal=True)", Safety.SAFE, ALWAYS),
    ("flash_attn_kvpacked_func(q, kv, softmax_scale=2 ** -3)", Safety.SAFE, ALWAYS),
    ("xops.memory_efficient_attention(q, k, v)", Safety.REVIEW, SAME[:1]),
    ("xops.memory_efficient_attention(q, k, v, None, 0.25, 0.7)", Safety.REVIEW, SAME[:1]),
    ("xops.memory_efficient_attention(q, k, v, attn_bias=xops.LowerTriangularMask())", Safety.REVIEW, "equal heads"),
    (
        "xops.memory_efficient_attention(q, k, v, attn_bias=xops.LowerTriangularFromBottomRightMask(), scale=2.0)",
        Safety.REVIEW,
        [((5, 5), (2, 2)), ((2, 6), (2, 2))],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "safety", "shapes"), FIXED, ids=[case[0] for case in FIXED])
def test_fixed_lengths(call: str, safety: Safety, shapes: Any) -> None:
    after = rewritten(call, safety)
    if shapes == "equal heads":
        shapes = [((5, 5), (2, 2)), ((3, 6), (2, 2)), ((6, 3), (2, 2))]
    for lengths, heads in shapes:
        inputs = inputs_for(lengths, heads)
        assert_same(run(program(call), inputs), run(after, inputs))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("scale", [None, 0.25])
def test_what_is_known_when_it_runs(causal: bool, scale: float | None) -> None:
    call = "flash_attn_func(q, k, v, causal=causal, softmax_scale=scale)"
    after = rewritten(call, Safety.SAFE)
    for lengths, heads in SHAPES:
        inputs = inputs_for(lengths, heads, causal=causal, scale=scale)
        assert_same(run(program(call), inputs), run(after, inputs))


ALIBI = [
    "flash_attn_func(q, k, v, causal=True, alibi_slopes=slopes)",
    "flash_attn_func(q, k, v, alibi_slopes=slopes, softmax_scale=0.7)",
    "flash_attn_func(q, k, v, 0.25, causal=True, alibi_slopes=slopes)",
    "flash_attn_func(q, k, v, causal=True, window_size=(3, 0), alibi_slopes=slopes)",
]


@pytest.mark.parametrize("call", ALIBI)
@pytest.mark.parametrize("batched", [False, True])
def test_position_bias_of_slopes(call: str, batched: bool) -> None:
    after = rewritten(call, Safety.REVIEW)
    assert "npu_fusion_attention_v2" in after
    for lengths, heads in NOT_LONGER if "window" in call else SHAPES:
        inputs = inputs_for(lengths, heads)
        slopes = torch.rand(*([2] if batched else []), heads[0], generator=torch.Generator().manual_seed(1))
        # Slopes have no gradient in flash_attn either.
        first = run(program(call), {**inputs, "slopes": slopes.half().requires_grad_(False)})
        second = run(after, {**inputs, "slopes": slopes.half()})
        assert_same(first[:4], second[:4])


def test_position_bias_of_slopes_where_the_tensors_are_packed() -> None:
    call = "flash_attn_qkvpacked_func(qkv, causal=True, alibi_slopes=slopes)"
    after = rewritten(call, Safety.REVIEW)
    inputs = inputs_for((6, 6), (4, 4))
    slopes = torch.tensor([0.5, 0.25, 0.125, 1.0])
    first, second = (run(text, {**inputs, "slopes": slopes}) for text in (program(call), after))
    assert_same([one for one in first[:5] if one is not None], [one for one in second[:5] if one is not None])


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        ("flash_attn_triton.flash_attn_func(q, k, v, causal=True)", [((5, 5), (2, 2)), ((3, 6), (2, 2))]),
        ("flash_attn_triton.flash_attn_func(q, k, v, None, False, 0.3)", [((3, 6), (2, 2)), ((6, 3), (2, 2))]),
        ("flash_attn_triton.flash_attn_qkvpacked_func(qkv, causal=True)", [((5, 5), (2, 2))]),
    ],
)
def test_attention_written_in_triton(call: str, shapes: Any) -> None:
    after = rewritten(call, Safety.SAFE)
    for lengths, heads in shapes:
        inputs = inputs_for(lengths, heads)
        assert_same(run(program(call), inputs), run(after, inputs))


@pytest.mark.parametrize(
    "call",
    [
        "flash_attn_triton.flash_attn_func(q, k, v, bias, causal=True)",
        "xops.memory_efficient_attention(q, k, v, attn_bias=torch.nan_to_num(bias))",
        "xops.memory_efficient_attention(q, k, v, torch.clone(bias), scale=0.3)",
    ],
)
def test_a_bias_is_added_after_scaling(call: str) -> None:
    after = rewritten(call, Safety.REVIEW)
    assert "pse_type=0" in after
    for batch in (1, 2):
        inputs = inputs_for((3, 6), (2, 2))
        bias = torch.randn(batch, 2, 3, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        first, second = (run(text, {**inputs, "bias": bias}) for text in (program(call), after))
        assert_same(first[:4], second[:4])


BLOCKS = [
    ("BlockDiagonalMask.from_seqlens([3, 1, 4])", [3, 1, 4], [3, 1, 4]),
    ("BlockDiagonalMask.from_seqlens([3, 1, 4], [2, 5, 1])", [3, 1, 4], [2, 5, 1]),
    ("BlockDiagonalMask.from_seqlens(q_seqlen=[2, 2], kv_seqlen=[2, 3])", [2, 2], [2, 3]),
    ("BlockDiagonalCausalMask.from_seqlens([3, 1, 4])", [3, 1, 4], [3, 1, 4]),
    ("BlockDiagonalCausalMask.from_seqlens([3, 1], [5, 2])", [3, 1], [5, 2]),
    ("BlockDiagonalCausalFromBottomrightMask.from_seqlens([3, 1], [5, 2])", [3, 1], [5, 2]),
]


@pytest.mark.parametrize(("mask", "queries", "keys"), BLOCKS)
@pytest.mark.parametrize("more", ["", ", p=0.0, scale=0.4"])
def test_block_diagonal_masks(mask: str, queries: list[int], keys: list[int], more: str) -> None:
    call = f"xops.memory_efficient_attention(q, k, v, attn_bias=xops.{mask}{more})"
    after = rewritten(call, Safety.REVIEW)
    assert "xops" not in after.partition("def attend")[2]
    inputs = inputs_for((sum(queries), sum(keys)), (2, 2))
    inputs |= {name: inputs[name][:1] for name in "qkv"}
    assert_same(run(program(call), inputs), run(after, inputs))


def test_transposed_tensors() -> None:
    call = "flash_attn_func(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=True).transpose(1, 2)"
    after = rewritten(call, Safety.SAFE)
    inputs = inputs_for((3, 6), (4, 2))
    for name in "qkv":
        inputs[name] = inputs[name].transpose(1, 2)
    assert_same(run(program(call), inputs), run(after, inputs))


def packed_inputs(q_lengths: list[int], k_lengths: list[int], heads: tuple[int, int]) -> dict[str, Any]:
    """Tensors [tokens, heads, dimension], with cumulative lengths that begin with 0."""
    generator = torch.Generator().manual_seed(5)

    def made(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def cumulative(lengths: list[int]) -> Any:
        return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)

    tq, tk, (nq, nk) = sum(q_lengths), sum(k_lengths), heads
    return {
        "q": made(tq, nq, 4),
        "k": made(tk, nk, 4),
        "v": made(tk, nk, 4),
        "qkv": made(tq, 3, nq, 4),
        "kv": made(tk, 2, nk, 4),
        "cu_q": cumulative(q_lengths),
        "cu_k": cumulative(k_lengths),
        "causal": True,
        "scale": None,
    }


EQUAL = [([3, 1, 4], [3, 1, 4], (2, 2)), ([5, 2], [5, 2], (4, 2))]
ANY = [*EQUAL, ([2, 4], [5, 1], (2, 1))]
GROWING = [*EQUAL, ([2, 1, 3], [4, 5, 3], (4, 2))]
VARIABLE = [
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9)", Safety.SAFE, ANY),
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_q, 9, 9, causal=True)", Safety.SAFE, EQUAL),
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, causal=True, softmax_scale=0.4)", Safety.REVIEW, GROWING),
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, 0.25, causal=causal)", Safety.REVIEW, GROWING),
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_q, 9, 9, causal=True, window_size=(1, 0))", Safety.SAFE, EQUAL),
    (
        "flash_attn_varlen_func(q, k, v, cu_q, cu_seqlens_k=cu_k, max_seqlen_q=9, max_seqlen_k=9, window_size=(2, 1))",
        Safety.REVIEW,
        GROWING,
    ),
    ("flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, dropout_p=0.25, block_table=None)", Safety.SAFE, ANY),
    ("flash_attn_varlen_func(q, k, v, cu_q if causal else cu_k, cu_k, 9, 9)", Safety.SAFE, ANY),
    ("flash_attn_varlen_qkvpacked_func(qkv, cu_q, 9, causal=True)", Safety.SAFE, EQUAL),
    ("flash_attn_varlen_qkvpacked_func(qkv, cu_q, 9, 0.0, 0.9, True, window_size=(1, 1))", Safety.SAFE, EQUAL),
    ("flash_attn_varlen_kvpacked_func(q, kv, cu_q, cu_k, 9, 9)", Safety.SAFE, ANY),
    ("flash_attn_varlen_kvpacked_func(q, kv, cu_q, cu_k, 9, 9, causal=True)", Safety.REVIEW, GROWING),
]


@pytest.mark.parametrize(("call", "safety", "batches"), VARIABLE, ids=[case[0] for case in VARIABLE])
def test_variable_lengths(call: str, safety: Safety, batches: list[Any]) -> None:
    after = rewritten(call, safety)
    for batch in batches:
        inputs = packed_inputs(*batch)
        assert_same(run(program(call), inputs), run(after, inputs))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("sparse_mode=3", "sparse_mode=2"),
        ("scale=q.shape[-1] ** -0.5", "scale=1.0"),
        ("atten_mask=q.new_ones(2048, 2048).triu(1).bool(),", ""),
    ],
)
def test_a_wrong_form_is_noticed(right: str, wrong: str) -> None:
    call = "flash_attn_func(q, k, v, causal=True)"
    after = rewritten(call, Safety.SAFE)
    assert right in after
    inputs = inputs_for((3, 7), (4, 2))
    with pytest.raises(AssertionError):
        assert_same(run(program(call), inputs), run(after.replace(right, wrong), inputs))


def test_the_reference_takes_what_the_operator_takes() -> None:
    import inspect

    signature = knowledge.load(RELEASE).signature("torch_npu.npu_fusion_attention")
    assert signature is not None
    there = [parameter.name for parameter in signature.parameters or ()]
    ours = list(inspect.signature(reference.npu_fusion_attention).parameters)
    assert there[: len(ours)] == ours


def test_layouts_of_the_reference_agree() -> None:
    inputs = inputs_for((3, 5), (4, 2))
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    mask = torch.ones(3, 5).triu(3).bool()
    wanted = reference.npu_fusion_attention(q, k, v, 4, "BSND", atten_mask=mask, scale=0.5)[0]
    turned = [part.transpose(1, 2) for part in (q, k, v)]
    assert_same(
        [wanted.transpose(1, 2)], [reference.npu_fusion_attention(*turned, 4, "BNSD", atten_mask=mask, scale=0.5)[0]]
    )
    flat = [part.flatten(2) for part in (q, k, v)]
    assert_same([wanted.flatten(2)], [reference.npu_fusion_attention(*flat, 4, "BSH", atten_mask=mask, scale=0.5)[0]])
    turned = [part.transpose(0, 1) for part in flat]
    got = reference.npu_fusion_attention(*turned, 4, "SBH", atten_mask=mask, scale=0.5)[0]
    assert_same([wanted.flatten(2)], [got.transpose(0, 1)])
    triangle = torch.ones(2048, 2048).triu(1).bool()
    three = reference.npu_fusion_attention(q, k, v, 4, "BSND", atten_mask=triangle, scale=0.5, sparse_mode=3)[0]
    assert_same([wanted], [three])
