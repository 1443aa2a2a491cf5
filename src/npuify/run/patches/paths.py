"""Paths stay as they are.

``transfer_to_npu`` replaces "cuda" in every text that its wrapped functions get by position, also in the path given to
torch.load, and "nccl" in the one given to init_process_group. What is passed by keyword it leaves alone.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_LEADING = {
    "torch.load": ("f", "map_location"),
    "torch.from_file": ("filename", "shared", "size"),
    "torch.distributed.init_process_group": ("backend", "init_method"),
}
"""Function → its first parameters, all of which can be given by keyword."""


def apply() -> None:
    """Pass those arguments by keyword."""
    for name, parameters in _LEADING.items():
        owner: Any = torch
        for part in name.split(".")[1:-1]:
            owner = getattr(owner, part, None)
        last = name.rpartition(".")[2]
        if owner is not None and hasattr(owner, last):
            setattr(owner, last, by_keyword(getattr(owner, last), parameters))
    if torch.distributed.is_available():
        torch.distributed.distributed_c10d.init_process_group = torch.distributed.init_process_group


def by_keyword(function: Callable[..., Any], parameters: tuple[str, ...]) -> Callable[..., Any]:
    """``function``, called with its first parameters by keyword."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = dict(zip(parameters, args, strict=False))
        if set(named) & set(kwargs):
            return function(*args, **kwargs)  # which says what is wrong
        return function(*args[len(parameters) :], **named, **kwargs)

    return call
