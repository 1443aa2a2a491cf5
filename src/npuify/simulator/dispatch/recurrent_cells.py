"""Cells of LSTM and GRU, which PyTorch asks every accelerator for, composed of differentiable operators."""

from __future__ import annotations

import torch
from torch import Tensor


def thnn_fused_lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden and cell state after one step, and the gates."""
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    cy = f.sigmoid() * cx + i.sigmoid() * g.tanh()
    return o.sigmoid() * cy.tanh(), cy, gates.detach()


def thnn_fused_gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Hidden state after one step, and the gates."""
    if input_bias is not None and hidden_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    ir, iz, new = input_gates.chunk(3, 1)
    hr, hz, hn = hidden_gates.chunk(3, 1)
    reset, update = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    candidate = (new + reset * hn).tanh()
    hy = (hx - candidate) * update + candidate
    return hy, torch.cat([reset.detach(), update.detach(), candidate.detach(), hx.detach(), hn.detach()], 1)


KERNELS = {"_thnn_fused_lstm_cell": thnn_fused_lstm_cell, "_thnn_fused_gru_cell": thnn_fused_gru_cell}
