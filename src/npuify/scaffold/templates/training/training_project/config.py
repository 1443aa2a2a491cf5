"""The settings: a YAML file, with single values changed on the command line. A misspelt name is an error."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from training_project import device


class ConfigError(Exception):
    """An invalid setting; the message is for a person."""


@dataclass(frozen=True)
class Data:
    """The synthetic sequences."""

    samples: int = 4096
    validation_samples: int = 501
    length: int = 32
    vocabulary: int = 8
    noise: float = 0.05
    """Share of tokens that are replaced at random, differently in each epoch."""
    workers: int = 2


@dataclass(frozen=True)
class Model:
    """The transformer."""

    width: int = 64
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    checkpoint_activations: bool = False
    """Recompute activations in the backward pass: less memory, about a third more time."""


@dataclass(frozen=True)
class Optimization:
    """AdamW, its schedule, and the precision."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    schedule: str = "cosine"
    """``cosine`` (with a linear warm-up) or ``one-cycle``."""
    warmup_steps: int = 20
    precision: str = "auto"
    """``auto`` (bf16 where an accelerator has it, else fp16; fp32 on the CPU), ``bf16``, ``fp16`` or ``fp32``."""


@dataclass(frozen=True)
class Train:
    """The run."""

    device: str = "auto"
    output: str = "runs/default"
    epochs: int = 4
    batch_size: int = 32
    """Samples of one process in one forward pass. A step sees batch_size x accumulation x processes of them."""
    accumulation: int = 1
    seed: int = 1
    log_every: int = 10
    save_every: int = 50
    keep: int = 3
    exact_resume: bool = True
    """Refuse to resume from a checkpoint if the run cannot be continued bit by bit."""


@dataclass(frozen=True)
class Profile:
    """The profiler records ``steps`` steps, after ``start`` others; no steps: it is off."""

    start: int = 5
    steps: int = 0


@dataclass(frozen=True)
class Config:
    """All settings."""

    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    optimization: Optimization = field(default_factory=Optimization)
    train: Train = field(default_factory=Train)
    profile: Profile = field(default_factory=Profile)


def load(path: Path, overrides: list[str]) -> Config:
    """Read ``path``; ``overrides`` are ``section.name=value``, the value as YAML.

    Raises:
        ConfigError: the file cannot be read, or a setting does not exist or cannot have this value.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected sections with settings")
    for item in overrides:
        name, equals, text = item.partition("=")
        section, dot, key = name.partition(".")
        if not (equals and dot):
            raise ConfigError(f"{item!r} is not section.name=value")
        values.setdefault(section, {})[key] = yaml.safe_load(text)
    config = _build(Config, values, str(path))
    _check(config)
    return config


def _build(kind: type, values: dict[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise ConfigError(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(hints)}")
    made = {}
    for name, value in values.items():
        wanted = hints[name]
        if dataclasses.is_dataclass(wanted):
            made[name] = _build(wanted, value or {}, f"{where}: {name}")
        elif wanted is float and type(value) in (int, float):
            made[name] = float(value)
        elif type(value) is wanted:
            made[name] = value
        else:
            raise ConfigError(f"{where}: {name} is {value!r}, not a value of type {wanted.__name__}")
    return kind(**made)


def _check(config: Config) -> None:
    optimization, train = config.optimization, config.train
    for name, value, allowed in (
        ("schedule", optimization.schedule, ("cosine", "one-cycle")),
        ("precision", optimization.precision, ("auto", "bf16", "fp16", "fp32")),
        ("device", train.device, device.NAMES),
    ):
        if value not in allowed:
            raise ConfigError(f"{name} is {value!r}, not one of {', '.join(allowed)}")
    counts = ("epochs", "batch_size", "accumulation", "log_every", "save_every", "keep")
    wrong = [name for name in counts if getattr(train, name) < 1]
    if wrong:
        raise ConfigError(f"{', '.join(wrong)}: must be at least 1")
    if config.model.width % config.model.heads:
        raise ConfigError(f"width {config.model.width} is not divisible by {config.model.heads} heads")
