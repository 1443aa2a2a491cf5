"""Checkpoints that were saved on CUDA: each storage says ``cuda:0``, which the NPU's machine cannot restore."""

from __future__ import annotations

import functools
from typing import Any

import torch

from npuify.run.device_text import npu_text

_BEFORE_OTHERS = 5
"""Packages with a lower number are asked first; torch's own begin with 10."""


def apply() -> None:
    """Restore such storages on the NPU of the same number, and find them in tables given as map_location."""
    serialization: Any = torch.serialization

    def deserialize(storage: Any, location: str) -> Any:
        if not isinstance(location, str) or not location.startswith("cuda"):
            return None
        return serialization.default_restore_location(storage, npu_text(location))

    serialization.register_package(_BEFORE_OTHERS, lambda storage: None, deserialize)
    load = torch.load

    @functools.wraps(load)
    def with_table(*args: Any, **kwargs: Any) -> Any:
        table = kwargs.get("map_location")
        if table is None and len(args) > 1 and isinstance(args[1], dict):
            args, table = (args[0], *args[2:]), args[1]
        if isinstance(table, dict):
            kwargs["map_location"] = mover(table)
        return load(*args, **kwargs)

    torch.load = with_table


def mover(table: dict[Any, Any]) -> Any:
    """A function for map_location that does what a table does, which is keyed by CUDA's names or by the NPU's."""
    wanted = {npu_text(str(key)): npu_text(str(value)) for key, value in table.items()}

    def move(storage: Any, location: str) -> Any:
        there = npu_text(location)
        return torch.serialization.default_restore_location(storage, wanted.get(there, there))

    return move
