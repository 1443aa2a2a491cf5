"""Sees every call of a module: what went in, what came out, and later the gradients of both.

Module calls are seen by replacing ``Module.__call__``; gradients by hooks on the tensors themselves, which change
nothing of what is computed.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from npuify.verify.capture import places
from npuify.verify.capture.names import Names, is_wrapper, unwrapped
from npuify.verify.capture.tensors import Describer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.verify.capture.settings import Settings
    from npuify.verify.capture.store import Store

_WITHIN = 16
"""Calls of one module that are recorded within one call of its model."""
_TENSORS = 24
"""Tensors that are recorded of one call's inputs, or of its results."""


class Finished(SystemExit):
    """Enough steps were seen: the program ends here, with success."""

    def __init__(self) -> None:
        super().__init__(0)


@dataclass
class Frame:
    """A module at work."""

    name: str
    sequence: int
    phase: str = "train"
    number: int = 1
    counts: dict[str, int] = field(default_factory=dict)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.muted = 0
        self.busy = False
        self.calls: dict[str, int] = {}


class Recorder:
    """What is known of the run so far, and the hooks that add to it."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.describer = Describer(store, settings.samples)
        self.names = Names()
        self.step = 0
        self.stopped = False
        self.optimizers = 0
        """Optimizers that the program has made."""
        self.before_root: Any = None
        """Called with a model's name and the model before its first call."""
        self.operators: Any = None
        """A context manager that also sees the functions of torch that modules call; None: they are not recorded."""
        self._thread = _Thread()
        self._roots: dict[tuple[int, str, str], int] = {}
        self._seen_roots: set[str] = set()
        self._told: set[str] = set()
        self._targets: dict[int, tuple[Any, list[tuple[int, str]]]] = {}
        self._main = threading.get_ident()

    def install(self) -> None:
        """Put the hook into ``Module.__call__``."""
        original = torch.nn.Module.__call__
        recorder = self

        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            thread = recorder._thread
            if recorder.stopped or thread.muted or thread.busy or is_wrapper(module):
                return original(module, *args, **kwargs)
            return recorder._call(original, module, args, kwargs)

        torch.nn.Module.__call__ = call

    def stop(self) -> None:
        """Record nothing more in this process."""
        self.stopped = True

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While the capture itself computes, nothing is recorded."""
        before, self._thread.busy = self._thread.busy, True
        try:
            yield
        finally:
            self._thread.busy = before

    @property
    def working(self) -> bool:
        """Whether a recorded module is at work in this thread, and the capture itself is not."""
        thread = self._thread
        return bool(thread.frames) and not thread.muted and not thread.busy and not self.stopped

    @property
    def frame(self) -> Frame:
        """The innermost module at work."""
        return self._thread.frames[-1]

    def _call(self, original: Any, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        thread = self._thread
        root = not thread.frames
        if self._passes_over(root):
            return original(module, *args, **kwargs)
        name = self._name(module)
        if root:
            phase = "train" if torch.is_grad_enabled() else "eval"
            key = (self.step, phase, name)
            number = self._roots[key] = self._roots.get(key, 0) + 1
            if number > self.settings.calls:
                self._without_optimizer(name, number)
                thread.muted += 1
                try:
                    return original(module, *args, **kwargs)
                finally:
                    thread.muted -= 1
            self._begin_root(name, module)
            thread.calls = {}
        else:
            # Reentrant checkpointing turns gradients off within a model that is trained.
            phase, number = thread.frames[0].phase, thread.frames[0].number
        within = thread.calls[name] = thread.calls.get(name, 0) + 1
        if within > _WITHIN:
            return original(module, *args, **kwargs)
        with self.busy():
            sequence = self.store.next()
            inputs = self._tensors(_named(module, args, kwargs), sequence, "input", rows=root)
            self._tell(name, module)
        thread.frames.append(Frame(name, sequence, phase, number))
        try:
            if root and self.operators is not None:
                with self.operators:
                    result = original(module, *args, **kwargs)
            else:
                result = original(module, *args, **kwargs)
        finally:
            thread.frames.pop()
        with self.busy():
            self.store.put(
                {
                    "event": "call",
                    "step": self.step,
                    "phase": phase,
                    "root": number,
                    "name": name,
                    "number": within,
                    "within": thread.frames[-1].sequence if thread.frames else 0,
                    "from": sequence,
                    "to": self.store.next(),
                    "training": module.training,
                    "autocast": _autocast(inputs),
                    "inputs": inputs,
                    "outputs": self._tensors([("", result)], sequence, "output"),
                }
            )
        if root:
            self._without_optimizer(name, number)
        return result

    def _passes_over(self, root: bool) -> bool:
        """Whether a call of a module is none of the program's own; ``root``: no other module calls it."""
        # Forwards that checkpointing runs again, and replicas in threads of their own.
        if _in_backward() or (root and threading.get_ident() != self._main):
            return True
        # A trace would take what is recorded for a part of the model; what loads data trains nothing.
        return bool(torch.jit.is_tracing()) or (root and _is_worker())

    def _without_optimizer(self, name: str, number: int) -> None:
        """Where nothing is trained, each call of the first model is a step."""
        if self.optimizers or torch.is_grad_enabled() or not self.names.roots or name != self.names.roots[0][0]:
            return
        self.store.flush()
        self.step += 1
        if self.settings.steps and self.step >= self.settings.steps:
            self.finish()

    def finish(self) -> None:
        """End the program: enough was seen.

        Raises:
            Finished: always.
        """
        self.stop()
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
            # No rank goes while another still needs it.
            distributed.barrier()
        self.store.close(steps=self.step, stopped=True)
        raise Finished

    def _name(self, module: torch.nn.Module) -> str:
        name = self.names.known(module)
        if name is not None:
            return name
        if not self._thread.frames:
            return self.names.add_root(unwrapped(module))
        frame = self.frame
        kind = type(module).__name__
        number = frame.counts[kind] = frame.counts.get(kind, 0) + 1
        return f"{frame.name}.~{kind}" + (f"({number})" if number > 1 else "")

    def _begin_root(self, name: str, module: torch.nn.Module) -> None:
        if name in self._seen_roots:
            return
        self._seen_roots.add(name)
        if self.before_root is not None:
            with self.busy():
                self.before_root(name, module)

    def _tell(self, name: str, module: torch.nn.Module) -> None:
        """Once for each module: its class, its place, and its settings."""
        if name in self._told:
            return
        self._told.add(name)
        settings: dict[str, Any] = {}
        for key, value in vars(module).items():
            if key.startswith("_") or key == "training":
                continue
            if isinstance(value, (bool, int, float, str)):
                settings[key] = value if not isinstance(value, float) or value == value else str(value)
            elif isinstance(value, tuple) and all(isinstance(one, (bool, int, float, str)) for one in value):
                settings[key] = list(value)
        place = places.of_function(type(module).forward, self.settings.root)
        self.store.put(
            {
                "event": "module",
                "name": name,
                "class": type(module).__name__,
                "package": type(module).__module__.partition(".")[0],
                "place": place,
                "settings": settings,
            }
        )

    def _tensors(self, values: list[tuple[str, Any]], sequence: int, side: str, *, rows: bool = False) -> Any:
        found: list[dict[str, Any]] = []
        for path, tensor in _flat(values):
            if len(found) >= _TENSORS:
                break
            slot = path or "0"
            found.append({"slot": slot, **self.describer.describe(tensor, rows=rows)})
            if tensor.requires_grad and torch.is_grad_enabled() and not isinstance(tensor, torch.nn.Parameter):
                self.watch(tensor, sequence, f"{side}.{slot}")
        return found

    def watch(self, tensor: torch.Tensor, sequence: int, slot: str) -> None:
        """Record the tensor's gradient when it comes, as that of a slot of a call."""
        kept = self._targets.get(id(tensor))
        if kept is not None and kept[0]() is tensor:
            kept[1].append((sequence, slot))
            return
        targets = [(sequence, slot)]
        identity, step = id(tensor), self.step

        def forget(_reference: Any) -> None:
            self._targets.pop(identity, None)

        self._targets[identity] = (weakref.ref(tensor, forget), targets)

        def seen(gradient: torch.Tensor | None) -> None:
            # Functions may give no gradient, as cuDNN's recurrent ones do for a state that nothing used.
            if self.stopped or gradient is None:
                return
            with self.busy():
                described = self.describer.describe(gradient, known=False)
                record = {"event": "gradient", "step": step, "at": self.store.next(), "of": targets, "is": described}
                self.store.put(record)

        try:
            tensor.register_hook(seen)
        except RuntimeError:  # a tensor that takes no hooks, such as one made in inference mode
            del self._targets[identity]


