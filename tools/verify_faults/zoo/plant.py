"""The faults that can be planted in any model, and where in it they can."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .places import Places

_NORMS = ("layer_norm", "group_norm", "batch_norm", "instance_norm", "rms_norm", "normalize")
_ATTENTION = tuple(
    f"scaled_dot_product_attention{kind}"
    for kind in ("", " bool", " added", " causal", " bool shifted", " added shifted")
)


class Planted(NamedTuple):
    """A fault at a place."""

    fault: str
    module: str
    """Where it is planted: what has to be named."""
    what: str = ""
    """The function, where it is one's call."""


class Expected(NamedTuple):
    """What a comparison has to say of a fault."""

    kinds: tuple[str, ...]
    words: str = ""


FORWARD = ("forward", "overflow")
EXPECTED = {
    "attention scale": Expected(FORWARD),
    "mask sense turned": Expected(FORWARD),
    "causal diagonal": Expected(FORWARD),
    "float64 lost": Expected((*FORWARD, "float64-lost")),
    "epsilon lost": Expected(FORWARD),
    "gelu approximated": Expected(FORWARD),
    "corners aligned": Expected(FORWARD),
    "padding not counted": Expected(FORWARD),
    "half overflow": Expected(FORWARD),
    "eval for train": Expected(("mode",)),
    "frozen layer": Expected(("frozen",)),
    "wrong backward": Expected(("backward",)),
    "setting changed": Expected(("setting", *FORWARD)),
    "scaler not unscaled": Expected(("gradient-scale",), "unscale"),
    "LR off by two": Expected(("optimizer",), "2 times"),
    "weight decay lost": Expected(("optimizer",), "weight_decay"),
    "clipping lost": Expected(("gradient-scale", "update")),
    "data order off": Expected(("data-order",)),
    "loss not divided": Expected(("loss", "forward", "backward")),
}
"""By name: how each may be called. Where it has to be found stands in the plan."""

TRAINING = (
    "scaler not unscaled",
    "LR off by two",
    "weight decay lost",
    "clipping lost",
    "data order off",
    "loss not divided",
)
_IN_CALLS: dict[str, tuple[str, ...]] = {
    "attention scale": (*_ATTENTION, "softmax"),
    "mask sense turned": (*_ATTENTION[1:], "masked_fill low", "masked_fill_ low"),
    "causal diagonal": ("scaled_dot_product_attention causal", "scaled_dot_product_attention bool shifted"),
    "float64 lost": ("to float64", "double", "linspace float64", "arange float64"),
    "epsilon lost": (*_NORMS, "rsqrt"),
    "gelu approximated": ("gelu",),
    "corners aligned": ("interpolate smooth",),
    "padding not counted": ("avg_pool2d",),
}


def plan(name: str, models: Sequence[nn.Module], places: Places) -> list[Planted]:
    """One place for each fault that this model can have; which one, its name decides."""
    found = []
    for fault, calls in _IN_CALLS.items():
        where = sorted(key for key in places.seen if key[0] and key[1] in calls)
        if where:
            module, what = where[_choice(name, fault, len(where))]
            found.append(Planted(fault, module, what))
    named = [
        (f"{type(model).__name__}{'.' if path else ''}{path}", part)
        for model in models
        for path, part in model.named_modules()
    ]
    own = [(path, part) for path, part in named if path in places.called]

    def those(test: Callable[[nn.Module], bool]) -> list[str]:
        return [path for path, part in own if test(part)]

    # A parameter that two modules share is told by its first name.
    first: set[int] = set()
    shared: set[int] = set()
    for _, part in named:
        for one in part.parameters(recurse=False):
            (shared if id(one) in first else first).add(id(one))
    first = {id(one) for model in models for one in model.parameters() if one.requires_grad} - shared
    noisy = (nn.Dropout, nn.modules.batchnorm._BatchNorm, nn.MultiheadAttention)
    candidates = {
        "half overflow": those(lambda part: isinstance(part, (nn.Linear, nn.Conv2d, nn.Conv1d))),
        "wrong backward": those(lambda part: isinstance(part, (nn.Linear, nn.Conv2d, nn.LayerNorm))),
        "frozen layer": those(lambda part: any(id(one) in first for one in part.parameters(recurse=False))),
        "eval for train": those(lambda part: isinstance(part, noisy)),
        "setting changed": those(lambda part: hasattr(part, "eps")),
    }
    for fault, modules in candidates.items():
        if modules:
            found.append(Planted(fault, modules[_choice(name, fault, len(modules))]))
    first = _choice(name, "training", len(TRAINING))
    for fault in (TRAINING[first], TRAINING[(first + 2) % len(TRAINING)]):
        found.append(Planted(fault, "the program"))
    return found


