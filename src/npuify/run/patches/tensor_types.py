"""The legacy tensor types: ``torch.cuda.FloatTensor`` in ``x.type(…)``, ``isinstance``, calls, and as the default.

torch_npu refuses them as default type, and ``x.type("torch.cuda.FloatTensor")`` asks for CUDA. As ``transfer_to_npu``
does it, DoubleTensor means 32 bits.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from npuify.language import phrase
from npuify.run import record
from npuify.run.device_text import DeviceText
from npuify.run.frames import asking, wants_cuda

_DTYPES = {
    "Float": torch.float32,
    "Double": torch.float32,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


class _Type(type):
    """The class of such types."""

    dtype: torch.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device", None)
        if not args or all(isinstance(arg, int) for arg in args):
            return torch.empty(args or (0,), dtype=cls.dtype, device="npu")
        if len(args) == 1 and isinstance(args[0], torch.Size):
            return torch.empty(args[0], dtype=cls.dtype, device="npu")
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            return args[0].to(device="npu", dtype=cls.dtype)
        return torch.tensor(*args, dtype=cls.dtype, device="npu")

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.device.type == "npu" and instance.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


TYPES: dict[str, Any] = {
    f"torch.cuda.{name}Tensor": _Type(f"{name}Tensor", (), {"dtype": dtype, "__module__": "torch.cuda"})
    for name, dtype in _DTYPES.items()
}


def _named(kind: Any) -> Any:
    """The type that a text, or such a type, names; None where it is none of CUDA's or the NPU's."""
    if isinstance(kind, str):
        return TYPES.get(str.__str__(kind).replace("torch.npu.", "torch.cuda."))
    return kind if isinstance(kind, _Type) else None


def apply() -> None:
    """Put the types, and what takes them, in place."""
    for name, kind in TYPES.items():
        setattr(torch.cuda, name.rpartition(".")[2], kind)
    plain: Any = torch.Tensor.type

    @functools.wraps(plain)
    def type_of(self: Any, dtype: Any = None, non_blocking: bool = False, **more: Any) -> Any:
        if dtype is None:
            found: str = plain(self)
            return DeviceText(found) if ".npu." in found and wants_cuda(asking(sys._getframe(1))) else found
        wanted = _named(dtype)
        if wanted is None:
            return plain(self, dtype, non_blocking, **more)
        _record("torch.Tensor.type", dtype, phrase('.to("npu", {dtype})', dtype=wanted.dtype), dtype)
        return self.to(device="npu" if self.device.type != "npu" else self.device, dtype=wanted.dtype)

    default: Any = torch.set_default_tensor_type

    @functools.wraps(default)
    def set_default_tensor_type(kind: Any) -> None:
        wanted = _named(kind)
        if wanted is None:
            default(kind)
            if _moved:
                _moved.clear()
                torch.set_default_device(None)
            return
        _record(
            "torch.set_default_tensor_type",
            kind,
            phrase('set_default_device("npu"), {dtype}', dtype=wanted.dtype),
            kind,
        )
        _moved.append(True)
        torch.set_default_dtype(wanted.dtype)
        torch.set_default_device("npu")

    torch.Tensor.type, torch.set_default_tensor_type = type_of, set_default_tensor_type


_moved: list[bool] = []
"""Whether the default device was moved in place of the default type."""


def _record(name: str, given: Any, became: str, kind: Any) -> None:
    status = record.CHANGED if "Double" in str(kind) else record.EXACT
    record.call(record.caller(asking(sys._getframe(2))), name, f"({given!r})", became, status, "tensor-types")
