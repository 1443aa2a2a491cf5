"""Fused attention against attention written query by query from the documentation's definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

if TYPE_CHECKING:
    from collections.abc import Callable

B, N, KEYS, D = 2, 4, 2, 8
SCALE = 0.31
FAR = 2147483647
TRIANGLE = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), diagonal=1)
PREFIX_MASK = torch.cat([TRIANGLE, torch.cat([torch.zeros(1024, 1024), torch.ones(1024, 1024)], dim=1).bool()], dim=0)


def npu() -> Any:
    return torch.ops.npu


def one_by_one(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    allowed: Callable[[int, int, int, int], bool],
    pse: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attention of (B, N, S, D) tensors, each query with each key that ``allowed(b, n, i, j)``; maxima and sums."""
    batch, heads, rows, _ = q.shape
    group = heads // k.shape[1]
    results, maxima, sums = [], [], []
    for b in range(batch):
        for n in range(heads):
            for i in range(rows):
                columns = [j for j in range(k.shape[2]) if allowed(b, n, i, j)]
                if not columns:
                    results.append(torch.zeros(v.shape[-1], dtype=q.dtype))
                    maxima.append(torch.tensor(float("-inf")))
                    sums.append(torch.tensor(0.0))
                    continue
                scores = torch.stack([(q[b, n, i] * k[b, n // group, j]).sum() for j in columns])
                if pse is not None:
                    own = pse[b % pse.shape[0], n]
                    scores = scores + torch.stack([own[i % own.shape[0], j] for j in columns])
                scores = scores * SCALE
                chosen = torch.stack([v[b, n // group, j] for j in columns])
                everything = scores if sink is None else torch.cat([scores, sink[n : n + 1].to(scores)])
                weights = torch.softmax(everything, 0)[: len(columns)]
                results.append((weights.unsqueeze(1) * chosen).sum(0))
                maxima.append(everything.max())
                sums.append((everything - everything.max()).exp().sum())
    shape = (batch, heads, rows)
    return (
        torch.stack(results).reshape(*shape, -1),
        torch.stack([m.detach().float() for m in maxima]).reshape(shape),
        torch.stack([s.detach().float() for s in sums]).reshape(shape),
    )


def tensors(rows: int, columns: int, dtype: Any = torch.float64) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(11)

    def draw(heads: int, length: int, width: int) -> torch.Tensor:
        return torch.randn(B, heads, length, width, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    return draw(N, rows, D), draw(KEYS, columns, D), draw(KEYS, columns, D - 2)


def from_bnsd(x: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    flat = x.transpose(1, 2).flatten(2)
    return flat if layout == "BSH" else flat.transpose(0, 1)


MODES: dict[str, tuple[dict[str, Any], Callable[[int, int, int, int, int, int], bool]]] = {
    "no mask": ({}, lambda b, i, j, rows, columns, n: True),
    "0 with a band": (
        {"pre_tockens": 2, "next_tockens": 1},
        lambda b, i, j, rows, columns, n: i - 2 <= j <= i + 1,
    ),
    "1": ({"sparse_mode": 1}, lambda b, i, j, rows, columns, n: (i + j + b) % 3 != 0),
    "2": ({"sparse_mode": 2, "atten_mask": TRIANGLE}, lambda b, i, j, rows, columns, n: j <= i),
    "3": ({"sparse_mode": 3, "atten_mask": TRIANGLE}, lambda b, i, j, rows, columns, n: j <= i + columns - rows),
    "4": (
        {"sparse_mode": 4, "atten_mask": TRIANGLE, "pre_tockens": 2, "next_tockens": 1},
        lambda b, i, j, rows, columns, n: i + columns - rows - 2 <= j <= i + columns - rows + 1,
    ),
    "5": (
        {"sparse_mode": 5, "prefix": [2, 3]},
        lambda b, i, j, rows, columns, n: j <= i + columns - rows or j < (2, 3)[b],
    ),
    "6": (
        {"sparse_mode": 6, "prefix": [2, 3], "atten_mask": PREFIX_MASK},
        lambda b, i, j, rows, columns, n: j <= i + columns - rows or j < (2, 3)[b],
    ),
    "2, but without a mask": ({"sparse_mode": 2}, lambda b, i, j, rows, columns, n: True),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(5, 5), (4, 7), (6, 4)], ids=str)
def test_modes(mode: str, sizes: tuple[int, int]) -> None:
    rows, columns = sizes
    arguments, rule = MODES[mode]
    arguments = dict(arguments)

    def allowed(b: int, n: int, i: int, j: int) -> bool:
        return rule(b, i, j, rows, columns, n)

    if mode in ("0 with a band", "1", "5"):
        arguments["atten_mask"] = torch.tensor(
            [[[[not allowed(b, 0, i, j) for j in range(columns)] for i in range(rows)]] for b in range(B)]
        )
    q, k, v = tensors(rows, columns)
    out, maximum, total, *rest = npu().npu_fusion_attention(q, k, v, N, "BNSD", scale=SCALE, **arguments)
    wanted, maxima, sums = one_by_one(q, k, v, allowed)
    torch.testing.assert_close(out, wanted)
    assert maximum.shape == total.shape == (B, N, rows, 8) and maximum.dtype is torch.float32
    torch.testing.assert_close(maximum[..., 0], maxima)
    torch.testing.assert_close(total[..., 7], sums)
    assert [type(value) for value in rest[1:]] == [int, int, int]
    direction = torch.randn_like(out)
    ours = torch.autograd.grad(out, (q, k, v), direction)
    theirs = torch.autograd.grad(wanted, (q, k, v), direction)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_layouts(layout: str) -> None:
    q, k, v = tensors(4, 6)
    if layout in ("BSH", "SBH"):
        # These layouts do not say how many heads the values have: they must be as wide as the keys.
        v = torch.nn.functional.pad(v, [0, 2])
    out = npu().npu_fusion_attention(
        *(from_bnsd(x, layout) for x in (q, k, v)), N, layout, scale=SCALE, atten_mask=TRIANGLE, sparse_mode=3
    )[0]
    wanted = one_by_one(q, k, v, lambda b, n, i, j: j <= i + 2)[0]
    torch.testing.assert_close(out, from_bnsd(wanted, layout))


PACKED = [
    ("0", {}, lambda s, i, j, rows, columns: True),
    ("1", {"sparse_mode": 1, "atten_mask": "square"}, lambda s, i, j, rows, columns: (i * j) % 3 != 1),
    ("2", {"sparse_mode": 2, "atten_mask": TRIANGLE}, lambda s, i, j, rows, columns: j <= i),
    ("3", {"sparse_mode": 3, "atten_mask": TRIANGLE}, lambda s, i, j, rows, columns: j <= i + columns - rows),
    (
        "4",
        {"sparse_mode": 4, "atten_mask": TRIANGLE, "pre_tockens": 1, "next_tockens": 0},
        lambda s, i, j, rows, columns: i + columns - rows - 1 <= j <= i + columns - rows,
    ),
    (
        "7",
        {"sparse_mode": 7, "atten_mask": TRIANGLE, "pre_tockens": 9, "next_tockens": -1},
        lambda s, i, j, rows, columns: j <= i + columns - rows - (1 if s == 2 else 0),
    ),
    (
        "8",
        {"sparse_mode": 8, "atten_mask": TRIANGLE, "pre_tockens": 9, "next_tockens": 1},
        lambda s, i, j, rows, columns: j <= i + columns - rows + 1 if s == 0 else j <= i,
    ),
]


@pytest.mark.parametrize(("mode", "arguments", "rule"), PACKED, ids=[case[0] for case in PACKED])
@pytest.mark.parametrize("softmax_layout", ["", "TND"])
def test_packed_sequences(mode: str, arguments: dict[str, Any], rule: Any, softmax_layout: str) -> None:
    lengths, others = (2, 3, 4), (3, 3, 6)
    arguments = dict(arguments)
    if isinstance(arguments.get("atten_mask"), str):
        arguments["atten_mask"] = torch.tensor([[(i * j) % 3 == 1 for j in range(6)] for i in range(4)])
    ends, other_ends = (2, 5, 9), (3, 6, 12)
    generator = torch.Generator().manual_seed(5)
    q = torch.randn(9, N, D, generator=generator, dtype=torch.float64, requires_grad=True)
    k = torch.randn(12, KEYS, D, generator=generator, dtype=torch.float64, requires_grad=True)
    v = torch.randn(12, KEYS, D, generator=generator, dtype=torch.float64, requires_grad=True)
    out, maximum, total, *_ = npu().npu_fusion_attention(
        q, k, v, N, "TND", scale=SCALE, actual_seq_qlen=ends, actual_seq_kvlen=other_ends,
        softmax_layout=softmax_layout, **arguments,
    )  # fmt: skip
    parts, maxima = [], []
    for s, (end, stop) in enumerate(zip(ends, other_ends, strict=True)):
        rows, columns = lengths[s], others[s]
        part, top, _ = one_by_one(
            q[end - rows : end].transpose(0, 1).unsqueeze(0),
            k[stop - columns : stop].transpose(0, 1).unsqueeze(0),
            v[stop - columns : stop].transpose(0, 1).unsqueeze(0),
            lambda b, n, i, j, s=s, rows=rows, columns=columns: rule(s, i, j, rows, columns),
        )
        parts.append(part[0].transpose(0, 1))
        maxima.append(top[0].transpose(0, 1) if softmax_layout else top[0].reshape(-1, N))
    wanted = torch.cat(parts)
    torch.testing.assert_close(out, wanted)
    assert maximum.shape == total.shape == (9, N, 8)
    torch.testing.assert_close(maximum[..., 0], torch.cat(maxima))
    direction = torch.randn_like(out)
    for one, other in zip(
        torch.autograd.grad(out, (q, k, v), direction), torch.autograd.grad(wanted, (q, k, v), direction), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_an_empty_sequence_and_tokens_behind_the_last_give_nothing_and_zeros() -> None:
    q = torch.randn(6, N, D, dtype=torch.float64)
    k = torch.randn(6, KEYS, D, dtype=torch.float64)
    out = npu().npu_fusion_attention(
        q, k, k, N, "TND", scale=SCALE, actual_seq_qlen=[2, 2, 5, 0], actual_seq_kvlen=[2, 2, 5, 0]
    )[0]
    assert out.shape == (6, N, D)
    assert not out[5].any()
    alone = npu().npu_fusion_attention(
        q[2:5], k[2:5], k[2:5], N, "TND", scale=SCALE, actual_seq_qlen=[3], actual_seq_kvlen=[3]
    )[0]
    torch.testing.assert_close(out[2:5], alone)


def test_positions_are_added_before_scaling_and_get_a_gradient() -> None:
    q, k, v = tensors(4, 5)
    pse = torch.randn(1, N, 4, 5, dtype=torch.float64, requires_grad=True)
    out = npu().npu_fusion_attention(q, k, v, N, "BNSD", pse=pse, scale=SCALE)[0]
    wanted = one_by_one(q, k, v, lambda b, n, i, j: True, pse)[0]
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), pse)[0], torch.autograd.grad(wanted.square().sum(), pse)[0]
    )


def test_a_sink_takes_its_share() -> None:
    q, k, v = tensors(4, 5)
    sink = torch.linspace(-1, 1, N, requires_grad=True)
    out = npu().npu_fusion_attention(q, k, v, N, "BNSD", scale=SCALE, sink=sink)[0]
    wanted = one_by_one(q, k, v, lambda b, n, i, j: True, sink=sink)[0]
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), sink)[0], torch.autograd.grad(wanted.square().sum(), sink)[0]
    )


def test_alibi_in_its_compressed_form() -> None:
    rows = 1030
    slope = torch.tensor([0.01, 0.02])
    distance = (torch.arange(rows).unsqueeze(0) - torch.arange(rows).unsqueeze(1)).float()
    full = (slope.view(-1, 1, 1) * distance).unsqueeze(0)
    q, k = torch.randn(1, 2, rows, 4), torch.randn(1, 2, rows, 4)
    arguments = {"scale": 0.5, "atten_mask": TRIANGLE, "sparse_mode": 2}
    wanted = npu().npu_fusion_attention(q, k, k, 2, "BNSD", pse=full, **arguments)[0]
    found = npu().npu_fusion_attention(q, k, k, 2, "BNSD", pse=full[:, :, -1024:], **arguments)[0]
    torch.testing.assert_close(found, wanted)


def test_dropout_keeps_the_share_it_should_and_backward_has_the_same_mask() -> None:
    q = torch.zeros(1, 1, 64, 4, dtype=torch.float64)
    v = torch.eye(64, dtype=torch.float64).reshape(1, 1, 64, 64)[..., :4].clone().requires_grad_()
    out, *_, seed, _, numels = npu().npu_fusion_attention(q, q, v, 1, "BNSD", keep_prob=0.75)
    assert numels == 1 and isinstance(seed, int)
    # With equal scores each weight is 1/64, or 0, or 1/64/0.75: the output shows which were kept.
    kept = (out.detach() * 64 * 0.75).round()
    assert set(kept.unique().tolist()) == {0.0, 1.0}
    assert 0.6 < kept.mean() < 0.9
    gradient = torch.autograd.grad(out[..., 0].sum(), v)[0]
    torch.testing.assert_close(gradient[0, 0, 0, 0], kept[..., 0].sum() / 64 / 0.75)


def test_without_dropout_the_results_do_not_depend_on_seeds() -> None:
    q, k, v = tensors(3, 3)
    first = npu().npu_fusion_attention(q, k, v, N, "BNSD")[0]
    torch.manual_seed(1)
    assert torch.equal(first, npu().npu_fusion_attention(q, k, v, N, "BNSD")[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_layout": "NBSD"}, "input_layout is one of"),
        ({"head_num": 3}, "heads"),
        ({"keep_prob": 0.0}, "keep_prob"),
        ({"sparse_mode": 9}, "sparse_mode"),
        ({"sparse_mode": 7}, "TND only"),
        ({"sparse_mode": 3, "atten_mask": torch.ones(5, 5, dtype=torch.bool)}, "compressed mask"),
        ({"atten_mask": torch.zeros(5, 5)}, "bool or uint8"),
        ({"atten_mask": torch.zeros(4, 5, dtype=torch.bool)}, "does not fit"),
        ({"padding_mask": torch.zeros(5, 5)}, "padding_mask"),
    ],
    ids=str,
)
def test_wrong_arguments_raise(arguments: dict[str, Any], message: str) -> None:
    q, k, v = tensors(5, 5)
    given = {"head_num": N, "input_layout": "BNSD", **arguments}
    with pytest.raises(RuntimeError, match=message):
        npu().npu_fusion_attention(q, k, v, **given)


def test_different_types_are_refused() -> None:
    q, k, v = tensors(3, 3, torch.float32)
    with pytest.raises(RuntimeError, match="different types"):
        npu().npu_fusion_attention(q.half(), k, v, N, "BNSD")


def test_the_second_version_adds_positions_after_scaling_when_asked() -> None:
    q, k, v = tensors(3, 3)
    pse = torch.randn(1, N, 3, 3, dtype=torch.float64)
    before = npu().npu_fusion_attention_v2(q, k, v, N, "BNSD", pse=pse / SCALE, scale=SCALE, pse_type=1)[0]
    after = npu().npu_fusion_attention_v2(q, k, v, N, "BNSD", pse=pse, scale=SCALE, pse_type=0)[0]
    torch.testing.assert_close(before, after)
    torch.autograd.grad(after.sum(), (q, k, v))
    with pytest.raises(NotImplementedError, match="pse_type 2"):
        npu().npu_fusion_attention_v2(q, k, v, N, "BNSD", pse=pse, pse_type=2)


def test_half_precision_keeps_its_type_and_float32_statistics() -> None:
    q, k, v = tensors(4, 4, torch.bfloat16)
    out, maximum, *_ = npu().npu_fusion_attention(q, k, v, N, "BNSD", scale=SCALE)
    assert out.dtype is torch.bfloat16 and maximum.dtype is torch.float32
    wanted = one_by_one(*(x.detach().double() for x in (q, k, v)), lambda b, n, i, j: True)[0]
    torch.testing.assert_close(out.double(), wanted, rtol=2e-2, atol=2e-2)
    out.sum().backward()
    assert q.grad is not None and q.grad.dtype is torch.bfloat16


# Attention for inference.


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
def test_prompt_attention(layout: str) -> None:
    q, k, v = (x.detach() for x in tensors(4, 6))
    if layout == "BSH":
        v = torch.nn.functional.pad(v, [0, 2])
    inputs, _, outputs = layout.partition("_")
    out = npu().npu_prompt_flash_attention(
        *(from_bnsd(x, inputs) for x in (q, k, v)), num_heads=N, num_key_value_heads=KEYS, scale_value=SCALE,
        input_layout=layout, actual_seq_lengths_kv=[6, 4],
    )  # fmt: skip
    wanted = one_by_one(q, k, v, lambda b, n, i, j: j < (6, 4)[b])[0]
    torch.testing.assert_close(out, from_bnsd(wanted, outputs or inputs))


def test_incremental_attention_over_a_paged_cache() -> None:
    q = torch.randn(B, N, 1, D, dtype=torch.float64)
    lengths = [5, 7]
    k = torch.randn(B, KEYS, 8, D, dtype=torch.float64)
    v = torch.randn(B, KEYS, 8, D, dtype=torch.float64)
    table = torch.tensor([[3, 0], [1, 2]], dtype=torch.int32)
    pages = [torch.zeros(4, KEYS, 4, D, dtype=torch.float64) for _ in range(2)]
    for page, whole in zip(pages, (k, v), strict=True):
        for b in range(B):
            for part in range(2):
                page[table[b, part]] = whole[b, :, part * 4 : part * 4 + 4]
    wanted = one_by_one(q, k, v, lambda b, n, i, j: j < lengths[b])[0]
    plain = npu().npu_incre_flash_attention(
        q,
        k,
        v,
        num_heads=N,
        num_key_value_heads=KEYS,
        scale_value=SCALE,
        input_layout="BNSD",
        actual_seq_lengths=lengths,
    )
    paged = npu().npu_incre_flash_attention(
        q, *pages, num_heads=N, num_key_value_heads=KEYS, scale_value=SCALE, input_layout="BNSD",
        actual_seq_lengths=lengths, block_table=table, block_size=4,
    )  # fmt: skip
    torch.testing.assert_close(plain, wanted)
    torch.testing.assert_close(paged, wanted)


def test_the_joint_operator_gives_log_sum_exp_and_packs() -> None:
    q = torch.randn(9, N, D, dtype=torch.float64)
    k = torch.randn(9, KEYS, D, dtype=torch.float64)
    ends = [4, 9]
    out, lse = npu().npu_fused_infer_attention_score(
        q, k, k, num_heads=N, num_key_value_heads=KEYS, scale=SCALE, input_layout="TND", atten_mask=TRIANGLE,
        sparse_mode=3, actual_seq_lengths=ends, actual_seq_lengths_kv=ends, softmax_lse_flag=True,
    )  # fmt: skip
    start = 0
    for end in ends:
        part, top, total = one_by_one(
            *(x[start:end].transpose(0, 1).unsqueeze(0) for x in (q, k, k)), lambda b, n, i, j: j <= i
        )
        torch.testing.assert_close(out[start:end], part[0].transpose(0, 1))
        torch.testing.assert_close(lse[start:end, :, 0], (top + total.log())[0].transpose(0, 1))
        start = end
    assert lse.shape == (9, N, 1) and lse.dtype is torch.float32


def test_quantised_inference_is_refused_by_name() -> None:
    q, k, v = (x.detach() for x in tensors(3, 3))
    with pytest.raises(
        NotImplementedError, match=r"npu_fused_infer_attention_score is not simulated with .*'quant_scale2'"
    ):
        npu().npu_fused_infer_attention_score(q, k, v, num_heads=N, quant_scale2=torch.ones(1))


def test_parts_of_a_ring_join_to_the_whole() -> None:
    q, k = torch.randn(3, B, 8, dtype=torch.float32), torch.randn(6, B, 8)
    whole = npu().npu_fusion_attention(q, k, k, 2, "SBH", scale=0.5)
    first = npu().npu_fusion_attention(q, k[:2], k[:2], 2, "SBH", scale=0.5)
    second = npu().npu_fusion_attention(q, k[2:], k[2:], 2, "SBH", scale=0.5)
    joined = npu().npu_ring_attention_update(*first[:3], *second[:3])
    for one, other in zip(joined, whole[:3], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