def _choice(name: str, fault: str, count: int) -> int:
    return zlib.crc32(f"{name}/{fault}".encode()) % count


def plant(planted: Planted, models: Sequence[nn.Module], places: Places) -> None:
    """Plant a fault; those of training are the program's own to plant."""
    if planted.what:
        places.wanted = (planted.module, planted.what)
        places.change = _CHANGES[planted.fault]
        return
    module = next(
        (
            part
            for model in models
            for path, part in model.named_modules()
            if f"{type(model).__name__}{'.' if path else ''}{path}" == planted.module
        ),
        None,
    )
    if module is None:
        return
    if planted.fault == "half overflow":
        module.register_forward_hook(_overflowing)
    elif planted.fault == "wrong backward":
        module.register_forward_hook(lambda _, __, given: _Halved.apply(given))
    elif planted.fault == "frozen layer":
        for parameter in module.parameters(recurse=False):
            parameter.requires_grad_(False)
    elif planted.fault == "eval for train":
        module.eval()
    elif planted.fault == "setting changed":
        module.eps = float(module.eps) * 100 if module.eps else 1e-5  # type: ignore[arg-type]


def _overflowing(_module: nn.Module, _given: Any, result: torch.Tensor) -> torch.Tensor:
    factor = 70000.0 / float(result.detach().abs().max())
    return (result * factor).half().to(result.dtype) / factor


class _Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 0.5


def _scale(original: Any, args: Any, kwargs: Any) -> Any:
    if original.__name__ == "softmax":
        return original(args[0] * 0.5, *args[1:], **kwargs)
    kwargs["scale"] = 0.5 * (kwargs.get("scale") or args[0].shape[-1] ** -0.5)
    return original(*args, **kwargs)


def _mask(original: Any, args: Any, kwargs: Any) -> Any:
    args = list(args)
    if original.__name__.startswith("masked_fill"):
        args[1] = ~args[1]
        return original(*args, **kwargs)
    if kwargs.get("is_causal"):
        kwargs["is_causal"] = False
        kwargs["attn_mask"] = _square(args).triu()
        return original(*args, **kwargs)
    place = "attn_mask" if "attn_mask" in kwargs else 3
    where: Any = kwargs if place == "attn_mask" else args
    mask = where[place]
    where[place] = ~mask if mask.dtype is torch.bool else torch.where(mask < 0, 0.0, mask.min()).to(mask.dtype)
    return original(*args, **kwargs)


def _square(args: Any) -> torch.Tensor:
    return torch.ones(args[0].shape[-2], args[1].shape[-2], dtype=torch.bool, device=args[0].device)


def _diagonal(original: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("is_causal"):
        kwargs["is_causal"] = False
        kwargs["attn_mask"] = _square(args).tril(1)
    else:
        kwargs["attn_mask"] = _square(args).tril()
    return original(*args, **kwargs)


def _single(original: Any, args: Any, kwargs: Any) -> Any:
    if original.__name__ == "double":
        return args[0].float()
    args = [torch.float32 if one is torch.float64 else one for one in args]
    return original(*args, **{key: torch.float32 if one is torch.float64 else one for key, one in kwargs.items()})


def _epsilon(original: Any, args: Any, kwargs: Any) -> Any:
    name = original.__name__
    if name == "rsqrt":
        return original(args[0] - 1e-5 * (args[0] > 2e-5), *args[1:], **kwargs)
    at = {"layer_norm": 4, "group_norm": 4, "batch_norm": 7, "instance_norm": 7, "rms_norm": 3, "normalize": 3}[name]
    args = list(args)
    if len(args) > at:
        args[at] = 1e-20
    else:
        kwargs["eps"] = 1e-20
    return original(*args, **kwargs)


def _with(**changed: Any) -> Any:
    def change(original: Any, args: Any, kwargs: Any) -> Any:
        return original(*args, **{**kwargs, **{key: one(kwargs) for key, one in changed.items()}})

    return change


def _uncounted(original: Any, args: Any, kwargs: Any) -> Any:
    names = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
    return original(**{**kwargs, "count_include_pad": not kwargs.get("count_include_pad", True)})


_CHANGES = {
    "attention scale": _scale,
    "mask sense turned": _mask,
    "causal diagonal": _diagonal,
    "float64 lost": _single,
    "epsilon lost": _epsilon,
    "gelu approximated": _with(approximate=lambda _: "tanh"),
    "corners aligned": _with(align_corners=lambda kwargs: not kwargs.get("align_corners")),
    "padding not counted": _uncounted,
}
