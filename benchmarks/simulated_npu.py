"""Step time on the simulated NPU against the plain CPU: a transformer and a CNN, side by side.

    npuify simulate --policy off benchmarks/simulated_npu.py [--rounds 5] [--at-most 1.5]

Rounds alternate between the two devices, so that other work on the machine falls on both. Prints the best
and the median step time (forward, backward, optimiser) of each and the quotient of the medians.
Exit code 1: a quotient is greater than --at-most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

Step = Callable[[], float]


def transformer(device: str) -> Step:
    """A GPT-like language model: 4 layers, width 128, 128 tokens, batch 8."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(512, 128), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(128, 512)
    )
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    tokens = torch.randint(0, 512, (8, 129)).to(device)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        out = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(out.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def cnn(device: str) -> Step:
    """A small residual-like network on 64 x 64 images, batch 16."""
    torch.manual_seed(0)

    def block(a: int, b: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))

    model = nn.Sequential(
        block(3, 32),
        nn.MaxPool2d(2),
        block(32, 64),
        nn.MaxPool2d(2),
        block(64, 128),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    model.to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    images, labels = torch.randn(16, 3, 64, 64).to(device), torch.randint(0, 10, (16,)).to(device)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def main() -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5, help="steps of each round")
    parser.add_argument("--at-most", type=float, default=1.5)
    options = parser.parse_args()
    worst = 0.0
    for make in (transformer, cnn):
        steps = {device: make(device) for device in ("cpu", "npu")}
        times: dict[str, list[float]] = {device: [] for device in steps}
        for step in steps.values():
            step()
        for _ in range(options.rounds):
            for device, step in steps.items():
                before = time.perf_counter()
                for _ in range(options.steps):
                    step()
                times[device].append((time.perf_counter() - before) / options.steps)
        medians = {device: statistics.median(found) for device, found in times.items()}
        quotient = medians["npu"] / medians["cpu"]
        worst = max(worst, quotient)
        shown = ", ".join(f"{d} {1e3 * min(times[d]):.1f} ms best, {1e3 * medians[d]:.1f} ms median" for d in times)
        print(f"{make.__name__}: {shown}; simulated / plain = {quotient:.2f}")
    return 0 if worst <= options.at_most else 1


if __name__ == "__main__":
    sys.exit(main())
