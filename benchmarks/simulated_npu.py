"""Step time on the simulated NPU against the CPU's in float32: a transformer and a CNN, in each type, side by side.

    npuify simulate --policy off benchmarks/simulated_npu.py [--rounds 7] [--at-most 1.5]

The half types are those of autocast, float16 with a GradScaler as CUDA programs have it. Rounds alternate between all
of them, so that other work on the machine falls on each. Prints the best and the median step time (forward, backward,
optimizer) and the quotient of the medians. Exit code 1: a quotient is greater than --at-most.
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
KINDS: dict[str, tuple[str, torch.dtype | None]] = {
    "cpu float32": ("cpu", None),
    "npu float32": ("npu", None),
    "npu bfloat16": ("npu", torch.bfloat16),
    "npu float16": ("npu", torch.float16),
}


class Learner:
    """Forward, backward and optimizer in one type.

    Args:
        device: where the model is.
        kind: the type of autocast; None computes in float32.
        optimizer: of the model's parameters.
    """

    def __init__(self, device: str, kind: torch.dtype | None, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.autocast = torch.autocast(device, dtype=kind, enabled=kind is not None)
        self.scaler = torch.amp.GradScaler(device, enabled=kind is torch.float16)

    def __call__(self, loss_of: Callable[[], torch.Tensor]) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast:
            loss = loss_of()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return float(loss)


def transformer(device: str, kind: torch.dtype | None) -> Step:
    """A GPT-like language model: 4 layers, width 128, 128 tokens, batch 8."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(512, 128), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(128, 512)
    )
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    tokens = torch.randint(0, 512, (8, 129)).to(device)

    learn = Learner(device, kind, optimizer)

    def loss() -> torch.Tensor:
        out = model(tokens[:, :-1])
        return nn.functional.cross_entropy(out.flatten(0, 1), tokens[:, 1:].flatten())

    return lambda: learn(loss)


def cnn(device: str, kind: torch.dtype | None) -> Step:
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

    learn = Learner(device, kind, optimizer)
    return lambda: learn(lambda: nn.functional.cross_entropy(model(images), labels))


def main() -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5, help="steps of each round")
    parser.add_argument("--at-most", type=float, default=1.5)
    options = parser.parse_args()
    worst = 0.0
    for make in (transformer, cnn):
        steps = {name: make(device, kind) for name, (device, kind) in KINDS.items()}
        times: dict[str, list[float]] = {name: [] for name in steps}
        for step in steps.values():
            step()
        for _ in range(options.rounds):
            for name, step in steps.items():
                before = time.perf_counter()
                for _ in range(options.steps):
                    step()
                times[name].append((time.perf_counter() - before) / options.steps)
        medians = {name: statistics.median(found) for name, found in times.items()}
        for name, found in times.items():
            quotient = medians[name] / medians["cpu float32"]
            worst = max(worst, quotient)
            print(
                f"{make.__name__} {name}: {1e3 * min(found):.1f} ms best, {1e3 * medians[name]:.1f} ms median; "
                f"{quotient:.2f} of the CPU's float32"
            )
    return 0 if worst <= options.at_most else 1


if __name__ == "__main__":
    sys.exit(main())
