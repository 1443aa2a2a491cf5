"""Plain definitions of the attention functions, written from what their documentation says, to compute with.

``npu_fusion_attention`` follows ``torch_npu/_op_plugin_docs.py``, with what it demands of its arguments asserted; the
functions of flash_attn and xformers follow their docstrings, row by row. They share no code but the dropout.
"""

from __future__ import annotations

from typing import Any

import torch

UNLIMITED = 2147483647


def dropped(probabilities: torch.Tensor, p: float) -> torch.Tensor:
    """Dropout that is drawn anew from the same seed for each matrix, so that two definitions can be compared."""
    if p == 0:
        return probabilities
    drawn = torch.rand(probabilities.shape, generator=torch.Generator().manual_seed(7), dtype=probabilities.dtype)
    return probabilities * (drawn >= p) / (1 - p)


# --- torch_npu --------------------------------------------------------------------------------------------------------


def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = UNLIMITED,
    next_tockens: int = UNLIMITED,
    inner_precise: int = 0,
    prefix: None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
) -> tuple[Any, ...]:
    assert type(head_num) is int
    assert type(sparse_mode) is int
    assert isinstance(scale, (int, float))
    assert 0 < keep_prob <= 1
    assert query.dtype == key.dtype == value.dtype
    assert key.shape == value.shape
    settings = (atten_mask, sparse_mode, pre_tockens, next_tockens, float(scale), 1 - keep_prob, pse)
    if input_layout == "TND":
        assert actual_seq_qlen is not None
        assert actual_seq_kvlen is not None
        assert all(type(item) is int for item in (*actual_seq_qlen, *actual_seq_kvlen))
        assert head_num == query.shape[1]
        pieces, q_start, k_start = [], 0, 0
        for q_end, k_end in zip(actual_seq_qlen, actual_seq_kvlen, strict=True):
            q, k, v = (
                part.transpose(0, 1)[None] for part in (query[q_start:q_end], key[k_start:k_end], value[k_start:k_end])
            )
            pieces.append(_bnsd(q, k, v, settings, variable=True)[0].transpose(0, 1))
            q_start, k_start = q_end, k_end
        return (torch.cat(pieces), None, None, None, 0, 0, 0)
    assert actual_seq_qlen is None
    if input_layout in ("BSH", "SBH"):
        size = query.shape[-1] // head_num
        split = [part.unflatten(-1, (-1, size)) for part in (query, key, value)]
        order = (0, 2, 1, 3) if input_layout == "BSH" else (1, 2, 0, 3)
        out = _bnsd(*(part.permute(order) for part in split), settings)
        back = (0, 2, 1, 3) if input_layout == "BSH" else (2, 0, 1, 3)
        return (out.permute(back).flatten(2), None, None, None, 0, 0, 0)
    parts = [part.transpose(1, 2) if input_layout == "BSND" else part for part in (query, key, value)]
    assert input_layout in ("BSND", "BNSD")
    assert parts[0].dim() == 4
    assert head_num == parts[0].shape[1]
    out = _bnsd(*parts, settings)
    return (out.transpose(1, 2) if input_layout == "BSND" else out, None, None, None, 0, 0, 0)


def npu_fusion_attention_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: torch.Tensor | None = None,
    padding_mask: None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    sparse_mode: int = 0,
    pse_type: int = 1,
) -> tuple[Any, ...]:
    assert pse is not None
    assert pse_type == 0, "the only type for which the bias is described as added after scaling, and taken as it is"
    assert input_layout == "BSND"
    return npu_fusion_attention(
        query,
        key,
        value,
        head_num,
        input_layout,
        pse,
        padding_mask,
        atten_mask,
        scale,
        keep_prob,
        pre_tokens,
        next_tokens,
        sparse_mode=sparse_mode,
    )


