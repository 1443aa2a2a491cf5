"""Checkpoints: written by rank 0, read by every rank onto its own GPU."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from .distributed import World, barrier


def save(folder: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int, world: World) -> None:
    if world.is_main:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        temporary = path / "last.pt.tmp"
        torch.save(state, temporary)
        os.replace(temporary, path / "last.pt")
    barrier(world)


def load(folder: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, world: World) -> int:
    """The step to go on from; 0 when there is no checkpoint."""
    path = Path(folder) / "last.pt"
    if not path.exists():
        return 0
    if world.device.type == "cuda":
        # rank 0 saved from cuda:0; every rank must load onto its own card
        map_location = {"cuda:0": f"cuda:{world.local_rank}"}
    else:
        map_location = "cpu"
    state = torch.load(path, map_location=map_location)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]
