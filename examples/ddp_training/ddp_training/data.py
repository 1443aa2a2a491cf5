"""Sequences whose tags follow from the tokens before them."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from .config import Config


class Sequences(Dataset):
    def __init__(self, size: int, length: int, vocabulary: int, tags: int) -> None:
        self.size, self.length, self.vocabulary, self.tags = size, length, vocabulary, tags

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int):
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, self.vocabulary, (self.length,), generator=generator)
        previous = torch.roll(tokens, 1)
        return tokens, (tokens + previous) % self.tags


def build_loader(config: Config) -> tuple[DataLoader, DistributedSampler]:
    model, data = config.model, config.data
    dataset = Sequences(data.size, data.length, model.vocabulary, model.tags)
    sampler = DistributedSampler(dataset, shuffle=True, seed=config.train.seed)
    pinned = {"pin_memory": True, "pin_memory_device": "cuda"} if torch.cuda.is_available() else {}
    loader = DataLoader(
        dataset,
        batch_size=config.train.batch_size,
        sampler=sampler,
        num_workers=data.workers,
        drop_last=True,
        **pinned,
    )
    return loader, sampler
