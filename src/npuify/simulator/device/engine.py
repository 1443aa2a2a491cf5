"""The compiled device, loaded into this process. One object, :data:`device`, is what the rest of the simulator asks."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from npuify.simulator import NotSimulated
from npuify.simulator.device import build
from npuify.simulator.visible_devices import visible_count

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.simulator.settings import Settings

STATISTICS = (
    "allocated_bytes.all",
    "allocated_bytes.small_pool",
    "allocated_bytes.large_pool",
    "allocation.all",
    "allocation.small_pool",
    "allocation.large_pool",
    "requested_bytes.all",
    "reserved_bytes.all",
    "segment.all",
)
"""What the device counts, each as current, peak, allocated and freed, in the order in which it gives them."""


class Native:
    """The C++ device, through its C functions. Device indices count from 0; sizes are bytes."""

    name = "native"

    def __init__(self, path: Path) -> None:
        lib = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
        lib.npuify_capacity.restype = ctypes.c_int64
        lib.npuify_set_capacity.argtypes = [ctypes.c_int64]
        lib.npuify_fraction.restype = ctypes.c_double
        lib.npuify_set_fraction.argtypes = [ctypes.c_int, ctypes.c_double]
        lib.npuify_current_stream.restype = ctypes.c_int64
        lib.npuify_set_stream.argtypes = [ctypes.c_int, ctypes.c_int64]
        lib.npuify_new_stream.restype = ctypes.c_int64
        lib.npuify_blocks.restype = ctypes.c_int64
        lib.npuify_blocks.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        lib.npuify_host_runs.restype = ctypes.c_int64
        lib.npuify_host_runs.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self._lib: Any = lib
        self._visible: Any = None

    def start(self, settings: Settings) -> None:
        """Make PyTorch know the device. Only once in a process."""
        self._lib.npuify_set_capacity(settings.memory)
        # Called from C++, and so kept.
        self._visible = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: visible_count(settings.devices))
        self._lib.npuify_start(settings.devices, int(settings.cpu_random), self._visible)

    def register(
        self, whole: list[str], beside_cpu: list[str], in_float: list[str], npu_only: dict[str, frozenset[str]]
    ) -> None:
        """Register the operators.

        Args:
            whole: those that run in one piece.
            beside_cpu: those that take CPU tensors, too.
            in_float: those that compute half types in float32.
            npu_only: arguments that may not even be a CPU tensor without dimensions, by operator.
        """
        for name, arguments in npu_only.items():
            for argument in arguments:
                self._lib.npuify_take_only_npu(name.encode(), argument.encode())
        for name in beside_cpu:
            self._lib.npuify_allow_cpu_tensors(name.encode())
        for name in in_float:
            self._lib.npuify_compute_in_float(name.encode())
        self._lib.npuify_register()
        for name in whole:
            self._lib.npuify_run_whole(name.encode())

    def run_sparse(self, name: str, compressed: bool) -> bool:
        """Run an operator on sparse tensors, of the layout COO or a compressed one; False: there is none."""
        return bool(self._lib.npuify_run_sparse(name.encode(), int(compressed)))

    def autocast(self, name: str, how: int) -> bool:
        """Have autocast treat an operator: 0 lower precision, 1 float32, 2 widest type, 3 float32 as output type."""
        return bool(self._lib.npuify_autocast(name.encode(), how))

    def native_operators(self, names: list[str]) -> None:
        """Tell which operators have a kernel in the release; the others count as run on the host."""
        self._lib.npuify_native_operators("\n".join(names).encode())

    def set_policy(self, policy: str) -> None:
        """What happens at an operator without a kernel: ``off``, ``warn`` or ``error``."""
        self._lib.npuify_set_policy({"off": 0, "warn": 1, "error": 2}[policy])

    def host_runs(self) -> dict[str, int]:
        """Operator without a kernel in the release → how often it ran."""
        room = 1 << 16
        while True:
            text = ctypes.create_string_buffer(room)
            needed = self._lib.npuify_host_runs(text, room)
            if needed <= room:
                break
            room = needed + 1024
        pairs = (line.rsplit(" ", 1) for line in text.value.decode().splitlines())
        return {name: int(count) for name, count in pairs}

    def device_count(self) -> int:
        """How many devices this process sees."""
        return int(self._lib.npuify_device_count())

    def current_device(self) -> int:
        """The calling thread's current device."""
        return int(self._lib.npuify_current_device())

    def set_device(self, index: int) -> bool:
        """Make a device the current one; False: there is none of that index."""
        return bool(self._lib.npuify_set_device(index))

    def current_stream(self, index: int) -> int:
        """The id of the calling thread's current stream on a device; 0 is the default stream."""
        return int(self._lib.npuify_current_stream(index))

    def set_stream(self, index: int, stream: int) -> None:
        """Make a stream the current one on a device."""
        self._lib.npuify_set_stream(index, stream)

    def new_stream(self) -> int:
        """The id of a new stream."""
        return int(self._lib.npuify_new_stream())

    def initialize(self) -> None:
        """Count the device as in use."""
        self._lib.npuify_initialize()

    def is_initialized(self) -> bool:
        """Whether anything has used the device yet."""
        return bool(self._lib.npuify_is_initialized())

    def poison(self) -> None:
        """Refuse to work from now on: this process was forked from one that used the device."""
        self._lib.npuify_poison()

    def capacity(self) -> int:
        """Memory of each device."""
        return int(self._lib.npuify_capacity())

    def set_fraction(self, index: int, fraction: float) -> None:
        """Let this process have only a part, 0 to 1, of a device's memory."""
        self._lib.npuify_set_fraction(index, fraction)

    def fraction(self, index: int) -> float:
        """The part of the memory that this process may have."""
        return float(self._lib.npuify_fraction(index))

    def statistics(self, index: int) -> dict[str, int]:
        """``allocated_bytes.all.current`` and so on, with ``num_alloc_retries`` and ``num_ooms``."""
        numbers = (ctypes.c_int64 * (4 * len(STATISTICS) + 2))()
        self._lib.npuify_memory_stats(index, numbers)
        found: dict[str, int] = {}
        for i, name in enumerate(STATISTICS):
            for j, what in enumerate(("current", "peak", "allocated", "freed")):
                found[f"{name}.{what}"] = numbers[4 * i + j]
        found["num_alloc_retries"], found["num_ooms"] = numbers[-2], numbers[-1]
        return found

    def reset_peak(self, index: int) -> None:
        """Let the peaks start again from now."""
        self._lib.npuify_reset_peak(index)

    def reset_accumulated(self, index: int) -> None:
        """Let the sums start again from zero."""
        self._lib.npuify_reset_accumulated(index)

    def empty_cache(self) -> None:
        """Give back what is reserved and not in use, on all devices."""
        self._lib.npuify_empty_cache()

    def default_generator(self, index: int) -> Any:
        """The generator from which a device's operators draw."""
        import torch

        return torch.ops.npuify_sim.default_generator(index)

    def learn_twin(self, group: Any) -> None:
        """Let a process group of CPU tensors do the work of the NPU group with the same backend.

        Raises:
            NotSimulated: this PyTorch is too old for it.
        """
        import torch

        if not hasattr(group, "boxed"):
            raise NotSimulated(
                f"npuify simulate: process groups of NPU tensors are not simulated with PyTorch {torch.__version__}, "
                "which cannot hand them to the device; PyTorch 2.4 and newer can"
            )
        torch.ops.npuify_sim.learn_twin(group.boxed())

    def hold_works(self) -> None:
        """Begin a bundle of this thread's collectives."""
        import torch

        torch.ops.npuify_sim.hold_works()

    def wait_for_works(self) -> None:
        """Wait for all of the bundle, and end it."""
        import torch

        torch.ops.npuify_sim.wait_for_works()

    def blocks(self, index: int) -> list[tuple[int, int]]:
        """Address and size of each live piece of memory of a device."""
        room = self._lib.npuify_blocks(index, None, None, 0) + 64
        addresses, sizes = (ctypes.c_int64 * room)(), (ctypes.c_int64 * room)()
        count = min(room, self._lib.npuify_blocks(index, addresses, sizes, room))
        return list(zip(addresses[:count], sizes[:count], strict=True))


