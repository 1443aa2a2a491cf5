"""A recurrent tagger."""

from __future__ import annotations

import torch
from torch import nn

from .config import ModelConfig


class Tagger(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.hidden)
        self.encoder = nn.GRU(config.hidden, config.hidden, config.layers, batch_first=True)
        self.norm = nn.BatchNorm1d(config.hidden)
        self.head = nn.Linear(config.hidden, config.tags)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.encoder(self.embedding(tokens))
        hidden = self.norm(hidden.transpose(1, 2)).transpose(1, 2)
        return self.head(hidden)
