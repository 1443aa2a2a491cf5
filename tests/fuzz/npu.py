"""Loads the simulated NPU into the process that the programs are forked from, so that none has to do it again.

``undo_transfer`` takes back what ``transfer_to_npu`` does, so that many programs can run in one process.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

torch._import_device_backends()

from npuify.simulator import state, transfer  # noqa: E402 - it belongs to the backend


def _owners() -> list[Any]:
    """The modules and classes whose names it changes."""
    names = [
        name
        for name in state.table["transfer_patches"]
        if name.startswith("torch.") and not name.startswith(transfer._LEFT)
    ]
    owners = {name.rpartition(".")[0] for name in names} | set(transfer._MODULES)
    found = [transfer._find_or_none(owner) for owner in sorted(owners)]
    return list({id(one): one for one in found if hasattr(one, "__dict__")}.values())


_MISSING = object()
_BEFORE = [(owner, dict(vars(owner))) for owner in _owners()]
_BACKENDS = dict(torch.distributed.Backend.default_device_backend_map)


def undo_transfer() -> None:
    """As no program had asked for it yet."""
    if not transfer._done:
        return
    for owner, names in _BEFORE:
        for name, value in list(vars(owner).items()):
            before = names.get(name, _MISSING)
            if before is _MISSING:
                delattr(owner, name)
            elif before is not value:
                setattr(owner, name, before)
    torch.distributed.Backend.default_device_backend_map.update(_BACKENDS)
    transfer._done.clear()
    sys.modules.pop("torch_npu.contrib.transfer_to_npu", None)
    vars(sys.modules["torch_npu.contrib"]).pop("transfer_to_npu", None)