class OlderNative(Native):
    """The device for PyTorch before 2.4, which has no names in Python for a device's autocast."""

    def autocast_enabled(self) -> bool:
        """Whether autocast is on."""
        return bool(self._lib.npuify_autocast_enabled())

    def set_autocast_enabled(self, enable: bool) -> None:
        """Turn autocast on or off."""
        self._lib.npuify_set_autocast_enabled(int(enable))

    def autocast_type(self) -> int:
        """The type that autocast lowers to, as c10::ScalarType."""
        return int(self._lib.npuify_autocast_type())

    def set_autocast_type(self, number: int) -> None:
        """Set that type."""
        self._lib.npuify_set_autocast_type(number)


def load(settings: Settings) -> Native:
    """The device for the torch that is installed, compiled if need be.

    Raises:
        build.NoCompiler: it cannot be compiled here.
        build.CompileError: the compiler refused it.
    """
    from pathlib import Path

    import torch

    path = build.library(
        torch_version=str(torch.__version__),
        torch_folder=Path(torch.__file__).resolve().parent,
        cxx11_abi=bool(torch._C._GLIBCXX_USE_CXX11_ABI),
        distributed=torch.distributed.is_available(),
        cache=settings.cache,
    )
    return Native(path) if hasattr(torch, "get_autocast_dtype") else OlderNative(path)