def _is_worker() -> bool:
    """Whether this process loads data for another one."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def _in_backward() -> bool:
    ask = getattr(torch._C, "_current_graph_task_id", None)
    return ask is not None and ask() != -1


def _named(module: torch.nn.Module, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """The arguments by the names of ``forward``'s parameters."""
    try:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return [*((str(i), value) for i, value in enumerate(args)), *kwargs.items()]
    return list(bound.arguments.items())


def _flat(values: Any, depth: int = 4) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in nested containers, with its path."""
    for path, value in values:
        if isinstance(value, torch.Tensor):
            yield path, value
        elif depth and isinstance(value, dict):
            yield from _flat([(f"{path}.{key}".strip("."), one) for key, one in value.items()], depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            yield from _flat([(f"{path}.{i}".strip("."), one) for i, one in enumerate(value)], depth - 1)
        elif depth and hasattr(value, "__dataclass_fields__"):
            named = [(f"{path}.{key}".strip("."), getattr(value, key, None)) for key in value.__dataclass_fields__]
            yield from _flat(named, depth - 1)


def _autocast(inputs: list[dict[str, Any]]) -> str:
    """The type that autocast lowers to on the device of the inputs; empty where it is off."""
    kind = inputs[0]["device"] if inputs else "cpu"
    try:
        if not torch.is_autocast_enabled(kind):
            return ""
        return str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
    except (TypeError, RuntimeError, AttributeError):  # before torch 2.4 the question was another
        on = torch.is_autocast_cpu_enabled() if kind == "cpu" else torch.is_autocast_enabled()
        if not on:
            return ""
        kinds = torch.get_autocast_cpu_dtype() if kind == "cpu" else torch.get_autocast_gpu_dtype()
        return str(kinds).removeprefix("torch.")
