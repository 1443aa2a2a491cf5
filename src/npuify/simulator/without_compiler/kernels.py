"""Runs operators of NPU tensors as the CPU's, on the same memory."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import NotSimulated
from npuify.simulator.without_compiler.half_types import half_type, in_float
from npuify.simulator.without_compiler.memory import of_storage, to_host, to_npu, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "PrivateUse1"
REFUSED = {"Sparse": "sparse", "SparseCsr": "compressed sparse", "NestedTensor": "nested", "Quantized": "quantized"}
"""What stands before :data:`KEY` in the name of a kind's dispatch key → the kind."""


class Operator:
    """What the kernel has to know of one operator, read once from its schema."""

    def __init__(
        self, op: Any, beside_cpu: frozenset[str], in_float: frozenset[str], npu_only: dict[str, frozenset[str]]
    ) -> None:
        schema = op._schema
        self.name = schema.name if not schema.overload_name else f"{schema.name}.{schema.overload_name}"
        self.mixes = self.name in beside_cpu or self.name.startswith("aten::_foreach")
        self.in_float = self.name in in_float
        self.npu_only = npu_only.get(self.name, frozenset())
        self.names = [a.name for a in schema.arguments]
        self.outs = frozenset(a.name for a in schema.arguments if a.is_out)
        written = {}
        for i, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for name in argument.alias_info.before_set:
                    written[name] = (i, argument.name)
        self.returned: list[tuple[int, str] | None] = []
        for result in schema.returns:
            names = result.alias_info.before_set if result.alias_info is not None and result.alias_info.is_write else ()
            self.returned.append(next((written[name] for name in names if name in written), None))


