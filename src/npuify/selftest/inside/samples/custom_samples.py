"""Arguments for operators of torch_npu whose results are compared with the simulator's own functions on the CPU.

Nothing is imported until a sample is made: the names are also read where there is no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sample:
    """Arguments on the CPU.

    Attributes:
        outputs: those that are compared; None: all.
        whole: by how much whole numbers may differ, where a product is rounded.
    """

    arguments: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[int, ...] | None = None
    whole: int = 0


def _numbers(*shape: int, seed: int = 3) -> Any:
    import torch

    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + len(shape)))


def _half(*shape: int, seed: int = 3) -> Any:
    return _numbers(*shape, seed=seed).half()


def _whole(values: list[Any], kind: str = "int32") -> Any:
    import torch

    return torch.tensor(values, dtype=getattr(torch, kind))


def _type(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _float(values: list[Any]) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.float32)


def _int8(*shape: int) -> Any:
    import torch

    return torch.randint(-128, 127, shape, generator=torch.Generator().manual_seed(5), dtype=torch.int8)


_BOXES = [[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9]]
_SCORES = [0.5, 0.9, 0.8, 0.1]


def _attention(**named: Any) -> Sample:
    q, k, v = (_half(1, 2, 16, 32, seed=seed) for seed in (1, 2, 3))
    return Sample((q, k, v), {"input_layout": "BNSD", **named}, outputs=(0,))


def _fusion(**named: Any) -> Sample:
    q, k, v = (_half(1, 2, 16, 32, seed=seed) for seed in (1, 2, 3))
    return Sample((q, k, v, 2, "BNSD"), {"scale": 0.2, **named}, outputs=(0,))


def _one_query() -> Sample:
    k, v = _half(1, 2, 16, 32, seed=2), _half(1, 2, 16, 32, seed=3)
    named = {"num_heads": 2, "scale_value": 0.2, "input_layout": "BNSD"}
    return Sample((_half(1, 2, 1, 32), k, v), named, outputs=(0,))


def _batch_nms() -> Sample:
    boxes, scores = _float(_BOXES).view(1, 4, 1, 4), _float(_SCORES).view(1, 4, 1)
    return Sample((boxes, scores, 0.2, 0.5, 4, 3), outputs=(3,))


def _deformed() -> Sample:
    import torch

    offset = torch.cat([_numbers(2, 18, 6, 6) * 0.3, torch.ones(2, 9, 6, 6)], 1)
    x, weight = _numbers(2, 4, 6, 6), _numbers(5, 4, 3, 3)
    return Sample((x, weight, offset, _numbers(5), [3, 3], [1, 1, 1, 1], [1, 1, 1, 1]), outputs=(0,))


def _deformed_back() -> Sample:
    import torch

    offset = torch.cat([_numbers(2, 18, 6, 6) * 0.3, torch.ones(2, 9, 6, 6)], 1)
    x, weight, gradient = _numbers(2, 4, 6, 6), _numbers(5, 4, 3, 3), _numbers(2, 5, 6, 6, seed=8)
    taken = _numbers(2, 4, 18, 18, seed=9)
    return Sample((x, gradient, taken, weight, offset, [3, 3], [1, 1, 1, 1], [1, 1, 1, 1]), outputs=(0, 1, 2, 3))


def _delta_rule() -> tuple[Any, ...]:
    """Queries, keys, values, and what is named beside them: two sequences of 2 and 3 steps, two states."""
    named = {
        "beta": _numbers(5, 2).sigmoid(),
        "scale": 0.5,
        "actual_seq_lengths": _whole([2, 3]),
        "g": -_numbers(5, 2, seed=9).abs(),
    }
    return _numbers(5, 1, 16), _numbers(5, 1, 16, seed=5), _numbers(5, 2, 16, seed=6), named


def _chunked() -> Sample:
    q, k, v, named = _delta_rule()
    return Sample((q, k, v), {**named, "initial_state": _numbers(2, 2, 16, 16)})


def _recurrent() -> Sample:
    q, k, v, named = _delta_rule()
    return Sample((q, k, v, _numbers(2, 2, 16, 16)), {**named, "ssm_state_indices": _whole([0, 0, 1, 1, 1])})


def _projected() -> Sample:
    heads = depth = length = 16  # the operator wants multiples of 16
    size = heads * depth
    weights = [_numbers(size, size, seed=seed) * 0.06 for seed in (4, 5, 6, 7)]
    biases = [_numbers(size, seed=seed) for seed in (8, 9, 10, 11)]
    x, mask = _numbers(length, size), _numbers(1, heads, length, length) * 0
    sizes = (heads, depth, length, length)
    return Sample((x, x, x, *weights[:3], mask, weights[3], *biases, None, *sizes, 0.0, True), outputs=(0,))


def _fusion_back() -> Sample:
    """Gradients of an attention in float32, whose softmax is written out."""
    import torch

    q, k, v, dy = (_half(1, 2, 16, 32, seed=seed) for seed in (1, 2, 3, 4))
    scores = (q.float() @ k.float().transpose(-1, -2)) * 0.2
    most = scores.amax(-1, keepdim=True)
    total = (scores - most).exp().sum(-1, keepdim=True)
    out = ((scores - most).exp() / total @ v.float()).half()
    rows = (1, 2, 16, 8)
    named = {"softmax_max": most.expand(rows).contiguous(), "softmax_sum": total.expand(rows).contiguous()}
    torch.manual_seed(0)
    return Sample((q, k, v, dy, 2, "BNSD"), {**named, "attention_in": out, "scale_value": 0.2}, outputs=(0, 1, 2))


def _masked() -> Sample:
    import torch

    return Sample((torch.ones(50, 40), torch.full((256,), 0b01101101, dtype=torch.uint8), 0.3), outputs=(0,))


def _grouped() -> Sample:
    named = {"group_list": _whole([2, 6, 7], "int64"), "split_item": 3, "group_type": 0, "group_list_type": 0}
    return Sample(([_half(7, 16)], [_half(3, 16, 16)]), named)


def _routed() -> Sample:
    import torch

    x, experts = _numbers(6, 8), _whole([[0, 3], [1, 2], [3, 0], [2, 1], [0, 1], [3, 2]])
    rows = torch.arange(12, dtype=torch.int32).reshape(2, 6).t().contiguous()
    return Sample((x, rows, experts, 6))


def _gathered() -> Sample:
    import torch

    generator = torch.Generator().manual_seed(6)
    places = torch.randperm(12, generator=generator).to(torch.int32)
    experts = _whole([[0, 3], [1, 2], [3, 0], [2, 1], [0, 1], [3, 2]])
    return Sample((_numbers(12, 8), None, None, None, torch.rand(6, 2, generator=generator), places, experts))


def _in_a_ring() -> Sample:
    largest, sums = (_numbers(2, 4, 16, 1, seed=seed).abs().repeat(1, 1, 1, 8) + 1 for seed in (1, 2))
    others = (_numbers(2, 4, 16, 1, seed=seed).abs().repeat(1, 1, 1, 8) + 1 for seed in (5, 6))
    return Sample((_half(16, 2, 128), largest, sums, _half(16, 2, 128, seed=9), *others))


def _scored() -> Sample:
    import torch

    q, k, v = (_half(2, 2, 32, 64, seed=seed) for seed in (1, 2, 3))
    return Sample((q, k, v, torch.zeros(2, 1, 32, 32).half(), 0.125, 1.0))


def _permuted() -> Sample:
    return Sample((_numbers(4, 8), _whole([[0, 4], [5, 3], [6, 2], [1, 7]], "int64"), 8))


def _unpermuted() -> Sample:
    import torch

    places = _whole([0, 5, 6, 4, 7, 3, 1, 2])
    return Sample((_numbers(8, 8), places, torch.rand(4, 2, generator=torch.Generator().manual_seed(2))))


def _by_a_map() -> Sample:
    import torch

    chosen = torch.ones(3, 2, dtype=torch.bool)
    return Sample((_numbers(3, 8), chosen), {"num_out_tokens": 6}, outputs=(0, 2))


def _quantised_product() -> Sample:
    scale = _float([0.5, 0.25, 1.0, 2.0, 0.125, 0.5, 0.5, 1.0] * 4)
    return Sample((_int8(16, 64), _int8(64, 32), scale), {"output_dtype": 15})


def _quantised_weights() -> Sample:
    import torch

    x, scale = _half(16, 64), torch.rand(1, 32, generator=torch.Generator().manual_seed(1)).half()
    return Sample((x, _int8(64, 32) // 16, scale))


def _sampled() -> Sample:
    logits = _float([[1.0, 3.0, 2.0, 0.0], [0.0, 0.1, 5.0, 0.2]])
    return Sample((logits, _float([1.0, 0.5]), _whole([2, 4])))


def _position_sensitive() -> Sample:
    return Sample((_half(1, 8, 6, 6), _half(1, 5, 1).abs() + 1, 1.0, 2, 2))


SAMPLES: dict[str, Callable[[], Sample]] = {
    "batch_norm_reduce": lambda: Sample((_numbers(4, 3, 5, 5), 1e-5)),
    "copy_memory_": lambda: Sample((_numbers(3, 4), _numbers(3, 4, seed=9))),
    "npu_add_rms_norm_cast": lambda: Sample((_half(2, 16), _half(2, 16, seed=4), _half(16))),
    "npu_anti_quant": lambda: Sample((_int8(4, 16), _numbers(16).abs())),
    "npu_anchor_response_flags": lambda: Sample((_float([[0, 0, 8, 8], [16.0, 8, 30, 30]]), [4, 4], [8, 8], 3)),
    "npu_chunk_gated_delta_rule": _chunked,
    "npu_convert_weight_to_int4pack": lambda: Sample((_whole([[-8, -3, 0, 1, 2, 3, 6, 7]] * 4),)),
    "npu_deformable_conv2dbk": _deformed_back,
    "npu_fused_attention_score_fwd": lambda: Sample((*_scored().arguments[:5], 1.0), outputs=(0, 1)),
    "npu_fusion_attention_grad_v2": _fusion_back,
    "npu_fusion_attention_grad_v3": _fusion_back,
    "npu_moe_token_permute_grad_v2": lambda: Sample(
        (_numbers(6, 8), _whole([0, 3, 1, 4, 2, 5]), 3, _type("float32"), 2)
    ),
    "npu_multi_head_attention": _projected,
    "npu_recurrent_gated_delta_rule": _recurrent,
    "npu_sign_bits_unpack": lambda: Sample((_whole([159, 15], "uint8"), 2, _type("float32"))),
    "npu_attention_update": lambda: Sample(
        ([_numbers(6), _numbers(6, seed=8)], [_numbers(6, 16), _numbers(6, 16, seed=8)], 0), outputs=(0,)
    ),
    "npu_batch_nms": _batch_nms,
    "npu_bounding_box_decode": lambda: Sample((_float(_BOXES), _numbers(4, 4), 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1)),
    "npu_bounding_box_encode": lambda: Sample((_float(_BOXES), _float(_BOXES[::-1]), 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2)),
    "npu_conv3d": lambda: Sample(
        (_numbers(1, 2, 4, 6, 6), _numbers(3, 2, 3, 3, 3), _numbers(3), [1, 1, 1], [1, 1, 1], [1, 1, 1], 1)
    ),
    "npu_conv_transpose2d": lambda: Sample(
        (_numbers(1, 4, 5, 5), _numbers(4, 3, 3, 3), _numbers(3), [1, 1], [0, 0], [1, 1], [1, 1], 1)
    ),
    "npu_deformable_conv2d": _deformed,
    "npu_dropout_do_mask": _masked,
    "npu_dynamic_quant": lambda: Sample((_half(4, 32),), whole=1),
    "npu_dynamic_quant_asymmetric": lambda: Sample((_half(4, 32),), whole=1),
    "npu_fused_attention_score": _scored,
    "npu_fused_infer_attention_score": lambda: _attention(num_heads=2, scale=0.2),
    "npu_fused_infer_attention_score_v2": lambda: _attention(num_query_heads=2, softmax_scale=0.2),
    "npu_fusion_attention": _fusion,
    "npu_fusion_attention_v2": _fusion,
    "npu_fusion_attention_v3": _fusion,
    "npu_grouped_matmul": _grouped,
    "npu_grouped_matmul_add": lambda: Sample(
        (_numbers(2, 16, 32), _half(6, 16), _half(6, 32), _whole([2, 6], "int64")),
    ),
    "npu_incre_flash_attention": _one_query,
    "npu_iou": lambda: Sample((_float(_BOXES), _float(_BOXES[::-1]), 0)),
    "npu_masked_fill_range": lambda: Sample(
        (_numbers(4, 4), _whole([[0, 1, 2, 0]]), _whole([[1, 2, 3, 0]]), _float([1.0]), 1)
    ),
    "npu_masked_softmax_with_rel_pos_bias": lambda: Sample(
        (_numbers(2, 2, 3, 16, 16), _numbers(1, 2, 1, 16, 16), _numbers(1, 1, 3, 16, 16))
    ),
    "npu_moe_compute_expert_tokens": lambda: Sample((_whole([0, 0, 1, 3, 3, 3]), 4)),
    "npu_moe_finalize_routing": _gathered,
    "npu_moe_gating_top_k": lambda: Sample((_numbers(5, 8), 3), outputs=(0, 1)),
    "npu_moe_gating_top_k_softmax": lambda: Sample((_numbers(5, 8), None, 3)),
    "npu_moe_gating_top_k_softmax_v2": lambda: Sample((_numbers(5, 8),), {"k": 3}, outputs=(0, 1)),
    "npu_moe_init_routing": _routed,
    "npu_moe_token_permute": _permuted,
    "npu_moe_token_permute_with_routing_map": _by_a_map,
    "npu_moe_token_unpermute": _unpermuted,
    "npu_nms_v4": lambda: Sample((_float(_BOXES), _float(_SCORES), 4, _float(0.5), _float(0.2), True)),  # type: ignore[arg-type]
    "npu_nms_with_mask": lambda: Sample((_half(8, 8).abs(), 0.5), outputs=(2,)),
    "npu_one_hot": lambda: Sample((_whole([5, 3, 2, 1]), -1, 5, 1, 0)),
    "npu_prompt_flash_attention": lambda: _attention(num_heads=2, scale_value=0.2),
    "npu_ps_roi_pooling": _position_sensitive,
    "npu_ptiou": lambda: Sample((_float(_BOXES), _float(_BOXES[::-1]), 0)),
    "npu_quant_matmul": _quantised_product,
    "npu_quantize": lambda: Sample((_numbers(4, 16), _numbers(16).abs() + 0.1, None, 12, 1, True), whole=1),
    "npu_ring_attention_update": _in_a_ring,
    "npu_roi_align": lambda: Sample((_numbers(1, 1, 6, 6), _float([[0, -2.0, -2.0, 22.0, 22.0]]), 0.25, 3, 3, 2, 0)),
    "npu_roi_alignbk": lambda: Sample(
        (_numbers(1, 1, 3, 3), _float([[0, -2.0, -2.0, 22.0, 22.0]]), [1, 1, 6, 6], 3, 3, 0.25, 2, 0)
    ),
    "npu_scatter": lambda: Sample((_numbers(2, 2), _whole([0, 1]), _numbers(2), 0)),
    "npu_scatter_list": lambda: Sample(
        ([_half(1, 8, 16), _half(1, 8, 16, seed=6)], _whole([1, 3], "int64"), _half(2, 1, 2, 16))
    ),
    "npu_scatter_nd_update": lambda: Sample((_numbers(4, 3), _whole([[2], [0]], "int64"), _numbers(2, 3))),
    "npu_sign_bits_pack": lambda: Sample((_numbers(32), 2)),
    "npu_silu": lambda: Sample((_half(3, 16),)),
    "npu_swiglu_quant": lambda: Sample((_half(4, 64),), {"quant_mode": 1}, whole=1),
    "npu_top_k_top_p": _sampled,
    "npu_trans_quant_param": lambda: Sample((_float([1.5, 0.25]),)),
    "npu_view_copy": lambda: Sample((_numbers(3, 4), _numbers(3, 4, seed=9), False)),
    "npu_weight_quant_batchmatmul": _quantised_weights,
    "npu_yolo_boxes_encode": lambda: Sample((_float(_BOXES[:2]) + 0.5, _float(_BOXES[1:3]), _whole([2, 2]))),
    "one_": lambda: Sample((_numbers(3, 4),)),
    "scatter_update": lambda: Sample((_half(2, 1, 8, 16), _whole([1, 3], "int64"), _half(2, 1, 2, 16), -2)),
}
"""Operator → its sample. An operator in place, ``npu_scatter_``, takes that of the one without the last stroke."""


_TO_OTHER_CARDS = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "alltoall",
    "reduce_scatter",
    "distribute",
    "ffn",
    "worker",
)
_OF_CHANCE = ("dropout", "random", "sim_exponential", "top_p_sample", "sub_sample")
_NO_RESULT = (
    *(
        "float_status",
        "empty_with",
        "get_npu_format",
        "get_storage_size",
        "change_data_ptr",
        "set_op_timeout",
        "prefetch",
    ),
    *("super_kernel_scope", "npugraph_tensor", "format_cast", "dtype_cast", "obfuscation"),
)
_TOLD_ELSEWHERE = ("apply_adam",)


def why_not(operator: str, simulated: bool) -> str:
    """Why an operator has no sample arguments.

    Args:
        simulated: whether the simulator computes it.
    """
    for words, why in (
        (_TO_OTHER_CARDS, "it talks to other cards in the middle of the computation"),
        (_OF_CHANCE, "its result is drawn at random"),
        (_NO_RESULT, "it is about memory, formats or the state of the device, not about numbers"),
        (_TOLD_ELSEWHERE, "it has no result of its own, but writes what it is given"),
    ):
        if any(word in operator for word in words):
            return why
    return "there are no sample arguments" if simulated else "nothing computes it but the NPU"


def sample_of(operator: str) -> Sample | None:
    """The sample of an operator; None where there is none."""
    made = SAMPLES.get(operator) or SAMPLES.get(operator.removesuffix("_"))
    return made() if made is not None else None
