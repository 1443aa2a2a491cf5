"""The device: the same face as the compiled one, :class:`npuify.simulator.device.engine.Native`."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import NotSimulated
from npuify.simulator.device.engine import STATISTICS
from npuify.simulator.visible_devices import visible_count
from npuify.simulator.without_compiler import autocast, gaps, storages
from npuify.simulator.without_compiler.kernels import (
    KEY,
    REFUSED,
    Kernels,
    refuse,
    resize,
    set_storage,
    set_tensor,
    to_copy,
)

if TYPE_CHECKING:
    from npuify.simulator.settings import Settings

_TAKES_DATA = "aten::_has_compatible_shallow_copy_type"
"""Asked by ``x.data = y``: a module that moves keeps its parameters."""
_OWN = {
    "aten::set_.source_Storage": set_storage,
    "aten::set_.source_Storage_storage_offset": set_storage,
    "aten::set_.source_Tensor": set_tensor,
    "aten::resize_": resize,
    "aten::_to_copy": to_copy,
    _TAKES_DATA: lambda tensor, source: True,
    "aten::record_stream": lambda tensor, stream: None,
}
"""Operators that are more than the CPU's on the same memory."""
_AS_IT_IS = {"aten::as_strided_"}
"""Operators that PyTorch itself does for every device, and that the kernels need."""


