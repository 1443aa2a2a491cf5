"""Models of our own: one of each kind that projects train."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .subject import Subject, single

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def images(count: int, size: int, channels: int = 3, classes: int = 10) -> tuple[torch.Tensor, torch.Tensor]:
    """Smooth pictures of some classes, and which of them each is."""
    labels = torch.randint(0, classes, (count,))
    coarse = torch.randn(classes, channels, 4, 4)[labels]
    smooth = functional.interpolate(coarse, size=(size, size), mode="bilinear", align_corners=False)
    return smooth + 0.3 * torch.randn(count, channels, size, size), labels


def sentences(count: int, length: int, words: int) -> torch.Tensor:
    """Rows of words in which each word makes some others likely."""
    start = torch.randint(0, words, (count, 1))
    steps = torch.randint(1, 4, (count, length)).cumsum(1)
    return (start + steps) % words


def tokens_loss(scores: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """The loss of guessing each next word."""
    return functional.cross_entropy(scores.float().flatten(0, 1), words.flatten())


class Tagger(nn.Module):
    """Two LSTMs in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(60, 24)
        self.lstm = nn.LSTM(24, 32, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 9)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.lstm(self.words(words))[0]))


def lstm_tagger() -> Subject:
    words = sentences(48, 14, 60)
    return Subject([Tagger()], [words, words % 9], single(lambda model, x, y: tokens_loss(model(x), y)))


