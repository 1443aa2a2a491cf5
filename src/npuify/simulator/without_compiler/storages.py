"""What PyTorch does through an allocator and a guard in C++, which a device in Python does not have."""

from __future__ import annotations

import functools
from typing import Any

import torch

from npuify.simulator import NotSimulated
from npuify.simulator.without_compiler import gaps
from npuify.simulator.without_compiler.memory import to_npu


def patch() -> None:
    """Let copies, files, pinned memory, generators and torch.accelerator work without an allocator of the device."""
    _copies()
    _files()
    _pinning()
    _generators()
    _resizing()
    _accelerator()


def _copies() -> None:
    before = torch.Tensor.__deepcopy__

    def deepcopy(self: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
        if self.device.type != "npu" or not self.is_leaf or id(self) in memo:
            return before(self, memo)
        with torch.no_grad():
            made = self.detach().clone()
            if type(self) is not torch.Tensor:
                made = made.as_subclass(type(self))
            made.__dict__.update(self.__dict__)
            if self.grad is not None:
                made.grad = self.grad.clone()
        made.requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made

    torch.Tensor.__deepcopy__ = deepcopy


def _files() -> None:
    """Storages made on the device: PyTorch asks an allocator for them, and the process ends if there is none."""
    make = torch.UntypedStorage.__new__

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs and torch.device(kwargs["device"]).type == "npu":
            size = args[0] if args else 0
            if isinstance(size, int):
                return to_npu(torch.empty(size, dtype=torch.uint8)).untyped_storage()
            return to_npu(torch.tensor(size, dtype=torch.uint8)).untyped_storage()
        return make(cls, *args, **kwargs)

    torch.UntypedStorage.__new__ = new


def _pinning() -> None:
    def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
        gaps.say("pinned memory")
        return self

    torch.Tensor.pin_memory = pin_memory


def _generators() -> None:
    base: Any = torch.Generator

    class Meta(type(torch.Generator)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, base)

    class Generator(base, metaclass=Meta):
        def __new__(cls, device: Any = "cpu") -> Any:
            if torch.device(device).type == "npu":
                gaps.say("random numbers")
                return base("cpu")
            return base(device)

    torch.Generator = Generator


def _resizing() -> None:
    """The error of PyTorch's own names a C++ interface that nobody who runs a program has heard of."""
    plain: Any = torch.UntypedStorage.resize_

    @functools.wraps(plain)
    def resize_(self: Any, size: int) -> Any:
        if self.device.type == "npu" and size != self.nbytes():
            why = gaps.GAPS["storage.resize_"]
            raise NotSimulated(f"storage.resize_ needs a C++ compiler: {why} (npuify simulate)")
        return plain(self, size)

    torch.UntypedStorage.resize_ = resize_


def _accelerator() -> None:
    """``torch.accelerator`` asks the guard to wait, and an allocator for numbers; ``torch.npu`` answers both."""
    for name in (
        *("synchronize", "empty_cache", "memory_stats", "memory_allocated", "max_memory_allocated"),
        *("memory_reserved", "max_memory_reserved", "reset_peak_memory_stats", "reset_accumulated_memory_stats"),
    ):
        if hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, _by_npu(name, getattr(torch.accelerator, name)))


def _by_npu(name: str, plain: Any) -> Any:
    @functools.wraps(plain)
    def ask(device: Any = None) -> Any:
        npu: Any = getattr(torch, "npu")  # noqa: B009 - added to torch by the simulator
        return getattr(npu, name)() if name == "empty_cache" else getattr(npu, name)(device)

    return ask