class PythonDevice:
    """The simulated NPU in Python."""

    name = "python"

    def __init__(self) -> None:
        self._kernels: Kernels | None = None
        self._libraries: list[torch.library.Library] = []
        self._native: set[str] | None = None
        self._policy = "off"
        self._runs: dict[str, int] = {}
        self._streams = itertools.count(1)
        self._stream = 0
        self._initialized = self._poisoned = False
        self._capacity, self._fraction = 0, 1.0
        self._kept: list[Any] = []

    def start(self, settings: Settings) -> None:
        """Make PyTorch know the device. Only once in a process."""
        acc: Any = torch._C._acc

        class Hooks(acc.PrivateUse1Hooks):
            def is_available(self) -> bool:
                return visible_count(1) > 0

            def is_built(self) -> bool:
                return True

            def has_primary_context(self, index: int) -> bool:
                return True

        class Guard(acc.DeviceGuard):
            def type_(self) -> Any:
                return torch._C._autograd.DeviceType.PrivateUse1

        self._kept = [Hooks(), Guard()]
        acc.register_python_privateuseone_hook(self._kept[0])
        acc.register_python_privateuseone_device_guard(self._kept[1])
        self._capacity = settings.memory
        storages.patch()

    def register(
        self, whole: list[str], beside_cpu: list[str], in_float: list[str], npu_only: dict[str, frozenset[str]]
    ) -> None:
        """Register the operators, as :meth:`npuify.simulator.device.engine.Engine.register` does."""
        self._kernels = Kernels(frozenset(beside_cpu), frozenset(in_float), npu_only, self._before)
        run = self._kernels.run
        fallback = torch.library.Library("_", "IMPL")
        aten = torch.library.Library("aten", "IMPL")
        self._libraries = [fallback, aten]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fallback.fallback(run, KEY)
            fallback.fallback(torch.library.fallthrough_kernel, autocast.KEY)
            for prefix, kind in REFUSED.items():
                fallback.fallback(functools.partial(refuse, kind), f"{prefix}{KEY}")
            for name, kernel in _OWN.items():
                aten.impl(name.partition("::")[2], kernel, KEY)
            aten.impl("_has_compatible_shallow_copy_type", _OWN[_TAKES_DATA], f"Autograd{KEY}")
            for name in self._taken_whole(whole):
                op = operator(name)
                if op is not None:
                    aten.impl(name.partition("::")[2], _runs(run, op), KEY)

    def _taken_whole(self, whole: list[str]) -> list[str]:
        """Operators that PyTorch would take apart and the CPU's kernel does in one piece."""
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        found = set(whole)
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith("aten::") and has(name, "CompositeExplicitAutogradNonFunctional") and has(name, "CPU"):
                found.add(name)
        return sorted(name for name in found if not has(name, KEY) and name not in _OWN and name not in _AS_IT_IS)

    def run_sparse(self, name: str, compressed: bool) -> bool:
        """No operator runs on sparse tensors here: see the gap."""
        return False

    def autocast(self, name: str, how: int) -> bool:
        """Have autocast treat an operator: 0 lower precision, 1 float32, 2 widest type, 3 float32 as output type."""
        op = operator(name)
        if op is None:
            return False
        self._libraries[1].impl(name.partition("::")[2], autocast.kernel(op, how), autocast.KEY)
        return True

    # ---- what the release has no kernel for ----------------------------------------------------------------------

    def native_operators(self, names: list[str]) -> None:
        """Tell which operators have a kernel in the release; the others count as run on the host."""
        self._native = set(names)

    def set_policy(self, policy: str) -> None:
        """What happens at an operator without a kernel: ``off``, ``warn`` or ``error``."""
        self._policy = policy

    def host_runs(self) -> dict[str, int]:
        """Operator without a kernel in the release → how often it ran."""
        return dict(self._runs)

    def _before(self, name: str) -> None:
        if self._poisoned:
            raise RuntimeError(
                "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
                "you must use the 'spawn' start method"
            )
        self._initialized = True
        if name.startswith("c10d::"):
            raise NotSimulated(f"{name} needs a C++ compiler: {gaps.GAPS['hccl']} (npuify simulate)")
        if self._native is None or name in self._native or not name.startswith("aten::"):
            return
        self._runs[name] = self._runs.get(name, 0) + 1
        if self._policy == "error":
            raise RuntimeError(
                f"The operator '{name}' would execute its main computation on CPU through dispatcher backend fallback "
                "because no kernel is registered for the NPU PrivateUse1 backend, but CPU fallback is disabled by "
                "TORCH_NPU_FALLBACK_CPU_DISABLE=1. (simulated by npuify)"
            )
        if self._policy == "warn" and self._runs[name] == 1:
            warnings.warn(
                f"CAUTION: The operator '{name}' is not currently supported on the NPU backend and will fall back to "
                "run on the CPU. This may have performance implications. (simulated by npuify)",
                stacklevel=2,
            )

    # ---- devices, streams, memory --------------------------------------------------------------------------------

    def device_count(self) -> int:
        """How many devices this process sees: one, unless the environment hid it before the first use."""
        return 1 if self._initialized else visible_count(1)

    def current_device(self) -> int:
        """The current device: there is one."""
        return 0

    def set_device(self, index: int) -> bool:
        """Whether there is such a device."""
        return index in (-1, 0)

    def current_stream(self, index: int) -> int:
        """The id of the current stream."""
        return self._stream

    def set_stream(self, index: int, stream: int) -> None:
        """Make a stream the current one."""
        self._stream = stream

    def new_stream(self) -> int:
        """The id of a new stream."""
        return next(self._streams)

    def initialize(self) -> None:
        """Count the device as in use."""
        self._initialized = True

    def is_initialized(self) -> bool:
        """Whether anything has used the device yet."""
        return self._initialized

    def poison(self) -> None:
        """Refuse to work from now on: this process was forked from one that used the device."""
        self._poisoned = True

    def capacity(self) -> int:
        """Memory of the device."""
        return self._capacity

    def set_fraction(self, index: int, fraction: float) -> None:
        """Keep the number."""
        gaps.say("memory")
        self._fraction = fraction

    def fraction(self, index: int) -> float:
        """The part of the memory that this process may have."""
        return self._fraction

    def statistics(self, index: int) -> dict[str, int]:
        """Zero for each number: memory is not counted."""
        gaps.say("memory")
        names = [f"{name}.{what}" for name in STATISTICS for what in ("current", "peak", "allocated", "freed")]
        return dict.fromkeys([*names, "num_alloc_retries", "num_ooms"], 0)

    def reset_peak(self, index: int) -> None:
        """Nothing is counted."""

    def reset_accumulated(self, index: int) -> None:
        """Nothing is counted."""

    def empty_cache(self) -> None:
        """Nothing is kept."""

    def blocks(self, index: int) -> list[tuple[int, int]]:
        """Nothing is counted."""
        gaps.say("memory")
        return []

    def default_generator(self, index: int) -> torch.Generator:
        """The CPU's generator, from which the operators draw."""
        return torch.default_generator

    def learn_twin(self, group: Any) -> None:
        """Refuse: see the gap.

        Raises:
            NotSimulated: always.
        """
        raise NotSimulated(f"the process group hccl needs a C++ compiler: {gaps.GAPS['hccl']} (npuify simulate)")

    hold_works = wait_for_works = learn_twin


def operator(name: str) -> Any:
    """The overload called ``aten::add.Tensor``; None if this PyTorch lacks it."""
    namespace, _, rest = name.partition("::")
    plain, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), plain, None)
    return getattr(packet, overload or "default", None)


def _runs(run: Any, op: Any) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return run(op, *args, **kwargs)

    return kernel