class Kernels:
    """The kernel of all operators, and what it asks."""

    def __init__(
        self,
        beside_cpu: frozenset[str],
        in_float: frozenset[str],
        npu_only: dict[str, frozenset[str]],
        before: Callable[[str], None],
    ) -> None:
        self._beside_cpu = beside_cpu
        self._in_float = in_float
        self._npu_only = npu_only
        self._before = before
        self._known: dict[Any, Operator] = {}

    def run(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Run ``op``.

        Raises:
            RuntimeError: NPU tensors and CPU tensors stand side by side where that is not allowed.
            NotImplementedError: the result is not a dense tensor.
        """
        about = self._known.get(op)
        if about is None:
            about = self._known[op] = Operator(op, self._beside_cpu, self._in_float, self._npu_only)
        self._before(about.name)
        call = _Call(about)
        host_args = []
        for name, value in zip(about.names, args, strict=False):
            call.argument = name
            host_args.append(call.to_host(value))
        host_kwargs = {}
        for name, value in kwargs.items():
            if name not in about.outs:
                call.argument = name
                host_kwargs[name] = call.to_host(value)
        fresh = {}
        for name in about.outs & kwargs.keys():
            fresh[name] = torch.empty(0, dtype=kwargs[name].dtype)
            call.npus += 1
        call.check()
        with torch._C._AutoDispatchBelowAutograd(), torch._C._DisableAutocast():
            half = half_type([*host_args, *host_kwargs.values(), *fresh.values()]) if about.in_float else None
            if half is None:
                result = op(*host_args, **host_kwargs, **fresh)
            else:
                result = in_float(op, host_args, host_kwargs, fresh, half)
            for name, made in fresh.items():
                _give(kwargs[name], made)
        if not about.returned:
            return None
        results = result if len(about.returned) > 1 else (result,)
        found = []
        for place, value in zip(about.returned, results, strict=True):
            if place is not None:
                index, name = place
                found.append(args[index] if index < len(args) else kwargs[name])
            else:
                found.append(call.to_npu(value))
        return tuple(found) if len(found) > 1 else found[0]


class _Call:
    """The tensors of one call."""

    def __init__(self, about: Operator) -> None:
        self.about = about
        self.npus = 0
        self.argument = ""
        self._first = self._wrong = self._wrong_name = ""
        self._refused = False
        self._seen: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def to_host(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.device.type == "npu":
                self._stands_on("npu:0")
                self.npus += 1
                host = to_host(value)
                self._seen[host.untyped_storage()._cdata] = (host, value)
                return host
            if value.device.type == "cpu" and self.argument in self.about.npu_only:
                self._refused = True
                self._stands_on(str(value.device))
            elif value.dim() > 0:
                self._stands_on(str(value.device))
            return value
        if isinstance(value, torch.device):
            if value.type == "npu":
                if value.index:
                    check_device(value.index)
                self.npus += 1
                return torch.device("cpu")
            return value
        if isinstance(value, (list, tuple)):
            return [self.to_host(one) for one in value]
        return value

    def _stands_on(self, place: str) -> None:
        if not self._first:
            self._first = place
        elif place != self._first and not self._wrong:
            self._wrong, self._wrong_name = place, self.argument

    def check(self) -> None:
        """Refuse tensors of two devices, in the words of the real one's checks."""
        if self._wrong and self.npus and (self._refused or not self.about.mixes):
            plain, _, overload = self.about.name.partition("::")[2].partition(".")
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {self._wrong_name} is on {self._wrong}, "
                f"different from other tensors on {self._first} (when checking argument in method "
                f"wrapper_NPU_{overload}_{plain}) (simulated by npuify)"
            )

    def to_npu(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.layout is not torch.strided:
                raise NotImplementedError(
                    f"{self.about.name} makes a tensor of layout {value.layout}: not simulated on an NPU without a C++ "
                    "compiler (npuify simulate)"
                )
            if value.is_quantized:
                raise NotImplementedError(
                    f"{self.about.name} makes a quantized tensor: not simulated on an NPU (npuify)"
                )
            given = self._seen.get(value.untyped_storage()._cdata)
            if given is None or given[0].dtype != value.dtype:
                return to_npu(value)
            host, npu = given
            shift = (value.data_ptr() - host.data_ptr()) // value.element_size()
            return view_of(npu, value, npu.storage_offset() + shift)
        if isinstance(value, (list, tuple)):
            return [self.to_npu(one) for one in value]
        return value


def check_device(index: int) -> None:
    """Refuse a device that the machine lacks, in the words of ``torch.npu.set_device``.

    Raises:
        RuntimeError: there is no such device.
    """
    from npuify.simulator.api import devices

    devices._set(index)


def refuse(kind: str, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Every operator of tensors of a kind that this device lacks.

    Raises:
        NotSimulated: always.
    """
    raise NotSimulated(
        f"{op.name()} of a {kind} NPU tensor: such tensors are not simulated without a C++ compiler (npuify simulate)"
    )


def _give(out: torch.Tensor, made: torch.Tensor) -> None:
    """Put a result where it was asked for; a tensor of another shape gets other memory."""
    if out.shape == made.shape:
        to_host(out).copy_(made)
    else:
        out.data = to_npu(made)


def set_storage(
    tensor: torch.Tensor, storage: Any, offset: int | None = None, size: Any = None, stride: Any = None
) -> torch.Tensor:
    """``set_`` from a storage."""
    if size is None:
        size, offset = [storage.nbytes() // tensor.element_size()], 0
    if not stride and len(size) > 0:
        stride = torch.empty(size, device="meta").stride()
    tensor.data = to_npu(of_storage(storage, tensor.dtype, size, stride or [], offset or 0))
    return tensor


def set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """``set_`` from a tensor."""
    tensor.data = source
    return tensor


def to_copy(
    tensor: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """``_to_copy`` as PyTorch does it, but for float64: converted to it where it is, a tensor becomes float32 there."""
    if dtype is torch.float64 and device is None and tensor.dtype is not torch.float64:
        _say_no_float64()
        dtype = torch.float32
    made = torch.empty_like(
        tensor,
        dtype=dtype or tensor.dtype,
        device=device or tensor.device,
        memory_format=memory_format or torch.preserve_format,
    )
    return made.copy_(tensor, non_blocking)


@cache
def _say_no_float64() -> None:
    warnings.warn(
        "Warning: Device do not support double dtype now, dtype cast replace with float. (simulated by npuify)",
        stacklevel=2,
    )


def resize(tensor: torch.Tensor, size: Any, *, memory_format: Any = None) -> torch.Tensor:
    """``resize_``: in place where the elements fit, else with other memory."""
    wanted = torch.empty(size, device="meta")
    room = tensor.untyped_storage().nbytes() // max(tensor.element_size(), 1) - tensor.storage_offset()
    if wanted.numel() <= room:
        torch.ops.aten.as_strided_.default(tensor, size, wanted.stride(), tensor.storage_offset())
        return tensor
    old = to_host(tensor).reshape(-1)
    made = torch.empty(size, dtype=tensor.dtype)
    made.view(-1)[: old.numel()] = old
    tensor.data = to_npu(made)
    return tensor
