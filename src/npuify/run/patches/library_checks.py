"""Libraries whose checks ``transfer_to_npu`` answers with "no CUDA".

It does so by taking torch.cuda.is_available away while the check runs, and does not put it back where the check raises:
from then on the whole program finds no device.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import torch


def apply() -> None:
    """Put torch.cuda.is_available back after each such check, however it ends."""
    transfer: Any = sys.modules.get("torch_npu.contrib.transfer_to_npu")
    place = getattr(transfer, "__file__", None)
    file = Path(place).with_name("apis_config.json") if place else None
    if file is None or not file.is_file():
        return  # the simulated one puts it back itself
    for library in json.loads(file.read_text(encoding="utf-8")).values():
        for name in library.get("apis", {}):
            owner, last = _owner(name)
            if owner is not None and hasattr(owner, last):
                setattr(owner, last, careful(getattr(owner, last)))


def _owner(name: str) -> tuple[Any, str]:
    """The module or class that has a name, if its library was imported."""
    path, _, last = name.rpartition(".")
    if path in sys.modules:
        return sys.modules[path], last
    outer, _, inner = path.rpartition(".")
    return getattr(sys.modules.get(outer), inner, None), last


def careful(function: Any) -> Any:
    """``function``, after which torch.cuda.is_available is what it was."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch.cuda.is_available
        try:
            return function(*args, **kwargs)
        finally:
            torch.cuda.is_available = before

    return call
