"""Watches which module calls which function of torch by itself, and changes the call in one of them.

Functions are replaced where models look them up: in ``torch``, in ``torch.nn.functional`` and in ``torch.Tensor``. A
model that took a function out of there before is not reached; what is not reached is no place for a fault.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.nn.modules import module as hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "scaled_dot_product_attention": (functional,),
    "softmax": (functional, torch, torch.Tensor),
    "masked_fill": (torch, torch.Tensor),
    "masked_fill_": (torch.Tensor,),
    "layer_norm": (functional,),
    "group_norm": (functional,),
    "batch_norm": (functional,),
    "instance_norm": (functional,),
    "rms_norm": (functional,),
    "normalize": (functional,),
    "rsqrt": (torch, torch.Tensor),
    "gelu": (functional,),
    "interpolate": (functional,),
    "avg_pool2d": (functional,),
    "to": (torch.Tensor,),
    "double": (torch.Tensor,),
    "linspace": (torch,),
    "arange": (torch,),
}
"""By name: where each can be looked up."""

Change = "Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]"


class Places:
    """Knows the module at work, and lets ``change`` do some calls of one module instead."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.at_work: list[str] = []
        self.called: set[str] = set()
        self.seen: Counter[tuple[str, str]] = Counter()
        self.wanted: tuple[str, str] = ("", "")
        self.change: Any = None
        self._inside = False

    def know(self, models: Sequence[torch.nn.Module]) -> None:
        """Learn the names of these models' modules."""
        for model in models:
            for path, part in model.named_modules():
                self.names.setdefault(id(part), f"{type(model).__name__}{'.' if path else ''}{path}")

    def _enter(self, module: torch.nn.Module, _given: Any) -> None:
        name = self.names.get(id(module), "")
        self.called.add(name)
        self.at_work.append(name)

    def _leave(self, *_given: Any) -> None:
        self.at_work.pop()

    def install(self) -> None:
        """Put the watch into torch, before a model is made: some take functions out of it as they are made."""
        hooks.register_module_forward_pre_hook(self._enter)
        hooks.register_module_forward_hook(self._leave, always_call=True)
        for name, owners in FUNCTIONS.items():
            for owner in owners:
                if hasattr(owner, name):
                    setattr(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            if self._inside or not self.at_work:
                return original(*args, **kwargs)
            place = self.at_work[-1]
            variant = name + variant_of(name, args, kwargs)
            self.seen[place, variant] += 1
            if (place, variant) != self.wanted:
                return original(*args, **kwargs)
            self._inside = True
            try:
                return self.change(original, args, kwargs)
            finally:
                self._inside = False

        return called


def variant_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What of a call decides which fault can be planted in it."""
    if name == "scaled_dot_product_attention":
        mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
        shifted = "" if args[0].shape[-2] == args[1].shape[-2] else " shifted"
        if isinstance(mask, torch.Tensor):
            return (" bool" if mask.dtype is torch.bool else " added") + shifted
        return " causal" if kwargs.get("is_causal") else ""
    if name in ("to", "linspace", "arange"):
        return " float64" if torch.float64 in (*args, *kwargs.values()) else " else"
    if name == "softmax":
        return "" if args[0].dim() >= 3 and args[0].is_floating_point() else " flat"
    if name in ("masked_fill", "masked_fill_"):
        low = isinstance(args[2] if len(args) > 2 else kwargs.get("value"), (int, float))
        low = low and (args[2] if len(args) > 2 else kwargs["value"]) < -1000
        return " low" if low else " else"
    if name == "interpolate":
        return " smooth" if kwargs.get("mode") in ("bilinear", "bicubic", "linear") else ""
    if name == "gelu":
        return "" if kwargs.get("approximate", "none") == "none" else " tanh"
    return ""
