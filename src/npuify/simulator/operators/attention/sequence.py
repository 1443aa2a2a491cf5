"""Linear attention, causal convolution, and what sampling leaves of the logits."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import is_abstract, require, working
from npuify.simulator.operators.table import DERIVATIVES, operator


def _gated_delta(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    beta: torch.Tensor | None,
    decay: torch.Tensor | None,
    key_decay: torch.Tensor | None,
    state: torch.Tensor,
    scale: float,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Outputs (T, Nv, Dv) of one sequence and the state (Nv, Dv, Dk) after each token.

    ``S = a S + b (v - a S k) k^T`` and ``o = S q * scale``, head by head.
    """
    group = value.shape[1] // key.shape[1]
    kind = torch.promote_types(working(value), state.dtype)
    queries = query.to(kind).repeat_interleave(group, dim=1)
    keys = key.to(kind).repeat_interleave(group, dim=1)
    state = state.to(kind)
    outputs, states = [], []
    for step in range(query.shape[0]):
        if decay is not None:
            state = state * decay[step].to(kind).exp().view(-1, 1, 1)
        if key_decay is not None:
            state = state * key_decay[step].to(kind).exp().unsqueeze(1)
        known = (state @ keys[step].unsqueeze(-1)).squeeze(-1)
        change = value[step].to(kind) - known
        if beta is not None:
            change = change * beta[step].to(kind).unsqueeze(-1)
        state = state + change.unsqueeze(-1) * keys[step].unsqueeze(1)
        states.append(state)
        outputs.append((state @ (queries[step] * scale).unsqueeze(-1)).squeeze(-1))
    return torch.stack(outputs).to(value.dtype), states


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, name: str) -> None:
    require(query.shape == key.shape and query.dim() == 3, name, "query and key are (T, Nk, Dk)")
    require(value.dim() == 3 and value.shape[0] == key.shape[0], name, "value is (T, Nv, Dv)")
    require(value.shape[1] % key.shape[1] == 0, name, f"{value.shape[1]} heads are not a multiple of {key.shape[1]}")


def _lengths(given: torch.Tensor | None, total: int) -> list[int]:
    return [total] if given is None else [int(length) for length in given.tolist()]


@operator("npu_chunk_gated_delta_rule")
def npu_chunk_gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    beta: torch.Tensor | None = None,
    initial_state: torch.Tensor | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    scale: float | None = None,
    g: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_chunk_gated_delta_rule"
    _check(query, key, value, name)
    shape = (value.shape[1], value.shape[2], key.shape[2])
    count = 1 if actual_seq_lengths is None else actual_seq_lengths.shape[0]
    first = value.new_zeros((count, *shape)) if initial_state is None else initial_state
    if is_abstract(query, value):
        return torch.empty_like(value), torch.empty_like(first)
    outputs, finals = [], []
    start = 0
    for index, length in enumerate(_lengths(actual_seq_lengths, query.shape[0])):
        part = slice(start, start + length)
        output, states = _gated_delta(
            query[part],
            key[part],
            value[part],
            None if beta is None else beta[part],
            None if g is None else g[part],
            None,
            first[index],
            1.0 if scale is None else scale,
        )
        outputs.append(output)
        finals.append(states[-1])
        start += length
    return torch.cat(outputs), torch.stack(finals).to(first.dtype)


@operator("npu_recurrent_gated_delta_rule", note="without num_accepted_tokens")
def npu_recurrent_gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    state: torch.Tensor,
    beta: torch.Tensor | None = None,
    scale: float | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    ssm_state_indices: torch.Tensor | None = None,
    g: torch.Tensor | None = None,
    gk: torch.Tensor | None = None,
) -> torch.Tensor:
    name = "npu_recurrent_gated_delta_rule"
    _check(query, key, value, name)
    if is_abstract(query, state):
        return torch.empty_like(value)
    outputs = []
    start = 0
    for index, length in enumerate(_lengths(actual_seq_lengths, query.shape[0])):
        part = slice(start, start + length)
        rows = list(range(index, index + 1)) * length
        if ssm_state_indices is not None:
            rows = [int(row) for row in ssm_state_indices[part].tolist()]
        output, states = _gated_delta(
            query[part],
            key[part],
            value[part],
            None if beta is None else beta[part],
            None if g is None else g[part],
            None if gk is None else gk[part],
            state[rows[0]],
            key.shape[2] ** -0.5 if scale is None else scale,
        )
        for row, after in zip(rows, states, strict=True):
            state[row] = after.to(state.dtype)
        outputs.append(output)
        start += length
    return torch.cat(outputs)


def causal_conv(x: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Each channel of (S, B, H) over itself and the tokens before, by weights (W, H); masked tokens (B, S) give 0."""
    name = "npu_masked_causal_conv1d"
    require(
        x.dim() == 3 and weight.dim() == 2 and weight.shape[1] == x.shape[2], name, "input (S, B, H), weight (W, H)"
    )
    kind = working(x)
    width, length = weight.shape[0], x.shape[0]
    padded = torch.nn.functional.pad(x.to(kind), [0, 0, 0, 0, width - 1, 0])
    total = torch.zeros((), dtype=kind, device=x.device)
    for place in range(width):
        total = total + padded[place : place + length] * weight[place].to(kind)
    if mask is not None:
        total = total * mask.t().unsqueeze(-1)
    return total.to(x.dtype)


@operator(
    "npu_masked_causal_conv1d",
    gradients=("input", "weight"),
    formula=lambda a, r, g: torch.ops.npu.npu_masked_causal_conv1d_backward(g[0], a.input, a.weight, mask=a.mask),
)
def npu_masked_causal_conv1d(
    input: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    return causal_conv(input, weight, mask)


@operator("npu_masked_causal_conv1d_backward", source=DERIVATIVES)
def npu_masked_causal_conv1d_backward(
    grad_output: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[Any, ...]:
    return vector_jacobian(lambda x, w: causal_conv(x, w, mask), [input, weight], [grad_output])


@operator("npu_top_k_top_p")
def npu_top_k_top_p(logits: torch.Tensor, p: torch.Tensor | None = None, k: torch.Tensor | None = None) -> torch.Tensor:
    name = "npu_top_k_top_p"
    require(logits.dim() == 2, name, f"logits have 2 dimensions, not {logits.dim()}")
    values, order = logits.sort(dim=-1, stable=True)
    if k is not None:
        smallest = values.gather(1, (logits.shape[1] - k.long()).unsqueeze(1))
        values = values.masked_fill(values < smallest, float("-inf"))
    if p is not None:
        total = torch.softmax(values.to(working(values)), dim=-1).cumsum(dim=-1)
        drop = total <= 1 - p.to(total.dtype).unsqueeze(1)
        drop = torch.cat([drop[:, :-1], torch.zeros_like(drop[:, -1:])], dim=1)
        values = values.masked_fill(drop, float("-inf"))
    return torch.empty_like(values).scatter(1, order, values)
