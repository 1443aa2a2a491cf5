"""A small transformer that classifies sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from training_project.config import Config


class Block(nn.Module):
    """Attention and a feed-forward part, each added to what comes in."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + F.dropout(self.out(attended.transpose(1, 2).reshape(x.shape)), self.dropout, self.training)
        return x + F.dropout(self.mlp(self.before_mlp(x)), self.dropout, self.training)


class Classifier(nn.Module):
    """Tokens (batch, length) to scores (batch, vocabulary)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        model, data = config.model, config.data
        self.checkpoint_activations = model.checkpoint_activations
        self.tokens = nn.Embedding(data.vocabulary, model.width)
        self.positions = nn.Parameter(torch.randn(data.length, model.width) * 0.02)
        self.blocks = nn.ModuleList(Block(model.width, model.heads, model.dropout) for _ in range(model.layers))
        self.norm = nn.LayerNorm(model.width)
        self.head = nn.Linear(model.width, data.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            # Dropout draws the same numbers in the second pass: checkpoint() keeps the generators' states.
            again = self.checkpoint_activations and self.training
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        return self.head(self.norm(x).mean(dim=1))
