"""Reads a YAML file and applies ``--set a.b=value``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import yaml


@dataclass
class ModelConfig:
    vocabulary: int = 256
    tags: int = 8
    hidden: int = 128
    layers: int = 2


@dataclass
class DataConfig:
    length: int = 64
    size: int = 4096
    workers: int = 2


@dataclass
class TrainConfig:
    device: str = "cuda"
    batch_size: int = 32
    steps: int = 500
    lr: float = 1e-3
    log_every: int = 20
    save_every: int = 200
    seed: int = 1234
    sync_batchnorm: bool = False


@dataclass
class DistributedConfig:
    backend: str = "nccl"
    timeout_minutes: int = 30


@dataclass
class Config:
    name: str = "tagger"
    output: str = "runs/cuda/default"
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    distributed: DistributedConfig = field(default_factory=DistributedConfig)


def _fill(target: Any, values: dict, where: str) -> None:
    known = {f.name for f in fields(target)}
    for key, value in values.items():
        if key not in known:
            raise SystemExit(f"{where}{key}: no such setting")
        current = getattr(target, key)
        if is_dataclass(current):
            _fill(current, value, f"{where}{key}.")
        else:
            setattr(target, key, type(current)(value))


def load(path: str, overrides: list[str]) -> Config:
    config = Config()
    with open(path, encoding="utf-8") as stream:
        _fill(config, yaml.safe_load(stream), "")
    for text in overrides:
        name, _, value = text.partition("=")
        nested: Any = yaml.safe_load(value)
        for part in reversed(name.split(".")):
            nested = {part: nested}
        _fill(config, nested, "")
    return config
