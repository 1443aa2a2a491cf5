"""Seconds and memory of `npuify trace` for one training step of a LLaMA-like model with 6.7 billion parameters.

    python benchmarks/trace_transformer.py [--layers 32] [--seconds 60] [--mebibytes 1024]

Traces this file itself, whose traced part is plain PyTorch: 32 layers of width 4096, 2048 tokens, bfloat16, AdamW with
clipped gradients. Prints parameters, seconds without the import of torch, and the largest memory of the traced process.
Exit code 1: more than --seconds or --mebibytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

WIDTH, HEADS, INNER, WORDS, TOKENS = 4096, 32, 11008, 32000, 2048
TRACED = "--traced"


def train(layers: int) -> None:
    """Build the model on the NPU and train it for ever; a trace stops after its steps."""
    import torch
    import torch_npu  # noqa: F401
    from torch import nn
    from torch.nn import functional

    class Norm(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            wide = x.float()
            return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight

    def turn(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat((-second, first), -1) * sine

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
            self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
            self.down = nn.Linear(INNER, WIDTH, bias=False)
            self.before_attention, self.before_mlp = Norm(WIDTH), Norm(WIDTH)

        def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
            batch, length, _ = x.shape
            h = self.before_attention(x)
            q, k, v = (
                layer(h).view(batch, length, HEADS, -1).transpose(1, 2) for layer in (self.query, self.key, self.value)
            )
            q, k = turn(q, cosine, sine), turn(k, cosine, sine)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
            h = self.before_mlp(x)
            return x + self.down(functional.silu(self.gate(h)) * self.up(h))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = Norm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
            size = WIDTH // HEADS
            angles = torch.outer(torch.arange(TOKENS).float(), 10000 ** (-torch.arange(0, size, 2).float() / size))
            self.register_buffer("cosine", torch.cat((angles, angles), -1).cos())
            self.register_buffer("sine", torch.cat((angles, angles), -1).sin())

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x, self.cosine, self.sine)
            return self.head(self.norm(x))

    model = Model().to("npu").to(torch.bfloat16)
    print(f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    while True:
        tokens = torch.randint(0, WORDS, (1, TOKENS + 1)).to("npu")
        scores = model(tokens[:, :-1]).float().view(-1, WORDS)
        loss = functional.cross_entropy(scores, tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def main() -> int:
    """Trace this file and hold what it took against the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mebibytes", type=float, default=1024)
    parser.add_argument(TRACED, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.traced:
        train(options.layers)
    own = [str(Path(__file__).resolve()), TRACED, "--layers", str(options.layers)]
    done = subprocess.run(
        [sys.executable, "-m", "npuify", "trace", "--format", "json", *own],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        return done.returncode
    result = json.loads(done.stdout[done.stdout.index("{") :])
    mebibytes = result["peak_memory"] / 2**20
    calls = sum(call["count"] for call in result["calls"])
    print(f"{options.layers} layers: {calls} calls, {result['seconds']:.1f} s, {mebibytes:.0f} MiB at most")
    return int(result["seconds"] > options.seconds or mebibytes > options.mebibytes)


if __name__ == "__main__":
    raise SystemExit(main())
