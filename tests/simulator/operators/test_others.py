"""Operators whose results are lists, indices, whole numbers, or drawn at random; and what is not simulated."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from npuify.knowledge import load  # noqa: E402

from .conftest import RELEASE  # noqa: E402


def npu() -> Any:
    return torch.ops.npu


# The table


def test_every_operator_of_the_release_exists_and_those_without_a_row_say_so(installed: frozenset[str]) -> None:
    operators = load(RELEASE).custom_operators
    assert {name for name in operators if not hasattr(npu(), name)} == set()
    assert "npu_mla_prolog" not in installed
    x = torch.ones(1)
    with pytest.raises(NotImplementedError, match=r"npu_normalize_batch .* is not simulated"):
        npu().npu_normalize_batch(x, x)
    with pytest.raises(NotImplementedError, match=r"npu_normalize_batch .* is not simulated"):
        npu().npu_normalize_batch(x.to("meta"), x.to("meta"))


def test_rows_are_of_operators_that_a_release_has_and_take_its_arguments() -> None:
    from npuify.knowledge import releases
    from npuify.simulator.operators.install import load_table, split_overload

    known: dict[str, list[str]] = {}
    for release in releases():
        if release.has_table:
            for name, schemas in load(release.torch_npu).custom_operators.items():
                for schema in schemas:
                    overload, signature = split_overload(schema)
                    known.setdefault(f"{name}.{overload}" if overload else name, []).append(signature)
    for name, row in load_table().items():
        assert name in known, f"no release has {name}"
        parameters = inspect.signature(row.function).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            continue
        for parameter in parameters:
            names = {parameter.name, *(("input", "self", "x") if parameter.name in ("input", "self", "x") else ())}
            spelled = [
                text
                for text in known[name]
                if any(f" {one}=" in text or f" {one}," in text or f" {one})" in text for one in names)
            ]
            assert spelled or parameter.default is not parameter.empty, f"{name} has no argument {parameter.name}"


def test_every_row_says_where_it_is_from_and_names_its_gradients() -> None:
    from npuify.model import Evidence
    from npuify.simulator.operators.install import load_table

    for name, row in load_table().items():
        assert row.source, name
        Evidence(row.evidence)
        if row.gradients:
            known = inspect.signature(row.function).parameters
            assert set(row.gradients) <= set(known), name


def test_gradients_reach_only_the_inputs_that_the_package_differentiates() -> None:
    x = torch.randn(2, 4, requires_grad=True)
    weight = torch.randn(2, 4, requires_grad=True)
    loss = npu().npu_softmax_cross_entropy_with_logits(x, weight)
    loss.sum().backward()
    assert x.grad is not None and weight.grad is None
    y, rstd = npu().npu_rms_norm(x, torch.ones(4))
    assert y.requires_grad and not rstd.requires_grad


def test_the_first_argument_has_both_its_names() -> None:
    from npuify.simulator.operators.table import Operator

    def of_self(self: object, gamma: object) -> None: ...
    def of_x(x: object) -> None: ...
    def of_input(input: object) -> None: ...

    assert Operator("a", of_self, "", "").own_name("input") == "self"
    assert Operator("a", of_x, "", "").own_name("input") == "x"
    assert Operator("a", of_input, "", "").own_name("self") == "input"
    assert Operator("a", of_self, "", "").named({"input": 1, "gamma": 2}) == {"self": 1, "gamma": 2}


def test_an_unknown_argument_is_named_unless_it_is_left_alone() -> None:
    x = torch.randn(2, 4)
    npu().npu_grouped_matmul([x], [torch.randn(4, 3)])
    with pytest.raises(NotImplementedError, match="npu_grouped_matmul is not simulated with the argument 'offset'"):
        npu().npu_grouped_matmul([x], [torch.randn(4, 3)], offset=[torch.ones(3)])


# Shapes and indices


def test_one_hot_as_documented() -> None:
    found = npu().npu_one_hot(torch.tensor([5, 3, 2, 1], dtype=torch.int32), depth=5)
    wanted = torch.zeros(4, 5)
    wanted[1, 3] = wanted[2, 2] = wanted[3, 1] = 1
    assert torch.equal(found, wanted)
    turned = npu().npu_one_hot(torch.tensor([0, 2]), 0, 3, 5, -1)
    assert torch.equal(turned, torch.tensor([[5.0, -1], [-1, -1], [-1, 5]]))


def test_scatter_as_documented() -> None:
    x = torch.tensor([[1.6279, 0.1226], [0.9041, 1.0980]])
    found = npu().npu_scatter(x, torch.tensor([0, 1], dtype=torch.int32), torch.tensor([-1.1993, -1.5247]), 0)
    assert torch.equal(found, torch.tensor([[-1.1993, 0.1226], [0.9041, -1.5247]]))


def test_scatter_nd_update_and_its_form_in_place() -> None:
    x = torch.zeros(4, 3)
    indices = torch.tensor([[2], [0]])
    rows = torch.arange(6.0).reshape(2, 3)
    found = npu().npu_scatter_nd_update(x, indices, rows)
    assert torch.equal(found[2], rows[0]) and torch.equal(found[0], rows[1]) and not x.any()
    same = npu().npu_scatter_nd_update_(x, indices, rows)
    assert torch.equal(x, found) and same.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="npu_scatter_nd_update: updates have the shape"):
        npu().npu_scatter_nd_update(x, indices, rows[:, :2])


def test_scatter_update_writes_each_batch_at_its_own_place() -> None:
    cache = torch.zeros(2, 1, 5, 2)
    new = torch.ones(2, 1, 2, 2)
    found = npu().scatter_update(cache, torch.tensor([1, 3]), new, -2)
    wanted = torch.zeros(2, 1, 5, 2)
    wanted[0, :, 1:3] = 1
    wanted[1, :, 3:5] = 1
    assert torch.equal(found, wanted)


def test_out_forms_fill_their_target() -> None:
    target = torch.empty(0)
    npu().npu_transpose(torch.arange(6.0).reshape(2, 3), [1, 0], out=target)
    assert torch.equal(target, torch.tensor([[0.0, 3], [1, 4], [2, 5]]))
    with pytest.raises(RuntimeError, match="last dimension"):
        npu().npu_sort_v2(torch.ones(2, 2), 0)


def test_masked_fill_range_as_documented() -> None:
    x = torch.rand(4, 4)
    found = npu().npu_masked_fill_range(
        x, torch.tensor([[0, 1, 2, 0]]).int(), torch.tensor([[1, 2, 3, 0]]).int(), torch.tensor([1.0]), 1
    )
    wanted = x.clone()
    wanted[0, 0] = wanted[1, 1] = wanted[2, 2] = 1
    assert torch.equal(found, wanted)


# Boxes


def test_boxes_encoded_and_decoded_as_documented() -> None:
    anchors = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]])
    truth = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])
    found = npu().npu_bounding_box_encode(anchors, truth, 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2)
    # The example's numbers are an NPU's: 13.3281 for 13.3333.
    torch.testing.assert_close(found[0], torch.tensor([13.3333, 13.3333, 0, 0]), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[1][:3], torch.tensor([13.3333, 6.6667, 0]), rtol=1e-4, atol=1e-4)
    assert math.isnan(found[1][3])
    decoded = npu().npu_bounding_box_decode(
        anchors, torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]]), 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1
    )
    torch.testing.assert_close(decoded, torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]]))


def test_overlaps_as_documented() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]])
    truth = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20]])
    for operator in (npu().npu_iou, npu().npu_ptiou):
        found = operator(boxes, truth, 0)
        torch.testing.assert_close(found, torch.tensor([[0.5, 0, 0], [0, 0, 0], [0, 1, 0]]), rtol=1e-4, atol=1e-4)


def test_yolo_boxes_agree_with_the_numbers_of_the_vendors_test() -> None:
    # From test_yolo_boxes_encode.py of the operators' repository: the same seed, the same numbers.
    torch.manual_seed(1234)
    anchors, truth = torch.rand(2, 4), torch.rand(2, 4)
    found = npu().npu_yolo_boxes_encode(anchors, truth, torch.tensor([2, 2], dtype=torch.int32))
    centre = lambda b: torch.stack([(b[:, 0] + b[:, 2]) / 2, (b[:, 1] + b[:, 3]) / 2], 1)  # noqa: E731
    torch.testing.assert_close(found[:, :2], (centre(truth) - centre(anchors)) / 2 + 0.5)
    assert found.min() >= math.log(1e-6) - 1e-4


def test_suppression_keeps_the_best_of_overlapping_boxes() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9]])
    scores = torch.tensor([0.5, 0.9, 0.8, 0.1])
    kept, count = npu().npu_nms_v4(boxes, scores, 4, torch.tensor(0.5), torch.tensor(0.2), True)
    assert kept.tolist() == [1, 2, 0, 0] and int(count) == 2 and kept.dtype is torch.int32
    rows = torch.cat([boxes, scores.unsqueeze(1), torch.zeros(4, 3)], 1)
    selected, index, mask = npu().npu_nms_with_mask(rows, 0.5)
    assert mask.tolist() == [1, 0, 1, 0] and index.tolist() == [0, 1, 2, 3] and selected.shape == (4, 5)
    found = npu().npu_batch_nms(boxes.view(1, 4, 1, 4), scores.view(1, 4, 1), 0.2, 0.5, 4, 3)
    assert found[3].tolist() == [2]
    torch.testing.assert_close(found[0][0, :2], boxes[[1, 2]])


def test_region_pooling_as_documented() -> None:
    x = torch.arange(1.0, 37).reshape(1, 1, 6, 6)
    rois = torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]])
    found = npu().npu_roi_align(x, rois, 0.25, 3, 3, 2, 0)
    wanted = torch.tensor([[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]])
    torch.testing.assert_close(found[0, 0], wanted)
    back = npu().npu_roi_alignbk(torch.ones_like(found), rois, [1, 1, 6, 6], 3, 3, 0.25, 2, 0)
    # Each of the nine cells gives its gradient away whole.
    torch.testing.assert_close(back.sum(), torch.tensor(9.0))


def test_position_sensitive_pooling_of_constant_maps() -> None:
    channels = torch.arange(8.0).reshape(1, 8, 1, 1).expand(1, 8, 6, 6).clone().requires_grad_()
    rois = torch.tensor([[[0.0], [0], [0], [5], [5]]])
    found = npu().npu_ps_roi_pooling(channels, rois, 1.0, 2, 2)
    assert torch.equal(found[0], torch.arange(8.0).reshape(2, 2, 2))
    found.sum().backward()
    torch.testing.assert_close(channels.grad.sum(), torch.tensor(8.0))


def test_deformable_convolution_without_offsets_is_convolution() -> None:
    x = torch.randn(2, 4, 6, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(5, 4, 3, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    offset = torch.zeros(2, 27, 6, 6, dtype=torch.float64)
    offset[:, 18:] = 1
    found, _ = npu().npu_deformable_conv2d(x, weight, offset, bias, [3, 3], [1, 1, 1, 1], [1, 1, 1, 1])
    wanted = torch.nn.functional.conv2d(x, weight, bias, padding=1)
    torch.testing.assert_close(found, wanted)
    direction = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad(found, (x, weight, bias), direction),
        torch.autograd.grad(wanted, (x, weight, bias), direction),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    # A whole pixel to the right, everywhere: the input moved.
    offset[:, :9] = 1
    moved, _ = npu().npu_deformable_conv2d(x, weight, offset, bias, [3, 3], [1, 1, 1, 1], [1, 1, 1, 1])
    shifted = torch.nn.functional.conv2d(torch.nn.functional.pad(x[..., 1:], [0, 1]), weight, bias, padding=1)
    torch.testing.assert_close(moved[..., 1:-1], shifted[..., 1:-1])


# Experts


def test_gating_as_documented() -> None:
    x = torch.randn(5, 8, dtype=torch.float64)
    values, experts, rows = npu().npu_moe_gating_top_k_softmax(x, None, 3)
    wanted = torch.softmax(x, -1).topk(3, -1)
    torch.testing.assert_close(values, wanted.values)
    assert torch.equal(experts.long(), wanted.indices) and experts.dtype is torch.int32
    assert rows[:, 0].tolist() == [0, 1, 2, 3, 4] and rows[0].tolist() == [0, 5, 10]
    finished = torch.tensor([True, False, False, False, False])
    assert npu().npu_moe_gating_top_k_softmax(x, finished, 3)[1][0].tolist() == [8, 8, 8]


def test_grouped_gating_chooses_groups_first() -> None:
    x = torch.tensor([[0.9, 0.8, -5.0, -5.0, 0.85, -5.0, 2.0, -9.0]], dtype=torch.float64, requires_grad=True)
    y, experts, _ = npu().npu_moe_gating_top_k(x, 3, k_group=1, group_count=4, group_select_mode=1, norm_type=1)
    # Sums of the two best of each group of two: only the first group is chosen.
    assert experts[0, :2].tolist() == [0, 1]
    torch.testing.assert_close(y.sum(), torch.tensor(1.0, dtype=torch.float64))
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad is not None and x.grad[0, 0] != 0


def test_routing_there_and_back_is_the_sum_over_experts() -> None:
    rows, k, experts = 6, 2, 4
    x = torch.randn(rows, 5)
    weights, chosen, row_index = npu().npu_moe_gating_top_k_softmax(torch.randn(rows, experts), None, k)
    spread, places, sorted_experts = npu().npu_moe_init_routing(x, row_index, chosen, rows)
    assert sorted_experts.tolist() == sorted(chosen.flatten().tolist())
    ends = npu().npu_moe_compute_expert_tokens(sorted_experts, experts)
    assert ends.tolist() == [(sorted_experts <= e).sum().item() for e in range(experts)]
    # Each expert multiplies by its number plus one.
    worked = spread * (sorted_experts + 1).unsqueeze(1)
    back = npu().npu_moe_finalize_routing(worked, None, None, None, weights, places, chosen)
    torch.testing.assert_close(back, x * (weights * (chosen + 1)).sum(1, keepdim=True))


def test_permute_as_documented_and_its_gradients() -> None:
    tokens = torch.tensor([[1.0, 1, 1], [2, 2, 2], [3, 3, 3], [0, 0, 0]], dtype=torch.float64, requires_grad=True)
    indices = torch.tensor([[0, 4], [4, 3], [4, 2], [1, 1]])
    permuted, places = npu().npu_moe_token_permute(tokens, indices, 8)
    assert places.tolist() == [0, 5, 6, 4, 7, 3, 1, 2]
    assert permuted[:, 0].tolist() == [1, 0, 0, 3, 2, 1, 2, 3]
    probs = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    restored = npu().npu_moe_token_unpermute(permuted, places, probs)
    torch.testing.assert_close(restored, tokens * probs.sum(1, keepdim=True))
    direction = torch.randn_like(restored)
    ours = torch.autograd.grad(restored, (tokens, probs), direction)
    theirs = torch.autograd.grad(tokens * probs.sum(1, keepdim=True), (tokens, probs), direction)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    of_tokens, of_probs = npu().npu_moe_token_unpermute_grad(permuted.detach(), direction, places, probs.detach())
    torch.testing.assert_close(of_probs, theirs[1])
    torch.testing.assert_close(npu().npu_moe_token_permute_grad(tokens.detach(), of_tokens, indices, places), theirs[0])


@pytest.mark.parametrize("padded", [False, True])
def test_permute_by_a_map(padded: bool) -> None:
    tokens = torch.randn(3, 4, requires_grad=True)
    chosen = torch.tensor([[True, False], [True, True], [True, True]]) if padded else torch.ones(3, 2, dtype=torch.bool)
    probs = torch.rand(3, 2, requires_grad=True)
    wanted_rows = [0, 1] if padded else [0, 1, 2, 0, 1, 2]
    out, own, places = npu().npu_moe_token_permute_with_routing_map(
        tokens, chosen, probs=probs, num_out_tokens=4 if padded else 6, drop_and_pad=padded
    )
    rows = [*wanted_rows, 1, 2] if padded else wanted_rows
    torch.testing.assert_close(out, tokens[rows])
    torch.testing.assert_close(own, torch.stack([probs[r, 0 if p < len(rows) // 2 else 1] for p, r in enumerate(rows)]))
    assert places.dtype is torch.int32
    (out.sum() + own.sum()).backward()
    assert tokens.grad is not None and probs.grad is not None


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_grouped_products(kind: int) -> None:
    x, weight, bias = torch.randn(7, 4), torch.randn(3, 4, 5), torch.randn(3, 5)
    sizes = [2, 4, 1]
    lists = {0: [2, 6, 7], 1: sizes, 2: [[0, 2], [1, 4], [2, 1]]}
    found = npu().npu_grouped_matmul(
        [x],
        [weight],
        bias=[bias],
        group_list=torch.tensor(lists[kind]),
        split_item=3,
        group_type=0,
        group_list_type=kind,
    )
    wanted = torch.cat([part @ weight[e] + bias[e] for e, part in enumerate(x.split(sizes))])
    torch.testing.assert_close(found[0], wanted)


def test_grouped_products_of_lists_and_by_columns() -> None:
    xs, ws = [torch.randn(2, 4), torch.randn(3, 6)], [torch.randn(4, 5), torch.randn(6, 2)]
    for one, other in zip(npu().npu_grouped_matmul(xs, ws), [xs[0] @ ws[0], xs[1] @ ws[1]], strict=True):
        torch.testing.assert_close(one, other)
    x, weight = torch.randn(3, 6), torch.randn(6, 5)
    found = npu().npu_grouped_matmul.List([x], [weight], group_list=[2, 6], split_item=3, group_type=2)
    torch.testing.assert_close(found[0], torch.stack([x[:, :2] @ weight[:2], x[:, 2:] @ weight[2:]]))
    total = torch.ones(2, 3, 5)
    added = npu().npu_grouped_matmul_add(total, x.t().contiguous(), weight, torch.tensor([2, 6]))
    torch.testing.assert_close(added, 1 + found[0])


# Whole numbers


def test_quantised_and_back() -> None:
    x = torch.tensor([[0.26, -0.5, 300.0], [0.0, 1.0, -300.0]])
    scale, zero = torch.tensor([0.1, 0.5, 1.0]), torch.tensor([1, 0, 0], dtype=torch.int32)
    found = npu().npu_quantize(x, scale, zero, 12, 1, True)
    assert found.dtype is torch.int8 and found.tolist() == [[4, -1, 127], [1, 2, -128]]
    back = npu().npu_anti_quant(found, scale, offset=-zero.float(), dst_dtype=6)
    torch.testing.assert_close(back[:, :2], torch.tensor([[0.3, -0.5], [0.0, 1.0]]))
    packed = npu().npu_quantize(torch.arange(-8.0, 8).reshape(2, 8), torch.ones(8), None, 16, -1, False)
    # As the imported torch_npu 2.13.0 has it: int32 for all that is no quantised type.
    assert npu().npu_quantize(x, scale, zero, torch.int8, 1, True).dtype is torch.int32
    assert packed.dtype is torch.int32 and packed.shape == (2, 1)
    assert npu().npu_anti_quant(packed, torch.ones(1)).flatten().tolist() == list(range(-8, 8))


def test_dynamic_quantisation_reaches_the_largest_number_of_each_row() -> None:
    x = torch.randn(4, 16)
    y, scale = npu().npu_dynamic_quant(x)
    assert y.abs().max(1).values.tolist() == [127] * 4 and scale.dtype is torch.float32
    torch.testing.assert_close(y * scale.unsqueeze(1), x, rtol=0, atol=float(scale.max()) / 2 + 1e-6)
    y, scale, offset = npu().npu_dynamic_quant_asymmetric(x)
    torch.testing.assert_close((y - offset.unsqueeze(1)) * scale.unsqueeze(1), x, rtol=0, atol=float(scale.max()))
    smooth = torch.rand(16) + 0.5
    assert torch.equal(npu().npu_dynamic_quant(x, smooth_scales=smooth)[0], npu().npu_dynamic_quant(x * smooth)[0])


@pytest.mark.parametrize("through_param", [False, True])
def test_quantised_product(through_param: bool) -> None:
    a = torch.randint(-128, 127, (3, 64), dtype=torch.int8)
    b = torch.randint(-128, 127, (64, 5), dtype=torch.int8)
    scale = torch.tensor([0.5, 0.25, 1.0, 2.0, 0.125])
    bias = torch.randint(-9, 9, (5,), dtype=torch.int32)
    whole = (a.long() @ b.long()) + bias
    given = npu().npu_trans_quant_param(scale) if through_param else scale
    found = npu().npu_quant_matmul(a, b, given, bias=bias, output_dtype=5)
    torch.testing.assert_close(found, (whole * scale).half())
    assert torch.equal(npu().npu_quant_matmul(a, b, given, bias=bias, output_dtype=3).long(), whole)
    tokens = torch.rand(3)
    per_token = npu().npu_quant_matmul(a, b, scale, pertoken_scale=tokens, output_dtype=15)
    torch.testing.assert_close(per_token, ((whole - bias) * scale * tokens.unsqueeze(1)).bfloat16())


def test_param_of_a_scale_is_packed_as_documented() -> None:
    packed = npu().npu_trans_quant_param(torch.tensor([1.5]), torch.tensor([-3.0]))
    bits = int(packed[0])
    assert bits & 0xFFFFFFFF == 0x3FC00000 and (bits >> 46) & 1 == 1
    assert (bits >> 37) & 0x1FF == (-3) & 0x1FF


@pytest.mark.parametrize("group", [0, 32])
def test_product_with_quantised_weights(group: int) -> None:
    x = torch.randn(3, 64, dtype=torch.float32)
    weight = torch.randint(-8, 8, (64, 5), dtype=torch.int8)
    scale = torch.rand(2 if group else 1, 5)
    offset = torch.rand(2 if group else 1, 5)
    wide = scale.repeat_interleave(32, 0) if group else scale
    shift = offset.repeat_interleave(32, 0) if group else offset
    found = npu().npu_weight_quant_batchmatmul(x, weight, scale, offset, antiquant_group_size=group)
    torch.testing.assert_close(found, x @ ((weight + shift) * wide), rtol=1e-4, atol=1e-3)


# Sequences


def test_the_gated_delta_rule_is_its_formula() -> None:
    generator = torch.Generator().manual_seed(4)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    lengths = torch.tensor([2, 3], dtype=torch.int32)
    q, k, v = draw(5, 1, 3), draw(5, 1, 3), draw(5, 2, 4)
    beta, g, start = torch.sigmoid(draw(5, 2)), -draw(5, 2).abs(), draw(2, 2, 4, 3)
    out, final = npu().npu_chunk_gated_delta_rule(
        q, k, v, beta=beta, initial_state=start, actual_seq_lengths=lengths, scale=0.5, g=g
    )
    state = start.clone()
    wanted = torch.zeros(5, 2, 4, dtype=torch.float64)
    for t in range(5):
        b = 0 if t < 2 else 1
        for n in range(2):
            a = math.exp(float(g[t, n]))
            s = state[b, n]
            outer = torch.outer(k[t, 0], k[t, 0])
            s = s @ (a * (torch.eye(3, dtype=torch.float64) - beta[t, n] * outer))
            s = s + beta[t, n] * torch.outer(v[t, n], k[t, 0])
            state[b, n] = s
            wanted[t, n] = s @ (q[t, 0] * 0.5)
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(final, state)
    kept = start.clone()
    again = npu().npu_recurrent_gated_delta_rule(
        q, k, v, kept, beta=beta, scale=0.5, actual_seq_lengths=lengths, g=g,
        ssm_state_indices=torch.tensor([0, 0, 1, 1, 1], dtype=torch.int32),
    )  # fmt: skip
    torch.testing.assert_close(again, wanted)
    torch.testing.assert_close(kept, state)


def test_what_sampling_leaves() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0, 0.0], [0.0, 0.1, 5.0, 0.2]])
    found = npu().npu_top_k_top_p(logits, torch.tensor([1.0, 0.5]), torch.tensor([2, 4], dtype=torch.int32))
    kept = found > float("-inf")
    assert kept.tolist() == [[False, True, True, False], [False, False, True, False]]
    assert torch.equal(found[kept], logits[kept])


# Chance


def test_dropout_scales_what_it_keeps_and_backward_knows_what_that_was() -> None:
    x = torch.ones(50, 40, requires_grad=True)
    y, mask = npu()._npu_dropout(x, 0.3)
    torch.testing.assert_close(y.unique(), torch.tensor([0.0, 1 / 0.7]))
    assert 0.6 < (y > 0).float().mean() < 0.8
    assert mask.dtype is torch.uint8 and mask.numel() == 2048 // 8
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
    again, _ = npu().npu_dropout_do_mask(torch.ones(50, 40), mask, 0.3)
    torch.testing.assert_close(again, y.detach())


def test_softmax_with_dropout() -> None:
    a = torch.randn(2, 2, 8, 8, requires_grad=True)
    b = torch.randn(2, 2, 8, 8, requires_grad=True)
    mask, softmax, out = npu().npu_dropout_with_add_softmax(a, b, 0.5, 0.25, -1)
    torch.testing.assert_close(softmax, torch.softmax(a * 0.5 + b, -1).detach())
    wanted = torch.softmax(a * 0.5 + b, -1) * mask / 0.75
    torch.testing.assert_close(out, wanted)
    direction = torch.randn_like(out)
    for one, other in zip(
        torch.autograd.grad(out, (a, b), direction), torch.autograd.grad(wanted, (a, b), direction), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_sign_bits_as_documented() -> None:
    x = torch.tensor([5.0, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2])
    packed = npu().npu_sign_bits_pack(x, 2)
    assert packed.tolist() == [[159], [15]]
    opened = npu().npu_sign_bits_unpack(packed.flatten(), 2, torch.float32)
    assert opened[0].tolist() == [1, 1, 1, 1, 1, -1, -1, 1]


# Attention with projections


def test_multi_head_attention_is_torchs() -> None:
    batch, length, heads, width = 2, 16, 16, 16
    size = heads * width
    module = torch.nn.MultiheadAttention(size, heads, batch_first=True, dtype=torch.float64)
    x = torch.randn(batch, length, size, dtype=torch.float64)
    weights = module.in_proj_weight.detach().chunk(3)
    biases = torch.randn(3, size, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_bias.copy_(biases.flatten())
    flat = x.reshape(-1, size).requires_grad_()
    wide = torch.zeros(batch, heads, length, length, dtype=torch.float64)
    found = npu().npu_multi_head_attention(
        flat, flat, flat, *weights, wide, module.out_proj.weight.detach(), *biases, module.out_proj.bias.detach(), None,
        heads, width, length, length, 0.0, True,
    )  # fmt: skip
    wanted, _ = module(x, x, x)
    torch.testing.assert_close(found[0].reshape(batch, length, size), wanted)
    found[0].square().sum().backward()
    y = x.clone().requires_grad_()
    module(y, y, y)[0].square().sum().backward()
    torch.testing.assert_close(flat.grad.reshape(batch, length, size), y.grad)


# Adam


def targets(operator: Any, *tensors: torch.Tensor) -> dict[str, Any]:
    """Where results go, as the schema of the shipped table has it."""
    names = [argument.name for argument in operator.out._schema.arguments]
    return {"out": list(tensors)} if names[-1] == "out" else dict(zip(names[-3:], tensors, strict=True))


@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_w_steps_are_torchs(amsgrad: bool) -> None:
    start = torch.randn(6, dtype=torch.float64)
    parameter = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([parameter], lr=0.1, weight_decay=0.2, amsgrad=amsgrad)
    var, m, v, largest = start.clone(), torch.zeros(6).double(), torch.zeros(6).double(), torch.zeros(6).double()
    for step in range(3):
        gradient = torch.randn(6, dtype=torch.float64)
        parameter.grad = gradient.clone()
        optimizer.step()
        npu().npu_apply_adam_w(
            0.9**step,
            0.999**step,
            0.1,
            0.2,
            0.9,
            0.999,
            1e-8,
            gradient,
            largest,
            amsgrad,
            False,
            **targets(npu().npu_apply_adam_w, var, m, v),
        )
        torch.testing.assert_close(var, parameter.detach())


def test_adam_steps_are_torchs_but_for_where_epsilon_stands() -> None:
    start = torch.randn(6, dtype=torch.float64)
    parameter = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([parameter], lr=0.1, eps=1e-12)
    var, m, v = start.clone(), torch.zeros(6).double(), torch.zeros(6).double()
    for step in range(1, 4):
        gradient = torch.randn(6, dtype=torch.float64)
        parameter.grad = gradient.clone()
        optimizer.step()
        npu().npu_apply_adam(
            0.9**step,
            0.999**step,
            0.1,
            0.9,
            0.999,
            1e-12,
            gradient,
            False,
            False,
            **targets(npu().npu_apply_adam, var, m, v),
        )
        torch.testing.assert_close(var, parameter.detach())
    with pytest.raises(RuntimeError, match="out="):
        npu().npu_apply_adam(0.9, 0.999, 0.1, 0.9, 0.999, 1e-12, gradient, False, False)


def test_operators_with_types_that_torch_lacks_are_left_out() -> None:
    from npuify.simulator.operators.install import _can_define

    library = torch.library.Library("npuify_schemas", "DEF")
    assert _can_define(library, "plain(Tensor x) -> Tensor")
    assert not _can_define(library, "strange(UnheardOf[]? names) -> Tensor")
    with pytest.raises(RuntimeError):
        _can_define(library, "broken(Tensor x")
    assert hasattr(torch.ops.npuify_schemas, "plain") and not hasattr(torch.ops.npuify_schemas, "strange")
