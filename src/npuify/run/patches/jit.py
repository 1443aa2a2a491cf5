"""``torch.jit.script`` is switched off by ``transfer_to_npu``: it gives back what it gets, which cannot be saved.

Here, saving scripts a copy on the CPU, as late as that.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch

from npuify.run.early import before_transfer


def apply() -> None:
    """Let what is no longer scripted be saved, frozen and optimised."""
    jit: Any = torch.jit
    script: Any = before_transfer("torch.jit.script")
    if script is None or script is jit.script:
        return
    off = jit.script
    save = jit.save

    def scripted(obj: Any) -> Any:
        if isinstance(obj, (jit.ScriptModule, jit.ScriptFunction)):
            return obj
        if isinstance(obj, torch.nn.Module):
            obj = copy.deepcopy(obj).cpu()
            obj.__dict__.pop("save", None)
        return script(obj)

    @functools.wraps(save)
    def save_scripted(m: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        return save(scripted(m), f, *args, **kwargs)

    @functools.wraps(off)
    def script_off(obj: Any, *args: Any, **kwargs: Any) -> Any:
        given = off(obj, *args, **kwargs)
        if isinstance(given, torch.nn.Module) and not isinstance(given, jit.ScriptModule):
            given.__dict__["save"] = functools.partial(save_scripted, given)
        return given

    jit.script, jit.save = script_off, save_scripted
    for name in ("freeze", "optimize_for_inference"):
        if hasattr(jit, name):
            setattr(jit, name, _only_scripted(getattr(jit, name)))


def _only_scripted(function: Any) -> Any:
    @functools.wraps(function)
    def call(mod: Any, *args: Any, **kwargs: Any) -> Any:
        return function(mod, *args, **kwargs) if isinstance(mod, torch.jit.ScriptModule) else mod

    return call
