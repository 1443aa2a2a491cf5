# mypy: ignore-errors
"""Routing of tokens to experts and their linear layers on one card, as FastMoE has them.

Counts, places and limits come from sorting and sums of all tokens. Where the kernel lets any token have a place, the
first has it here. Linear layers are one product for each expert: the counts are of the host, as in the kernel.
"""

import torch


def expert_count(gate_idx, expert_count):
    """How many tokens go to each expert, added to ``expert_count``; -1 goes nowhere."""
    gate = gate_idx.flatten()
    there = (gate >= 0) & (gate < len(expert_count))
    expert_count.index_add_(0, gate.clamp(0, len(expert_count) - 1).long(), there.to(expert_count.dtype))


def assign_pos(cum_count, gate, pos):
    """The tokens in the order of their experts; ``cum_count`` goes down to where each expert begins."""
    gate = gate.flatten()
    order = gate.argsort(stable=True)
    count = torch.zeros_like(cum_count)
    expert_count(gate, count)
    total = min(len(pos), len(gate))
    # Those that go nowhere come first, and are left out.
    pos[:total].copy_(order[len(gate) - total :])
    cum_count -= count


def limit_by_capacity(expert_count, capacity, n_expert, n_worker):
    """As many tokens as each expert has room for, the first worker first; ``capacity`` goes down by all that ask."""
    asked = expert_count.reshape(n_worker, n_expert)
    before = asked.cumsum(0) - asked
    left = capacity[:n_expert].long() - before
    capacity[:n_expert] -= asked.sum(0).to(capacity.dtype)
    return torch.minimum(asked, left.clamp(min=0)).reshape(expert_count.shape)


def prune_gate_by_capacity(gate_idx, expert_count, n_expert, n_worker):
    """The experts of tokens, -1 for those that come when there is no room; ``expert_count`` goes down by all."""
    gate = gate_idx.flatten().long()
    order = gate.argsort(stable=True)
    ranked = gate[order]
    count = torch.zeros_like(expert_count)
    count.index_add_(0, gate, torch.ones_like(gate, dtype=count.dtype))
    first = count.cumsum(0) - count
    rank = torch.empty_like(gate)
    rank[order] = torch.arange(len(gate), device=gate.device) - first[ranked].long()
    fits = rank < expert_count[gate].long()
    expert_count -= count
    return torch.where(fits, gate_idx.flatten(), torch.full_like(gate_idx.flatten(), -1)).reshape(gate_idx.shape)


def _spans(expert_count):
    ends = expert_count.cumsum(0).tolist()
    return list(zip([0, *ends[:-1]], ends))  # noqa: B905


def linear_forward(input_buf, expert_count, weight, bias=None):
    """Each expert's rows times its weight (experts, out, in), and its bias."""
    made = [
        torch.nn.functional.linear(input_buf[a:b], weight[expert], None if bias is None else bias[expert])
        for expert, (a, b) in enumerate(_spans(expert_count))
    ]
    return torch.cat(made) if made else input_buf.new_zeros(0, weight.shape[1])


def linear_backward(grad_output_buf, input_buf, expert_count, weight, bias=None):
    """The gradients of rows, weights and biases; without a bias that of biases is 0."""
    spans = _spans(expert_count)
    of_input = [grad_output_buf[a:b] @ weight[expert] for expert, (a, b) in enumerate(spans)]
    of_weight = [grad_output_buf[a:b].t() @ input_buf[a:b] for a, b in spans]
    of_bias = [grad_output_buf[a:b].float().sum(0).to(weight.dtype) * (bias is not None) for a, b in spans]
    return [torch.cat(of_input), torch.stack(of_weight), torch.stack(of_bias)]