def _bnsd(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, settings: tuple[Any, ...], *, variable: bool = False
) -> torch.Tensor:
    mask, mode, before, after, scale, p, bias = settings
    length, keys = q.shape[2], k.shape[2]
    assert q.shape[1] % k.shape[1] == 0
    k, v = (part.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for part in (k, v))
    masked = torch.zeros(length, keys, dtype=torch.bool)
    if mask is not None:
        assert mask.dtype in (torch.bool, torch.uint8)
        if mode in (2, 3, 4):
            assert torch.equal(mask.bool(), torch.ones(2048, 2048).triu(1).bool()), "the compressed lower triangle"
        row, column = torch.arange(length)[:, None], torch.arange(keys)[None]
        if mode == 0 or mode == 1:
            masked = mask.bool()
        elif mode == 2:
            masked = column > row
        elif mode == 3:
            masked = column - row > keys - length
        elif mode == 4:
            offset = column - row - (keys - length)
            masked = (offset > after) | (offset < -before)
        else:
            raise NotImplementedError(mode)
    blind = masked.all(-1, keepdim=True)
    if bool(blind.any()):
        assert not variable, "a packed sequence must not leave a query without keys"
        assert mode == 3, "only there the operator is said to look for rows without keys by itself"
    if bias is not None:
        # pse with pse_type=0: multiplied first, then added; it has the shape BNSS or 1NSS and the type of the queries.
        assert bias.dtype == q.dtype
        assert bias.shape[1:] == (q.shape[1], length, keys)
        assert bias.shape[0] in (1, q.shape[0])
    added = 0 if bias is None else bias
    scores = (scale * (q @ k.transpose(2, 3)) + added).masked_fill(masked & ~blind, float("-inf"))
    weights = torch.softmax(scores, -1).masked_fill(blind, 0.0)
    return dropped(weights, p) @ v