class Unrolled(nn.Module):
    """A cell of a GRU, called once for each time."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(6, 40)
        self.head = nn.Sequential(nn.LayerNorm(40), nn.GELU(), nn.Linear(40, 6))

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        state = series.new_zeros(len(series), 40)
        said = []
        for value in series.unbind(1):
            state = self.cell(value, state)
            said.append(self.head(state))
        return torch.stack(said, 1)


def gru_series() -> Subject:
    time = torch.linspace(0, 12, 11)[None, :, None] + torch.rand(48, 1, 6) * 6
    series = time.sin() + 0.1 * torch.randn_like(time)
    loss = single(lambda model, x: functional.smooth_l1_loss(model(x[:, :-1]).float(), x[:, 1:].float()))
    return Subject([Unrolled()], [series], loss, rate=3e-3)


class Generator(nn.Module):
    """Noise to pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(16, 32 * 4 * 4)
        self.up = nn.Sequential(
            nn.BatchNorm2d(32),
            nn.ConvTranspose2d(32, 24, 4, 2, 1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(24, 3, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.up(self.start(noise).unflatten(1, (32, 4, 4)))


class Critic(nn.Module):
    """Pictures to whether they are real."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(3, 24, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Dropout2d(0.25),
            nn.Conv2d(24, 32, 4, 2, 1, bias=False),
            nn.InstanceNorm2d(32, affine=True),
            nn.LeakyReLU(0.2),
        )
        self.head = nn.Linear(32 * 4 * 4, 1)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.head(self.look(pictures).flatten(1))


def gan() -> Subject:
    def losses(models: Any, real: torch.Tensor) -> Any:
        generator, critic = models
        noise = torch.randn(len(real), 16, device=real.device, dtype=real.dtype)
        ones = torch.ones(len(real), 1, device=real.device)
        judge = functional.binary_cross_entropy_with_logits
        made = generator(noise)
        yield judge(critic(real).float(), ones) + judge(critic(made.detach()).float(), 1 - ones), 1
        yield judge(critic(made).float(), ones), 0

    return Subject([Generator(), Critic()], [images(48, 16)[0].tanh()], losses, batch=8, rate=2e-4)


class Translator(nn.Module):
    """torch's own transformer, with padding and a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 32, padding_idx=0)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(32, 50)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        causal = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device), 1)
        padding = source == 0
        x = self.words(source) * math.sqrt(32)
        y = self.words(target) * math.sqrt(32)
        return self.head(
            self.transformer(x, y, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        )


def translation() -> Subject:
    source, target = sentences(48, 10, 49) + 1, sentences(48, 9, 49) + 1
    source = source.masked_fill(torch.arange(10)[None, :] >= torch.randint(6, 11, (48, 1)), 0)
    loss = single(lambda model, x, y: tokens_loss(model(x, y[:, :-1]), y[:, 1:]))
    return Subject([Translator()], [source, target], loss)


class Patches(nn.Module):
    """A vision transformer on torch's encoder layers, norm first."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, 48, 4, 4)
        self.place = nn.Parameter(torch.randn(1, 17, 48) * 0.02)
        self.first = nn.Parameter(torch.zeros(1, 1, 48))
        layer = nn.TransformerEncoderLayer(48, 4, 96, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(48)
        self.head = nn.Linear(48, 10)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        x = self.cut(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1).to(x.dtype), x], 1) + self.place
        return self.head(self.norm(self.encoder(x))[:, 0])


def classes_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss of a classifier."""
    return functional.cross_entropy(model(x).float(), y, label_smoothing=0.1)


def vit() -> Subject:
    return Subject([Patches()], images(48, 16), single(classes_loss))


class Double(nn.Module):
    def __init__(self, taken: int, given: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(taken, given, 3, padding=1), nn.GroupNorm(4, given), nn.SiLU(),
            nn.Conv2d(given, given, 3, padding=1), nn.GroupNorm(4, given), nn.SiLU(),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


class Segmenter(nn.Module):
    """Down, up, and across."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([Double(3, 16), Double(16, 32)])
        self.middle = Double(32, 48)
        self.up = nn.ModuleList([Double(48 + 32, 32), Double(32 + 16, 16)])
        self.head = nn.Conv2d(16, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.middle(x)
        for part in self.up:
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
            x = part(torch.cat([kept.pop(), x], 1))
        return self.head(x)


def unet() -> Subject:
    pictures, _ = images(24, 16)
    loss = single(lambda model, x, y: functional.cross_entropy(model(x).float(), y))
    return Subject([Segmenter()], [pictures, (pictures.sum(1) * 2).long() % 4], loss)


class Autoencoder(nn.Module):
    """A variational one."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(768, 64), nn.Softplus(), nn.Linear(64, 16))
        self.decode = nn.Sequential(nn.Linear(8, 64), nn.ELU(), nn.Linear(64, 768), nn.Sigmoid())

    def forward(self, x: torch.Tensor) -> Any:
        mean, spread = self.encode(x).chunk(2, -1)
        hidden = mean + torch.randn_like(spread) * (0.5 * spread).exp()
        return self.decode(hidden), mean, spread


def vae() -> Subject:
    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        made, mean, spread = (one.float() for one in model(x))
        apart = functional.binary_cross_entropy(made, x.flatten(1).float(), reduction="sum")
        return (apart - 0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()) / len(x)

    return Subject([Autoencoder()], [images(48, 16)[0].sigmoid()], single(loss))


class Denoiser(nn.Module):
    """Says what noise is in a picture, at a time; its schedule is float64, as those of diffusion models are."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 24))
        self.first = nn.Conv2d(3, 24, 3, padding=1)
        self.norm = nn.GroupNorm(6, 24)
        self.second = nn.Conv2d(24, 24, 3, padding=1)
        self.last = nn.Conv2d(24, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        rates = torch.exp(-math.log(10000.0) * torch.arange(16, device=x.device) / 16)
        angles = when[:, None].float() * rates[None]
        told = self.time(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype))
        x = self.first(x) + told[:, :, None, None]
        return self.last(functional.silu(self.second(functional.silu(self.norm(x)))))


class Schedule(nn.Module):
    """How much noise there is at a time."""

    def forward(self, x: torch.Tensor, noise: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        betas = torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64, device=x.device)
        left = torch.cumprod(1 - betas, 0)[when][:, None, None, None]
        return (left.sqrt() * x + (1 - left).sqrt() * noise).to(x.dtype)


def diffusion() -> Subject:
    schedule = Schedule()

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        when = torch.randint(0, 1000, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        return functional.mse_loss(model(schedule(x, noise, when), when).float(), noise.float())

    return Subject([Denoiser()], [images(32, 16)[0]], single(loss))


class Experts(nn.Module):
    """The best two of some small networks, for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4, bias=False)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(32, 48), nn.SiLU(), nn.Linear(48, 32)) for _ in range(4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        given = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, which = (chosen == number).nonzero(as_tuple=True)
            if len(rows):
                given = given.index_add(0, rows, expert(flat[rows]) * weights[rows, which, None].to(flat.dtype))
        return given.view_as(x)


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 32)
        self.norms = nn.ModuleList([nn.RMSNorm(32, eps=1e-6) for _ in range(2)])
        self.parts = nn.ModuleList([Experts() for _ in range(2)])
        self.head = nn.Linear(32, 40)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        x = x + x.cumsum(1) / torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)[None, :, None]
        for norm, part in zip(self.norms, self.parts, strict=True):
            x = x + part(norm(x))
        return self.head(x)


def mixture() -> Subject:
    loss = single(lambda model, x: tokens_loss(model(x[:, :-1]), x[:, 1:]))
    return Subject([Mixture()], [sentences(48, 13, 40)], loss)


class Continuing(nn.Module):
    """Attention to what was kept from before: the mask's diagonal begins behind it, rotations are float64."""

    def __init__(self) -> None:
        super().__init__()
        self.take = nn.Linear(32, 96)
        self.give = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        q = self.take(x)[..., :32]
        k, v = self.take(torch.cat([kept, x], 1))[..., 32:].chunk(2, -1)
        q, k = self.turned(q, kept.shape[1]), self.turned(k, 0)
        q, k, v = (one.unflatten(-1, (4, 8)).transpose(1, 2) for one in (q, k, v))
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(kept.shape[1])
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.give(mixed.transpose(1, 2).flatten(2))

    def turned(self, x: torch.Tensor, start: int) -> torch.Tensor:
        places = torch.arange(start, start + x.shape[1], device=x.device).to(torch.float64) * 31.0 + 9_000_000.0
        angles = places[:, None] * torch.exp(-torch.arange(16, device=x.device).to(torch.float64) / 4)[None]
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        left, right = x.chunk(2, -1)
        return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 32)
        self.attention = nn.ModuleList([Continuing() for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(2)])
        self.head = nn.Linear(32, 40)

    def forward(self, before: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        kept, x = self.words(before), self.words(words)
        for norm, attention in zip(self.norms, self.attention, strict=True):
            x = x + attention(norm(x), norm(kept))
        return self.head(x)


def cached_decoder() -> Subject:
    loss = single(lambda model, x: tokens_loss(model(x[:, :5], x[:, 5:-1]), x[:, 6:]))
    return Subject([Reader()], [sentences(48, 14, 40)], loss)


class Graph(nn.Module):
    """Neighbours' values, gathered by scatter_add."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 32)
        self.second = nn.Linear(32, 5)
        self.dropout = nn.Dropout(0.5)

    def forward(self, values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return self.gathered(self.second(self.dropout(self.gathered(self.first(values), edges).relu())), edges)

    def gathered(self, values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        start, end = edges.unbind(-1)
        taken = values.gather(1, start[..., None].expand(-1, -1, values.shape[-1]))
        total = torch.zeros_like(values).scatter_add(1, end[..., None].expand_as(taken), taken)
        count = torch.zeros_like(values[..., 0]).scatter_add(1, end, torch.ones_like(end, dtype=values.dtype))
        return (total + values) / (count + 1).sqrt()[..., None]


def graph() -> Subject:
    values, edges = torch.randn(32, 20, 12), torch.randint(0, 20, (32, 60, 2))
    labels = values.sum(-1).long() % 5
    loss = single(lambda model, x, e, y: tokens_loss(model(x, e), y))
    return Subject([Graph()], [values, edges, labels], loss, rate=1e-2)


class Towers(nn.Module):
    """Pictures and sentences in one space."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.Hardswish(),
            nn.AvgPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 24),
        )  # fmt: skip
        self.words = nn.EmbeddingBag(40, 24)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, pictures: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        left = functional.normalize(self.look(pictures), dim=-1)
        right = functional.normalize(self.words(words), dim=-1)
        return self.scale.exp() * left @ right.t()


