"""``torch.device("cuda")`` makes the NPU's device.

``transfer_to_npu`` leaves torch.device alone, so that ``x.device == torch.device("cuda:0")`` is false on an NPU, and
every function that it does not wrap is handed a device of CUDA. torch's class cannot be derived from; a class of the
same name takes its place, which makes objects of torch's.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from npuify.run import record
from npuify.run.device_text import npu_text

REAL: Any = torch.device


class _Meta(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return make(args, kwargs, sys._getframe(1))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, REAL)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, REAL)

    def __getattr__(cls, name: str) -> Any:
        return getattr(REAL, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is REAL

    def __hash__(cls) -> int:
        return hash(REAL)

    def __repr__(cls) -> str:
        return repr(REAL)


def make(args: tuple[Any, ...], kwargs: dict[str, Any], frame: Any = None) -> Any:
    """A device of torch's, for what is given to ``torch.device``; NPU for CUDA.

    Raises:
        RuntimeError, TypeError: as torch's own class.
    """
    given = {**kwargs}
    texts = list(args)
    if texts and isinstance(texts[0], str):
        texts[0] = _npu(texts[0])
    if isinstance(given.get("type"), str):
        given["type"] = _npu(given["type"])
    if isinstance(given.get("device"), str):
        given["device"] = _npu(given["device"])
    made = REAL(*texts, **given)
    if made.type == "cuda":
        made = REAL("npu", made.index) if made.index is not None else REAL("npu")
    if record.is_on() and frame is not None and "cuda" in repr((args, kwargs)):
        place = record.caller(frame)
        record.call(place, "torch.device", _text(args, kwargs), f'torch.device("{made!s}")', record.EXACT, "devices")
    return made


def _npu(text: str) -> str:
    return npu_text(text) if str.startswith(text, "cuda") else str.__str__(text)


def _text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return "(" + ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())]) + ")"


Device = _Meta("device", (), {"__module__": "torch", "__doc__": REAL.__doc__})


def apply() -> None:
    """Put the class in torch.device's place."""
    torch.device = Device
