"""Checkpoints: complete or not there at all, with everything that a run needs to continue as if it had not stopped."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from training_project import device as devices

if TYPE_CHECKING:
    from training_project.processes import Process

FORMAT = 1


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the message says why."""


def rng_states(process: Process) -> list[dict[str, Any]]:
    """The states of the random generators of every process."""
    mine = {"python": random.getstate(), "cpu": torch.get_rng_state(), "device": devices.rng_state(process.device)}
    return process.gather(_on_cpu(mine))


def restore_rng(states: list[dict[str, Any]], process: Process) -> None:
    """Restore this process's part of ``rng_states``."""
    mine = states[process.rank]
    random.setstate(mine["python"])
    torch.set_rng_state(mine["cpu"])
    devices.set_rng_state(process.device, mine["device"])


def save(state: dict[str, Any], path: Path) -> None:
    """Write ``state`` to ``path``: under a temporary name first, then renamed.

    Tensors are written as the CPU's, so that the file loads on any machine.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"format": FORMAT, **_on_cpu(state)}
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(whole, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint. It holds tensors and plain values only, so that reading it runs no code.

    Raises:
        CheckpointError: it is not there, damaged, or of another format.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(f"{path}: {error}") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint of this program, or from another version of it")
    return state


def newest(folder: Path) -> Path | None:
    """The checkpoint with the most steps."""
    return max(folder.glob("step-*.pt"), default=None)


def path_of(folder: Path, step: int) -> Path:
    """Names sort by step."""
    return folder / f"step-{step:09d}.pt"


def thin_out(folder: Path, keep: int) -> None:
    """Remove all but the newest ``keep`` checkpoints; ``best.pt`` is not among them."""
    for old in sorted(folder.glob("step-*.pt"))[:-keep]:
        old.unlink(missing_ok=True)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: _on_cpu(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_on_cpu(item) for item in value)
    return value