def contrast() -> Subject:
    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scores = model(x, y).float()
        same = torch.arange(len(x), device=x.device)
        return (functional.cross_entropy(scores, same) + functional.cross_entropy(scores.t(), same)) / 2

    return Subject([Towers()], [images(48, 16)[0], sentences(48, 7, 40)], single(loss), batch=8, half=False)


class Waves(nn.Module):
    """Dilated convolutions over time with normalised weights."""

    def __init__(self) -> None:
        super().__init__()
        normed = nn.utils.parametrizations.weight_norm
        self.first = nn.Conv1d(1, 16, 1)
        self.gates = nn.ModuleList([normed(nn.Conv1d(16, 32, 2, dilation=2**i)) for i in range(3)])
        self.across = nn.ModuleList([nn.Conv1d(16, 16, 1) for _ in range(3)])
        self.head = nn.Conv1d(16, 32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for number, (gate, across) in enumerate(zip(self.gates, self.across, strict=True)):
            left, right = gate(functional.pad(x, (2**number, 0))).chunk(2, 1)
            x = x + across(left.tanh() * right.sigmoid())
        return self.head(functional.leaky_relu(x, 0.1))


def waves() -> Subject:
    time = torch.arange(40)[None, :] * (0.2 + torch.rand(32, 1))
    wave = time.sin() * 0.7 + 0.05 * torch.randn(32, 40)
    classes = ((wave[:, 1:].clamp(-1, 1) + 1) * 15.5).long()
    loss = single(lambda model, x, y: functional.cross_entropy(model(x).float(), y))
    return Subject([Waves()], [wave[:, None, :-1], classes], loss)


def _example(name: str) -> Any:
    sys.path.insert(0, str(EXAMPLES / name))
    import importlib

    return importlib.import_module("model")


def example_classifier() -> Subject:
    model = _example("image_classification").build_model(8)
    return Subject([model], images(48, 16, classes=4), single(classes_loss), adam=False, rate=0.05)


def example_gpt() -> Subject:
    module = _example("small_gpt")
    model = module.GPT(module.GPTConfig(layers=2, width=64))

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        given = model(x[:, :-1])
        scores = given[0] if isinstance(given, tuple) else given
        return tokens_loss(scores, x[:, 1:])

    return Subject([model], [sentences(48, 17, 14)], single(loss))


SUBJECTS = {
    "lstm tagger": lstm_tagger,
    "gru series": gru_series,
    "gan": gan,
    "translation": translation,
    "vit": vit,
    "unet": unet,
    "vae": vae,
    "diffusion": diffusion,
    "mixture of experts": mixture,
    "cached decoder": cached_decoder,
    "graph": graph,
    "contrast": contrast,
    "waves": waves,
    "example classifier": example_classifier,
    "example gpt": example_gpt,
}
