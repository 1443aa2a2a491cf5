"""NPU graphs: the operators between ``capture_begin`` and ``capture_end`` are kept, and ``replay`` runs them again.

They run once while they are captured, which on an NPU they do not; what they computed then is what the tensors hold
until the first replay. A replay reads the same inputs and writes the same outputs, as there.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from npuify.simulator import NotSimulated
from npuify.simulator.api import streams

if TYPE_CHECKING:
    from typing_extensions import Self

_HOST = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal"}
"""Operators whose result the host has to wait for, so that no device captures them."""
_local = threading.local()
_pools = iter(range(1, 1 << 62))


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured by this thread."""
    return bool(getattr(_local, "capturing", False))


def graph_pool_handle() -> tuple[int, int]:
    """A token for a pool of memory that graphs share."""
    return (0, next(_pools))


class _Recorder(TorchDispatchMode):
    def __init__(self, kept: list[tuple[Any, Any, Any, Any]]) -> None:
        super().__init__()
        self._kept = kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name
        if name in _HOST:
            raise RuntimeError(
                f"{name} waits for the device, which is not permitted while a graph is captured (simulated by npuify)"
            )
        result = func(*args, **kwargs)
        self._kept.append((func, args, kwargs, result))
        return result


class NPUGraph:
    """A captured piece of work."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any, Any, Any]] = []
        self._recorder: _Recorder | None = None
        self._captured = False
        self._pool: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Keep what this thread runs from here on.

        Raises:
            RuntimeError: it captures already, or has captured.
        """
        if is_current_stream_capturing() or self._captured:
            raise RuntimeError("this stream captures already, or the graph has captured (simulated by npuify)")
        self._pool = pool or graph_pool_handle()
        self._recorder = _Recorder(self._kept)
        self._recorder.__enter__()
        _local.capturing = True

    def capture_end(self) -> None:
        """End it."""
        if self._recorder is None:
            raise RuntimeError("capture_end() without capture_begin() (simulated by npuify)")
        _local.capturing = False
        self._recorder.__exit__(None, None, None)
        self._recorder = None
        self._captured = True

    def replay(self) -> None:
        """Run what was captured, on the same tensors."""
        if not self._captured:
            raise RuntimeError("replay() of a graph that has captured nothing (simulated by npuify)")
        with torch.no_grad():
            for func, args, kwargs, result in self._kept:
                given = {id(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
                places = {_place(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
                again = func(*args, **kwargs)
                for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor) and id(old) not in given and _place(old) not in places:
                        old.detach().copy_(new)

    def reset(self) -> None:
        """Forget what was captured."""
        self._kept.clear()
        self._captured = False

    def pool(self) -> Any:
        """The pool's token."""
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """A replay draws from the generators as any run does."""

    def enable_debug_mode(self) -> None:
        """There is nothing to dump."""

    def debug_dump(self, debug_path: str) -> None:
        """Refuse.

        Raises:
            NotSimulated: always.
        """
        raise NotSimulated("NPUGraph.debug_dump is not simulated (npuify simulate)")

    def update(self, cpu_update_input: Any) -> None:
        """Refuse, unless there is nothing to change.

        Raises:
            NotSimulated: arguments of captured operators would have to change.
        """
        if cpu_update_input:
            raise NotSimulated("NPUGraph.update is not simulated (npuify simulate)")


def _place(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


class graph:  # noqa: N801 - its name in torch_npu
    """Captures what runs in a ``with`` into a graph."""

    default_capture_stream: Any = None

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Any = None,
        stream: Any = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        self.npu_graph = npu_graph
        self._pool, self._mode = pool, capture_error_mode
        self._stream = streams.stream(stream if stream is not None else streams.Stream())

    def __enter__(self) -> Self:
        self._stream.__enter__()
        self.npu_graph.capture_begin(self._pool, self._mode)
        return self

    def __exit__(self, *error: object) -> None:
        self.npu_graph.capture_end()
        self._stream.__exit__(*error)
