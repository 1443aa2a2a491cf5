"""NPU graphs: the operators between ``capture_begin`` and ``capture_end`` are kept, and ``replay`` runs them again.

They run once while they are captured, which on an NPU they do not; what they computed then is what the tensors hold
until the first replay. A replay reads the same inputs and writes the same outputs, as there.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from npuify.simulator import NotSimulated
from npuify.simulator.api import amp, streams

if TYPE_CHECKING:
    from typing_extensions import Self

_HOST = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal"}
"""Operators whose result the host has to wait for, so that no device captures them."""
_local = threading.local()
_pools = iter(range(1, 1 << 62))


def tree_leaves(tree: Any) -> list[Any]:
    """All that stands in a nest of lists, tuples and dictionaries."""
    return list(tree_flatten(tree)[0])


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
        """The pool's token.

        Raises:
            RuntimeError: nothing has been captured.
        """
        if not self._captured:
            raise RuntimeError("Called NPUGraph::pool() without a preceding successful capture. (simulated by npuify)")
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


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Callables that take tensors as those they were shown, and refuse others; what they compute is not captured.

    A graph of an NPU computes what the callable does, as long as it is given the same shapes and types, which is what
    is checked here. A module stays that module, with such a ``forward`` for the mode that it is in.

    Raises:
        RuntimeError: autocast keeps copies, or a module has hooks or buffers that want gradients.
    """
    if amp.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    if not isinstance(callables, tuple):
        return _graphed(callables, sample_args)
    return tuple(_graphed(one, args) for one, args in zip(callables, sample_args, strict=True))


def _graphed(function: Any, sample: Any) -> Any:
    shown = [_kind(x) for x in tree_leaves(sample)]
    if any(kind is None for kind in shown):
        raise TypeError("sample_args contains something that is no tensor (simulated by npuify)")

    def check(args: Any) -> None:
        given = [_kind(x) for x in tree_leaves(args)]
        if given != shown:
            raise RuntimeError(
                f"a graphed callable was made with {shown} and got {given}: an NPU's graph takes what it was captured "
                "with (simulated by npuify)"
            )

    if not isinstance(function, torch.nn.Module):

        def call(*args: Any) -> Any:
            check(args)
            return function(*args)

        return call
    if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
        raise RuntimeError("Modules must not have hooks registered at the time they are passed.")
    if any(buffer.requires_grad for buffer in function.buffers()):
        raise RuntimeError("Any `buffer` in a module must have ``requires_grad=False``.")
    forward, mode = function.forward, function.training

    def graphed_forward(*args: Any, **kwargs: Any) -> Any:
        if function.training == mode:
            check(args)
        return forward(*args, **kwargs)

    function.forward = graphed_forward
    return function


def _kind(value: Any) -> tuple[tuple[int, ...], torch.dtype, bool] | None:
    return (tuple(value.shape), value.dtype, value.requires_grad) if isinstance(value, torch.Tensor) else None
