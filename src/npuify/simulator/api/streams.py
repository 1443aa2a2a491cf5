"""Streams and events. Operators have ended when they return, so waiting does nothing and an event is a moment."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import torch

from npuify.simulator import state
from npuify.simulator.api import devices

_PRIVATE = 20
"""c10::DeviceType::PrivateUse1."""


class Stream(torch.Stream):
    """``torch.npu.Stream``: a number that stands for a queue of a device."""

    def __new__(
        cls,
        device: Any = None,
        priority: int = 0,
        *,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int = _PRIVATE,
        **kwargs: Any,
    ) -> Stream:
        if device_index is None:
            # The real one enters this context too, so that transfer_to_npu, which wraps it, reaches streams.
            device_index = devices.DeviceContext(device).idx
        if stream_id is None:
            stream_id = state.device.new_stream()
        return super().__new__(cls, stream_id=stream_id, device_index=device_index, device_type=device_type)

    @property
    def npu_stream(self) -> int:
        """The address of the runtime's stream: the stream's number."""
        return int(self.stream_id)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_stream)

    @property
    def device(self) -> torch.device:
        """The device that it belongs to."""
        return torch.device("npu", self.device_index)

    @property
    def priority(self) -> int:
        """Refused, as there.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("NPU dose not support Stream.get_priority() currently. (simulated by npuify)")

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Refused, as there.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("NPU does not support Stream.priority_range() currently. (simulated by npuify)")

    def wait_event(self, event: Any) -> None:
        """Later work waits for the event: it has happened."""

    def wait_stream(self, stream: Any) -> None:
        """Later work waits for the other stream: it is idle."""

    def record_event(self, event: Any = None) -> Any:
        """Record an event, a new one if none is given, and return it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work has ended: yes."""
        return True

    def synchronize(self) -> None:
        """Wait for the work: it has ended."""

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """A hint to the real runtime."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, torch.Stream)
            and self.stream_id == other.stream_id
            and self.device_index == other.device_index
            and self.device_type == other.device_type
        )

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device_index))

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.npu_stream:#x}>"


class SyncLaunchStream(Stream):
    """A stream whose work is launched at once."""


class ExternalStream(Stream):
    """A stream that another library made, known by its address."""

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> ExternalStream:
        index = devices._get_device_index(device, optional=True)
        return super().__new__(cls, stream_id=stream_ptr, device_index=index)


_EventOfTorch: Any = getattr(torch, "Event", object)
"""The oldest PyTorch that is simulated has none."""


class Event(_EventOfTorch):
    """``torch.npu.Event``: the moment at which it was recorded, by the host's clock."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Event:
        if _EventOfTorch is object:
            return object.__new__(cls)
        made: Event = super().__new__(cls, torch.device("npu"), enable_timing=enable_timing)
        return made

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing = enable_timing
        self.blocking = blocking
        self._at: float | None = None
        self._device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """The moment is now."""
        self._at = time.perf_counter()
        self._device = stream.device if stream is not None else torch.device("npu", devices.current_device())

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Whether the recorded work has ended: yes."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds of the host's clock from this event to ``end_event``.

        Raises:
            RuntimeError: one of them was not recorded, or was made without ``enable_timing``.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3

    def recorded_time(self) -> int:
        """The moment, in nanoseconds."""
        if self._at is None:
            raise RuntimeError("the event was not recorded")
        return int(self._at * 1e9)

    @property
    def device(self) -> torch.device | None:
        """Where it was recorded."""
        return self._device

    @property
    def npu_event(self) -> int:
        """The address of the runtime's event; 0 before it is recorded."""
        return id(self) if self._at is not None else 0

    def __repr__(self) -> str:
        state_ = "uninitialized" if self._at is None else f"{self.npu_event:#x}"
        return f"<torch_npu.npu.Event {state_}>"


class ExternalEvent(Event):
    """An event that graphs wait for."""

    def reset(self, stream: Any = None) -> None:
        """Forget the moment."""
        self._at = None


class StreamContext:
    """``torch.npu.stream(s)``: s is current inside the block; None does nothing."""

    def __init__(self, stream_ctx: Any) -> None:
        self.stream = stream_ctx
        self._before: tuple[int, int, int] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        index = self.stream.device_index
        self._before = (state.device.current_device(), index, state.device.current_stream(index))
        set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            device, index, stream = self._before
            state.device.set_stream(index, stream)
            state.device.set_device(device)


def stream(stream: Any) -> StreamContext:
    """The context in which ``stream`` is current."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """Make a stream current, and its device."""
    if stream is None:
        return
    devices._set(stream.device_index)
    state.device.set_stream(stream.device_index, stream.stream_id)


def current_stream(device: Any = None) -> Stream:
    """The calling thread's current stream on a device."""
    devices._lazy_init()
    index = devices._get_device_index(device, optional=True)
    return Stream(stream_id=state.device.current_stream(index), device_index=index)


def default_stream(device: Any = None) -> Stream:
    """A device's default stream."""
    devices._lazy_init()
    return Stream(stream_id=0, device_index=devices._get_device_index(device, optional=True))


def _erase_stream(tensor: Any, stream: Any) -> None:
    """Forget that a stream uses a tensor."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor should be torch.Tensor, could not be {type(tensor)}")
    if not isinstance(stream, Stream):
        raise TypeError(f"stream should be torch_npu.npu.Stream, could not be {type(stream)}")
