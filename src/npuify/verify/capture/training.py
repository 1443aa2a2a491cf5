"""What a step of training does: loss, scale, the gradients and settings of the optimizer, parameters after it."""

from __future__ import annotations

import atexit
import functools
import math
import sys
from typing import TYPE_CHECKING, Any

import torch

from npuify.verify.capture import sameness
from npuify.verify.capture.machine import switches

if TYPE_CHECKING:
    from npuify.verify.capture.recorder import Recorder
    from npuify.verify.capture.settings import Settings
    from npuify.verify.capture.store import Store

_SMALL = 1 << 14
"""Elements of a buffer that is recorded after each step, whether it was written to or not."""
_LOSSES = 8
"""Backward passes of one step whose loss is recorded."""


def install(settings: Settings, store: Store, recorder: Recorder) -> None:
    """Put the hooks into optimizers, ``backward`` and loss scalers."""
    watch = Training(settings, store, recorder)
    recorder.before_root = watch.before_root
    watch.install()
    atexit.register(watch.end)


class Training:
    """Watches one process train."""

    def __init__(self, settings: Settings, store: Store, recorder: Recorder) -> None:
        self._settings = settings
        self._store = store
        self._recorder = recorder
        self._losses = 0
        self._first: int | None = None
        self._order: dict[int, int] = {}
        self._scaled: dict[int, tuple[Any, float]] = {}
        self._hooked: set[int] = set()
        self._scalers: set[type] = set()
        self._patched_npu = False
        self._switches: dict[str, Any] = {}
        self._versions: dict[str, tuple[int, int | None]] = {}

    def install(self) -> None:
        """Replace what has to be."""
        from torch.optim import Optimizer
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        original = Optimizer.__init__

        @functools.wraps(original)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._recorder.optimizers += 1
            original(optimizer, *args, **kwargs)

        Optimizer.__init__ = init
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def run(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._loss(tensors)
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = run
        self._watch_scalers()

    def before_root(self, name: str, model: torch.nn.Module) -> None:
        """A model is called for the first time: the parameters that it starts from."""
        self._watch_npu()
        self._watch_scalers()
        # A lazy module's have no shape before its first call.
        lazy = torch.nn.parameter.is_lazy
        for path, value in self._recorder.names.buffers(name, model):
            if lazy(value):
                continue
            self._versions[path] = (id(value), _version(value))
            self._parameter(path, value, "buffer", "start")
        for identity, (path, value) in self._recorder.names.parameters().items():
            if (path.startswith((f"{name}.",)) or path == name) and not lazy(value):
                self._parameter(path, value, "parameter", "start")
                self._watch_gradient(identity, path, value)

    def end(self) -> None:
        """The program has come to its end."""
        self._store.close(steps=self._recorder.step, stopped=False)

    def _watch_npu(self) -> None:
        if not self._patched_npu and "torch_npu" in sys.modules:
            self._patched_npu = True
            sameness.apply_to_npu(self._settings.dropout)

    def _watch_scalers(self) -> None:
        """Learn of the factor that a scaler puts before a loss, whichever class it is of."""
        owners = [getattr(torch, "amp", None), getattr(torch.cuda, "amp", None)]
        npu = getattr(torch, "npu", None) if "torch_npu" in sys.modules else None
        owners.append(getattr(npu, "amp", None))
        for owner in owners:
            kind = getattr(owner, "GradScaler", None)
            for one in getattr(kind, "__mro__", ()):
                if one not in self._scalers and "scale" in vars(one) and one is not object:
                    self._scalers.add(one)
                    one.scale = self._scaling(one.scale)

    def _scaling(self, original: Any) -> Any:
        @functools.wraps(original)
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if isinstance(result, torch.Tensor) and scaler.is_enabled():
                self._scaled[id(result)] = (result, float(scaler.get_scale()))
            return result

        return scale

    def _loss(self, tensors: Any) -> None:
        recorder = self._recorder
        if recorder.stopped:
            return
        first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if not isinstance(first, torch.Tensor) or first.numel() != 1:
            return
        _, scale = self._scaled.pop(id(first), (None, 1.0))
        self._scaled.clear()
        self._losses += 1
        if self._losses > _LOSSES:
            return
        with recorder.busy():
            value = float(first.detach())
            self._store.put(
                {
                    "event": "loss",
                    "step": recorder.step,
                    "number": self._losses,
                    "at": self._store.next(),
                    "value": value / scale if math.isfinite(value) else str(value),
                    "scale": scale,
                    "dtype": str(first.dtype).removeprefix("torch."),
                }
            )

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        recorder = self._recorder
        if recorder.stopped or not recorder.names.roots:
            return
        number = self._order.setdefault(id(optimizer), len(self._order))
        with recorder.busy():
            names = recorder.names.parameters()
            groups = []
            for group in optimizer.param_groups:
                told = {key: _number(value) for key, value in group.items() if key != "params"}
                told = {key: value for key, value in told.items() if value is not None}
                members = [names.get(id(one), ("", None))[0] for one in group["params"]]
                groups.append({"settings": told, "parameters": [name for name in members if name]})
            self._store.put(
                {
                    "event": "optimizer",
                    "step": recorder.step,
                    "number": number,
                    "at": self._store.next(),
                    "class": type(optimizer).__name__,
                    "groups": groups,
                }
            )
            current = switches()
            if current != self._switches:
                self._switches = current
                self._store.put({"event": "switches", "step": recorder.step, "switches": current})
            for name, parameter in self._members(optimizer, names):
                if parameter.grad is not None:
                    self._parameter(name, parameter.grad, "gradient", "used", number)
                else:
                    record = {"event": "value", "kind": "gradient", "when": "none", "name": name}
                    self._store.put({**record, "step": recorder.step, "optimizer": number, "at": self._store.next()})

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        recorder = self._recorder
        if recorder.stopped or not recorder.names.roots:
            return
        number = self._order.setdefault(id(optimizer), len(self._order))
        with recorder.busy():
            for name, parameter in self._members(optimizer, recorder.names.parameters()):
                self._parameter(name, parameter, "parameter", "after", number)
        if self._first is None:
            self._first = number
        if number != self._first:
            return
        with recorder.busy():
            self._buffers()
        self._losses = 0
        self._store.flush()
        recorder.step += 1
        if self._settings.steps and recorder.step >= self._settings.steps:
            recorder.finish()

    def _buffers(self) -> None:
        """What models keep besides parameters; large ones only where they were written to since the last time."""
        for root, reference in self._recorder.names.roots:
            model = reference()
            if model is None:
                continue
            for path, value in self._recorder.names.buffers(root, model):
                # torch's own kernel writes running means without counting it as a version.
                version = (id(value), _version(value))
                if value.numel() <= _SMALL or self._versions.get(path) != version:
                    self._versions[path] = version
                    self._parameter(path, value, "buffer", "after")

    def _members(self, optimizer: Any, names: dict[int, tuple[str, Any]]) -> list[tuple[str, Any]]:
        """The optimizer's parameters, in the order in which the models have them."""
        own = {id(one) for group in optimizer.param_groups for one in group["params"]}
        return [(name, value) for identity, (name, value) in names.items() if identity in own]

    def _parameter(self, name: str, value: Any, kind: str, when: str, optimizer: int = 0) -> None:
        described = self._recorder.describer.describe(value, known=False)
        record = {"event": "value", "kind": kind, "when": when, "name": name, "step": self._recorder.step}
        self._store.put({**record, "optimizer": optimizer, "at": self._store.next(), "is": described})

    def _watch_gradient(self, identity: int, name: str, value: Any) -> None:
        """The gradient that backward gives a parameter, before anything is done with it."""
        if identity in self._hooked or not value.requires_grad:
            return
        self._hooked.add(identity)
        last: list[int] = []

        def seen(gradient: torch.Tensor) -> None:
            recorder = self._recorder
            if recorder.stopped or last == [recorder.step]:
                return
            last[:] = [recorder.step]
            with recorder.busy():
                self._parameter(name, gradient, "gradient", "backward")

        value.register_hook(seen)


def _version(value: torch.Tensor) -> int | None:
    """How often a tensor was written to; None where that is not counted."""
    try:
        return int(value._version)
    except RuntimeError:
        return None


def _number(value: Any) -> Any:
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if isinstance(value, (tuple, list)) and all(isinstance(one, (int, float)) for one in value):
        return list(value)
    return None
