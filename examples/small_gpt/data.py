"""Sums as text: the alphabet, the encoding and batches."""

import numpy as np
import torch

ALPHABET = "0123456789+=. "
INDEX = {letter: i for i, letter in enumerate(ALPHABET)}


def encode(text: str) -> list:
    return [INDEX[letter] for letter in text]


def decode(tokens) -> str:
    return "".join(ALPHABET[int(t)] for t in tokens)


def make_text(length: int, rng: np.random.Generator) -> str:
    parts = []
    size = 0
    while size < length:
        a, b = rng.integers(0, 100, 2)
        part = f"{a}+{b}={a + b}. "
        parts.append(part)
        size += len(part)
    return "".join(parts)[:length]


class Batches:
    """Endless batches of (input, target), put on ``device``."""

    def __init__(self, block: int, device: str, seed: int) -> None:
        self.block = block
        self.device = device
        self.rng = np.random.default_rng(seed)

    def next(self, batch_size: int):
        rows = [encode(make_text(self.block + 1, self.rng)) for _ in range(batch_size)]
        tokens = torch.tensor(rows, dtype=torch.long)
        x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        if "cuda" in self.device:
            # pinned memory lets the copy run beside the computation
            return x.pin_memory().to(self.device, non_blocking=True), y.pin_memory().to(self.device, non_blocking=True)
        return x.to(self.device), y.to(self.device)