# --- flash_attn -------------------------------------------------------------------------------------------------------


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    assert not softcap
    assert not return_attn_probs
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    batch, seqlen_q, heads, _ = q.shape
    seqlen_k, group = k.shape[1], heads // k.shape[2]
    matrices = []
    for b in range(batch):
        for h in range(heads):
            rows = []
            for i in range(seqlen_q):
                here = i + seqlen_k - seqlen_q
                seen = [j for j in range(seqlen_k) if _sees(here, j, causal, window_size)]
                row = torch.zeros(seqlen_k, dtype=q.dtype)
                if seen:
                    scores = torch.stack([(q[b, i, h] * k[b, j, h // group]).sum() * scale for j in seen])
                    if alibi_slopes is not None:
                        slope = alibi_slopes[h] if alibi_slopes.dim() == 1 else alibi_slopes[b, h]
                        scores = scores - slope * torch.tensor([abs(here - j) for j in seen])
                    row = row.index_put((torch.tensor(seen),), torch.softmax(scores, 0))
                rows.append(row)
            matrices.append(torch.stack(rows))
    weights = dropped(torch.stack(matrices).unflatten(0, (batch, heads)), dropout_p)
    return torch.stack(
        [
            torch.stack([weights[b, h] @ v[b, :, h // group] for h in range(heads)], dim=1)
            for b in range(batch)
        ]
    )  # fmt: skip


def _sees(i: int, j: int, causal: bool, window: tuple[int, int]) -> bool:
    left, right = window
    return not ((causal and j > i) or (left >= 0 and j < i - left) or (right >= 0 and j > i + right))


def flash_attn_qkvpacked_func(qkv: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], *args, **more)


def flash_attn_kvpacked_func(q: torch.Tensor, kv: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], *args, **more)


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *args: Any,
    block_table: None = None,
    **more: Any,
) -> torch.Tensor:
    assert block_table is None
    pieces = []
    for index in range(len(cu_seqlens_q) - 1):
        rows = slice(int(cu_seqlens_q[index]), int(cu_seqlens_q[index + 1]))
        columns = slice(int(cu_seqlens_k[index]), int(cu_seqlens_k[index + 1]))
        pieces.append(flash_attn_func(q[rows][None], k[columns][None], v[columns][None], *args, **more)[0])
    return torch.cat(pieces)


def flash_attn_varlen_qkvpacked_func(
    qkv: torch.Tensor, cu_seqlens: torch.Tensor, max_seqlen: int, *args: Any, **more: Any
) -> torch.Tensor:
    return flash_attn_varlen_func(
        qkv[:, 0], qkv[:, 1], qkv[:, 2], cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **more
    )


def flash_attn_varlen_kvpacked_func(
    q: torch.Tensor,
    kv: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *args: Any,
    **more: Any,
) -> torch.Tensor:
    return flash_attn_varlen_func(
        q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, *args, **more
    )


class flash_attn_triton:  # noqa: N801 - stands for a module of that name
    """flash_attn.flash_attn_triton: a bias, no dropout, causal from the upper left corner."""

    @staticmethod
    def flash_attn_func(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        bias: torch.Tensor | None = None,
        causal: bool = False,
        softmax_scale: float | None = None,
    ) -> torch.Tensor:
        scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
        scores = torch.einsum("bmhd,bnhd->bhmn", q, k) * scale
        if bias is not None:
            scores = scores + bias
        if causal:
            row, column = torch.arange(q.shape[1])[:, None], torch.arange(k.shape[1])
            scores = scores.masked_fill(column > row, float("-inf"))
        return torch.einsum("bhmn,bnhd->bmhd", torch.softmax(scores, -1), v)

    @staticmethod
    def flash_attn_qkvpacked_func(qkv: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
        return flash_attn_triton.flash_attn_func(*qkv.unbind(2), *args, **more)


# --- xformers ---------------------------------------------------------------------------------------------------------


class LowerTriangularMask:
    """Causal from the upper left corner."""


class LowerTriangularFromBottomRightMask:
    """Causal from the lower right corner."""


class BlockDiagonalMask:
    """Sequences behind each other in one batch, each of which sees itself only."""

    def __init__(self, q_seqlen: list[int], kv_seqlen: list[int]) -> None:
        self.q_seqlen, self.kv_seqlen = q_seqlen, kv_seqlen

    @classmethod
    def from_seqlens(cls, q_seqlen: list[int], kv_seqlen: list[int] | None = None) -> BlockDiagonalMask:
        return cls(q_seqlen, q_seqlen if kv_seqlen is None else kv_seqlen)

    def sees(self, i: int, j: int, queries: int, keys: int) -> bool:
        return True

    def materialize(self, shape: tuple[int, ...]) -> torch.Tensor:
        bias = torch.full(shape, float("-inf"), dtype=torch.float64)
        row = column = 0
        for queries, keys in zip(self.q_seqlen, self.kv_seqlen, strict=True):
            for i in range(queries):
                for j in range(keys):
                    if self.sees(i, j, queries, keys):
                        bias[row + i, column + j] = 0.0
            row, column = row + queries, column + keys
        return bias


class BlockDiagonalCausalMask(BlockDiagonalMask):
    """Each block is causal from its upper left corner."""

    def sees(self, i: int, j: int, queries: int, keys: int) -> bool:
        return j <= i


class BlockDiagonalCausalFromBottomrightMask(BlockDiagonalMask):
    """Each block is causal from its lower right corner."""

    def sees(self, i: int, j: int, queries: int, keys: int) -> bool:
        return j <= i + keys - queries


def memory_efficient_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: object = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: object = None,
) -> torch.Tensor:
    scale = 1.0 / query.shape[-1] ** 0.5 if scale is None else scale
    scores = torch.einsum("bmhk,bnhk->bhmn", query * scale, key)
    bias = torch.zeros(scores.shape[-2:], dtype=query.dtype)
    if isinstance(attn_bias, torch.Tensor):
        bias = attn_bias
    elif isinstance(attn_bias, BlockDiagonalMask):
        assert query.shape[0] == 1
        bias = attn_bias.materialize(scores.shape[-2:])
    elif attn_bias is not None:
        corner = 0 if isinstance(attn_bias, LowerTriangularMask) else key.shape[1] - query.shape[1]
        bias = torch.full_like(bias, float("-inf")).triu(1 + corner)
    return torch.einsum("bhmn,bnhk->bmhk", dropped(torch.softmax(scores + bias, -1), p), value)
