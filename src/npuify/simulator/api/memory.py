"""Memory of the simulated devices, as ``torch.npu.memory`` tells it. Sizes are bytes."""

from __future__ import annotations

import collections
import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from npuify.simulator import state
from npuify.simulator.api import devices

if TYPE_CHECKING:
    from collections.abc import Iterator


def _index(device: Any) -> int:
    devices._lazy_init()
    index = devices._get_device_index(device, optional=True)
    if not 0 <= index < devices.device_count():
        raise RuntimeError(f"Invalid device argument {index}: did you call init? (simulated by npuify)")
    return index


def memory_stats(device: Any = None) -> collections.OrderedDict[str, int]:
    """The allocator's numbers, as ``allocated_bytes.all.current``, sorted by name."""
    counted: dict[str, int] = dict(state.device.statistics(_index(device)))
    for pool in ("all", "small_pool", "large_pool"):
        for what in ("current", "peak", "allocated", "freed"):
            # What is allocated is active too: nothing waits for a stream here.
            counted[f"active_bytes.{pool}.{what}"] = counted[f"allocated_bytes.{pool}.{what}"]
            counted[f"active.{pool}.{what}"] = counted[f"allocation.{pool}.{what}"]
            counted[f"inactive_split.{pool}.{what}"] = 0
            counted[f"inactive_split_bytes.{pool}.{what}"] = 0
            if pool != "all":
                # Which pool a reserved piece belongs to is not told apart; all of it counts as the large one's.
                large = pool == "large_pool"
                for name in ("reserved_bytes", "segment", "requested_bytes"):
                    counted[f"{name}.{pool}.{what}"] = counted[f"{name}.all.{what}"] if large else 0
    for what in ("current", "peak", "allocated", "freed"):
        counted[f"oversize_allocations.{what}"] = counted[f"oversize_segments.{what}"] = 0
    counted["max_split_size"] = -1
    return collections.OrderedDict(sorted(counted.items()))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The same, as dictionaries in dictionaries."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        place = nested
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def _number(name: str, device: Any) -> int:
    return int(state.device.statistics(_index(device))[name])


def memory_allocated(device: Any = None) -> int:
    """Bytes in tensors now."""
    return _number("allocated_bytes.all.current", device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in tensors since the start, or since the peak was reset."""
    return _number("allocated_bytes.all.peak", device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds."""
    return _number("reserved_bytes.all.current", device)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator held."""
    return _number("reserved_bytes.all.peak", device)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks start again."""
    state.device.reset_peak(_index(device))


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the sums start again."""
    state.device.reset_accumulated(_index(device))


def empty_cache() -> None:
    """Give back what is reserved and not used."""
    if devices.is_initialized():
        state.device.empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process have only a part of a device.

    Raises:
        TypeError: ``fraction`` is no float.
        ValueError: it is not between 0 and 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    state.device.set_fraction(_index(device), fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of a device that this process may have."""
    return float(state.device.fraction(_index(device)))


def memory_snapshot(mempool_id: Any = None) -> list[dict[str, Any]]:
    """The live pieces of memory of all devices, each as a segment with one block."""
    found = []
    for index in range(devices.device_count()):
        for address, size in state.device.blocks(index):
            block = {
                "address": address,
                "size": size,
                "requested_size": size,
                "state": "active_allocated",
                "frames": [],
            }
            found.append(
                {
                    "device": index,
                    "address": address,
                    "total_size": size,
                    "allocated_size": size,
                    "active_size": size,
                    "requested_size": size,
                    "stream": 0,
                    "segment_type": "small" if size < 1 << 20 else "large",
                    "segment_pool_id": (0, 0),
                    "is_expandable": False,
                    "frames": [],
                    "blocks": [block],
                }
            )
    return found


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    return {"segments": memory_snapshot(), "device_traces": [[] for _ in range(devices.device_count())]}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The main numbers as a table for people."""
    index = _index(device)
    stats = memory_stats(device)
    lines = [
        "|" + "=" * 75 + "|",
        f"|  PyTorch NPU memory summary, device ID {index} (simulated by npuify)".ljust(76) + "|",
        "|" + "-" * 75 + "|",
        "|  Metric".ljust(26)
        + "".join(f"| {h:<11}" for h in ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"))[:50],
        "|" + "-" * 75 + "|",
    ]
    rows = [
        ("Allocated memory", "allocated_bytes.all"),
        ("Active memory", "active_bytes.all"),
        ("Requested memory", "requested_bytes.all"),
        ("NPU reserved memory", "reserved_bytes.all"),
    ]
    for title, key in rows:
        cells = [f"{stats[f'{key}.{what}'] / 2**20:.1f} MiB" for what in ("current", "peak", "allocated", "freed")]
        lines.append(f"| {title:<24}" + "".join(f"| {cell:<11}" for cell in cells))
    for title, key in (("Allocations", "allocation.all"), ("NPU reserved segments", "segment.all")):
        cells = [str(stats[f"{key}.{what}"]) for what in ("current", "peak", "allocated", "freed")]
        lines.append(f"| {title:<24}" + "".join(f"| {cell:<11}" for cell in cells))
    lines.append("|" + "=" * 75 + "|")
    return "\n".join(lines) + "\n"


def get_allocator_backend() -> str:
    """The name of the allocator."""
    return "native"


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of ``size`` new bytes on a device, to be given back with :func:`caching_allocator_delete`."""
    import torch

    index = _index(device)
    piece = torch.empty(size, dtype=torch.uint8, device=f"npu:{index}")
    _held[piece.data_ptr()] = piece
    return piece.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give such bytes back."""
    _held.pop(mem_ptr, None)


_held: dict[int, Any] = {}


_pools = itertools.count(1)


class MemPool:
    """A pool of memory by name: here all of a device's memory is one, so that it has no effect on where tensors lie."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        self.allocator = allocator
        self._id = (0, next(_pools))

    @property
    def id(self) -> tuple[int, int]:
        """Two numbers that no other pool has."""
        return self._id

    def use_count(self) -> int:
        """How many hold it: its owner."""
        return 1

    def snapshot(self) -> list[Any]:
        """What lies in it: nothing that is told apart."""
        return []


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """What is allocated meanwhile belongs to ``pool``; here it is only checked that the device exists."""
    _index(device)
    yield


def host_empty_cache() -> None:
    """Pinned memory is not cached here."""


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """History is not recorded; said once, since what is dumped later would be empty."""
    import warnings

    warnings.warn("the simulated NPU does not record memory history (npuify)", stacklevel=2)


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    import pickle
    from pathlib import Path

    with Path(filename).open("wb") as file:
        pickle.dump(_snapshot(), file)


def _set_allocator_settings(settings: str) -> None:
    """Settings of the real allocator mean nothing here."""
