"""Sees every operator of the traced program, lets fake tensors stand in for memory, and counts what ran where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from npuify.language import phrase
from npuify.trace.places import NOWHERE
from npuify.trace.values import Log, TooCostly, mapped, reason_of, run_real, tensors_of, written

if TYPE_CHECKING:
    from npuify.trace.places import Place, Places

_NEEDS_VALUES: tuple[type[BaseException], ...] = tuple(
    getattr(fake_tensor, name)
    for name in (
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "UnsupportedOperatorException",
        "UnsupportedFakeTensorException",
    )
    if hasattr(fake_tensor, name)
)
"""What fake tensors raise at an operator whose result, or its shape, depends on numbers; or that they do not know."""

_COMPATIBLE = torch.ops.aten._has_compatible_shallow_copy_type.default
_SHOWN = 8
_SCALAR = torch.ops.aten._local_scalar_dense.default


@dataclass
class Row:
    """Calls of one operator with one signature from one line."""

    count: int = 0
    bytes: int = 0
    """New memory of one call's results."""


@dataclass
class Read:
    """A place where the program needed numbers."""

    what: str
    place: Place
    computed: bool
    reason: str = ""
    value: str = ""
    count: int = 0


@dataclass
class Record:
    """What was seen so far."""

    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    reads: dict[tuple[Any, ...], Read] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    """Bytes of new memory on each kind of device."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Under it, tensors on an accelerator and parameters are fake; small tensors of the CPU, such as data, stay real.

    Args:
        places: finds the program's lines.
        limit: bytes of results that may be filled to compute one value that the program reads.
        seconds: time that computing such values may take in all.
        keep_real: bytes up to which new floating-point tensors of the CPU stay real.
    """

    def __init__(self, places: Places, limit: int, seconds: float, keep_real: int) -> None:
        super().__init__()
        self.places = places
        self.log = Log(limit, seconds)
        self.record = Record()
        self.in_optimizer = False
        self.stopped = False
        self.steps = 0
        self._keep_real = keep_real
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)
        self._lines: dict[int, Place] = {}
        self._last = NOWHERE
        self._sequence = getattr(torch.autograd, "_get_sequence_nr", None)
        self._node = getattr(torch._C, "_current_autograd_node", None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = list(tensors_of((args, kwargs)))
        if not self._abstract(tensors, kwargs):
            if tensors or not self._large(func, types, args, kwargs):
                return func(*args, **kwargs)
        if func is _COMPATIBLE:
            # A parameter takes over a fake tensor of another device; both are of one kind underneath.
            return True
        if func.namespace == "prim":
            return self._fake.__torch_dispatch__(func, types, args, kwargs)
        place = self._place()
        if func is _SCALAR:
            return self._read_scalar(func, args, place)
        if func._schema.is_mutable and self._writes_real(func, args, kwargs):
            return self._into_real(func, args, kwargs, place)
        try:
            result = self._fake.__torch_dispatch__(func, types, args, kwargs)
        except _NEEDS_VALUES as error:
            result = self._compute(func, args, kwargs, place, error)
        else:
            self.log.add(func, args, kwargs, result)
        self._count(func, tensors, args, kwargs, result, place)
        return result

    # What is fake

    def _abstract(self, tensors: list[torch.Tensor], kwargs: dict[str, Any]) -> bool:
        for tensor in tensors:
            if isinstance(tensor, FakeTensor) or tensor.device.type not in ("cpu", "meta"):
                return True
        device = kwargs.get("device")
        return device is not None and torch.device(device).type not in ("cpu", "meta")

    def _large(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a new tensor would be too large to be real. Whole numbers are data: indices and labels."""
        try:
            made = self._fake.__torch_dispatch__(func, types, args, kwargs)
        except Exception:
            return False
        return any(
            tensor.is_floating_point() and tensor.numel() * tensor.element_size() > self._keep_real
            for tensor in tensors_of(made)
        )

    def fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """A fake tensor like this real one, whose numbers are known."""
        if isinstance(tensor, FakeTensor):
            return tensor
        made = self._fake.from_tensor(tensor.detach())
        self.log.learn(made, tensor.detach())
        return made.requires_grad_(tensor.requires_grad) if tensor.is_floating_point() else made

    # Values

    def value(self, tensor: FakeTensor, what: str) -> torch.Tensor:
        """A fake tensor's numbers, computed or assumed; noted in the record."""
        place = self.places.here()
        try:
            found = self._without_modes(lambda: self.log.value(tensor))
        except Exception as error:
            found = torch.ones(tensor.shape, dtype=tensor.dtype)
            self._note(what, place, reason_of(error), "ones")
        else:
            self._note(what, place)
        return found

    @staticmethod
    def _without_modes(work: Any) -> Any:
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():
            return work()

    def _note(self, what: str, place: Place, reason: str = "", value: str = "") -> None:
        key = (what, place, reason, value)
        read = self.record.reads.setdefault(key, Read(what, place, not reason, reason, value))
        read.count += 1

    def _read_scalar(self, func: Any, args: Any, place: Place) -> Any:
        tensor = args[0]
        constant = getattr(tensor, "constant", None)
        if constant is not None:
            return func(constant)
        if "non_finite" in self.log.origin(tensor):
            # Whether gradients have overflown decides on a step. The first ones of a run are taken not to have.
            self._note("whether gradients are finite", place, "only a step with finite gradients is of interest", "yes")
            return 0.0
        try:
            found = func(self._without_modes(lambda: self.log.value(tensor)))
        except Exception as error:
            found = self._assumed(tensor)
            self._note("a number of a tensor", place, reason_of(error), str(found))
            return found
        self._note("a number of a tensor", place)
        return found

    def _assumed(self, tensor: torch.Tensor) -> Any:
        """A number for a tensor whose numbers are not known: one that makes a training program go on."""
        if tensor.dtype is torch.bool:
            return "isfinite" in self.log.origin(tensor)
        return 1.0 if tensor.is_floating_point() else 1

    def _compute(self, func: Any, args: Any, kwargs: dict[str, Any], place: Place, error: BaseException) -> Any:
        """Run an operator that needs numbers on real ones, and go on with fake tensors of its results."""
        what = phrase("{name}: its result depends on numbers", name=func._schema.name.replace("::", "."))
        device = next((t.device for t in tensors_of((args, kwargs)) if t.device.type != "cpu"), torch.device("cpu"))
        reason = ""

        def real(tensor: Any) -> Any:
            nonlocal reason
            if not isinstance(tensor, FakeTensor):
                return tensor.detach().cpu()
            try:
                return self.log.value(tensor)
            except Exception as failed:
                reason = reason_of(failed)
                return torch.ones(tensor.shape, dtype=tensor.dtype)

        def work() -> Any:
            with torch.no_grad():
                return run_real(func, mapped(args, real), mapped(kwargs, real))

        try:
            found = self._without_modes(work)
        except Exception as failed:
            raise error from failed
        self._note(what, place, reason, "ones" if reason else "")

        def fake(value: torch.Tensor) -> torch.Tensor:
            with self._fake:
                made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
            self.log.learn(made, value)
            return made

        return mapped(found, fake)

    def _writes_real(self, func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        return any(
            not isinstance(tensor, FakeTensor) and tensor.device.type == "cpu" for tensor in written(func, args, kwargs)
        )

    def _into_real(self, func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> Any:
        """Write fake tensors' numbers into a real tensor of the CPU, such as a list of losses."""

        def real(tensor: Any) -> Any:
            if not isinstance(tensor, FakeTensor):
                return tensor
            return self.log.value(tensor)

        try:
            return self._without_modes(lambda: func(*mapped(args, real), **mapped(kwargs, real)))
        except TooCostly as error:
            self._note("numbers written to memory of the CPU", place, reason_of(error), "what was there")
            return next(written(func, args, kwargs))
        finally:
            if not any(read.place == place for read in self.record.reads.values()):
                self._note("numbers written to memory of the CPU", place)

    # Counting

    def _place(self) -> Place:
        if torch._C._current_graph_task_id() == -1:
            place = self.places.here()
            if self._sequence is not None:
                # The node that autograd made for the operator that is running now has the number before the next one.
                self._lines[self._sequence() - 1] = place
            self._last = place
            return place
        node = self._node() if self._node is not None else None
        if node is not None:
            found = self._lines.get(node._sequence_nr())
            if found is not None:
                return found
        # Nodes that only gather gradients belong to the line that asked for them.
        return self._last

    def _count(
        self, func: Any, tensors: list[torch.Tensor], args: Any, kwargs: dict[str, Any], result: Any, place: Place
    ) -> None:
        results = list(tensors_of(result))
        device = next((t.device.type for t in results if t.device.type != "cpu"), None)
        device = device or next((t.device.type for t in tensors if t.device.type != "cpu"), "cpu")
        if torch._C._current_graph_task_id() != -1:
            phase = "backward"
        else:
            phase = "optimizer" if self.in_optimizer else "forward"
        key = (
            func._schema.name,
            func._schema.overload_name,
            _signatures(tensors),
            _signatures(results),
            device,
            phase,
            place,
        )
        row = self.record.rows.get(key)
        if row is None:
            size = sum(t.numel() * t.element_size() for t in results) if not _is_view(func) else 0
            row = self.record.rows[key] = Row(bytes=size)
        row.count += 1


def _signatures(tensors: list[torch.Tensor]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Types and shapes; of a long list the first ones, and one that says how many more there are."""
    shown = tuple(_signature(tensor) for tensor in tensors[:_SHOWN])
    return shown if len(tensors) <= _SHOWN else (*shown, ("more", (len(tensors) - _SHOWN,)))


def _signature(tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    return str(tensor.dtype).removeprefix("torch."), tuple(int(size) for size in tensor.shape)


def _is_view(func: Any) -> bool:
    return any(value.alias_info is not None for value in func._schema.returns)
