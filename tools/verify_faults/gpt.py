"""A small transformer with padding, a causal mask over a longer key side, RMS norms and float64 angles.

``--fault`` plants one fault; ``--way`` computes the same in another order or precision, which is no fault.
"""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional

MEMORY = 3
"""Keys that stand before the sequence: the mask's diagonal begins there."""
WIDTH, HEADS, LENGTH, WORDS = 48, 4, 12, 40

options = argparse.Namespace()


def faulty(name):
    return options.fault == name


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        eps = 0.0 if faulty("epsilon lost") else 1e-5
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


class Angles(nn.Module):
    """Rotations for far positions, in float64, as float32 cannot tell such angles apart."""

    def forward(self, x):
        dtype = torch.float32 if faulty("float64 lost") else torch.float64
        far = torch.arange(x.shape[1], dtype=dtype, device=x.device) * 977.0 + 250_000.0
        rate = torch.exp(torch.arange(WIDTH // 2, dtype=dtype, device=x.device) * (-math.log(100.0) / WIDTH))
        angle = far[:, None] * rate[None, :]
        return torch.cat([angle.sin(), angle.cos()], dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.memory = nn.Parameter(torch.randn(2, 1, MEMORY, WIDTH) * 0.5)

    def forward(self, x, keep):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        k = torch.cat([self.memory[0].expand(batch, -1, -1).to(k.dtype), k], dim=1)
        v = torch.cat([self.memory[1].expand(batch, -1, -1).to(v.dtype), v], dim=1)
        q, k, v = (one.view(batch, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for one in (q, k, v))
        diagonal = 0 if faulty("causal top-left") else MEMORY
        mask = torch.ones(length, length + MEMORY, dtype=torch.bool, device=x.device).tril(diagonal)
        sides = functional.pad(keep, (MEMORY, 0), value=True)[:, None, None, :]
        if faulty("mask sense turned"):
            sides = functional.pad(~keep, (MEMORY, 0), value=True)[:, None, None, :]
        mask = mask & sides
        scale = (WIDTH // HEADS) ** (-1.0 if faulty("attention scale") else -0.5)
        if options.way == "fused attention":
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        else:
            scores = (q @ k.transpose(-1, -2)) * scale
            scores = scores.masked_fill(~mask, float("-inf"))
            weights = scores.softmax(1 if faulty("softmax dimension") else -1).nan_to_num()
            mixed = weights.to(v.dtype) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Square(torch.autograd.Function):
    """The square of a positive part, with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        factor = 1.0 if faulty("wrong backward") else 2.0
        return gradient * factor * x.clamp(min=0)


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = Square.apply(self.up(x))
        if faulty("half overflow"):
            hidden = (hidden.half() * 60000).float() / 60000
        return self.down(hidden)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = Norm(WIDTH)
        self.attention = Attention()
        self.norm2 = Norm(WIDTH)
        self.feed = Feed()
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, keep):
        x = x + self.dropout(self.attention(self.norm1(x), keep))
        if faulty("residual lost") and self.last:
            return self.dropout(self.feed(self.norm2(x)))
        return x + self.dropout(self.feed(self.norm2(x)))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.angles = Angles()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.norm = Norm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)
        for block in self.blocks:
            block.last = block is self.blocks[-1]

    def forward(self, words, keep):
        x = self.words(words)
        x = x + 0.02 * self.angles(x)
        for block in self.blocks:
            x = block(x, keep)
        return self.head(self.norm(x))


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fault", default="")
    parser.add_argument("--way", default="")
    parser.add_argument("--steps", type=int, default=3)
    parser.parse_args(arguments, namespace=options)
    if options.device == "npu":
        import torch_npu  # noqa: F401

    torch.manual_seed(7)
    if options.way == "one thread more":
        torch.set_num_threads(2)
    model = GPT().to(options.device)
    if options.way == "bfloat16":
        model = model.to(torch.bfloat16)
    model.train()
    if faulty("eval for train"):
        model.eval()
    if faulty("frozen layer"):
        model.blocks[1].feed.requires_grad_(False)
    rate = 2e-3 if faulty("LR off by two") else 1e-3
    decay = 0.0 if faulty("weight decay lost") else 0.1
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    scaling = options.way == "loss scaling" or faulty("scaler not unscaled")
    scaler = torch.amp.GradScaler(options.device, enabled=scaling, init_scale=2.0**12)
    words = torch.randint(1, WORDS, (8 * options.steps, LENGTH + 1))
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (len(words),))
    order = list(range(len(words)))
    if faulty("data order off"):
        order.reverse()
    for step in range(options.steps):
        rows = torch.tensor(order[8 * step : 8 * step + 8])
        x = words[rows].to(options.device)
        keep = (torch.arange(LENGTH)[None, :] < lengths[rows][:, None]).to(options.device)
        lowered = torch.autocast(options.device, torch.bfloat16, enabled=options.way == "autocast to bfloat16")
        with lowered:
            out = model(x[:, :-1], keep)
        loss = functional.cross_entropy(
            out.float().flatten(0, 1), x[:, 1:].flatten(), reduction="sum" if faulty("sum for mean") else "mean"
        )
        scaler.scale(loss).backward()
        if not faulty("scaler not unscaled"):
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
