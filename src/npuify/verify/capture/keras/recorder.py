"""Sees every call of a Keras layer: what went in and what came out."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.engine import base_layer
from tensorflow.python.eager import context, tape
from tensorflow.python.framework import ops

from npuify.verify.capture import places
from npuify.verify.capture.keras import sameness

_TENSORS = 24
"""Tensors that are recorded of one call's inputs, or of its results."""
_SEEN = 4096


class Frame:
    """A layer at work."""

    def __init__(self, layer: Any, name: str, token: int, phase: str) -> None:
        self.layer = layer
        self.name = name
        self.token = token
        self.phase = phase
        self.counts: dict[str, int] = {}


class Seen:
    """A tensor that layers were given, or gave.

    Attributes:
        graph: that it belongs to; None: the program itself computed it.
        at: tokens of calls, and their slots.
        names: the layers that gave it.
    """

    def __init__(self, tensor: Any, graph: Any) -> None:
        self.tensor = tensor
        self.graph = graph
        self.at: list[tuple[int, str]] = []
        self.names: list[str] = []


class _Thread(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.busy = False


class Recorder:
    """The names of layers and variables, and the hook that sees their calls."""

    def __init__(self, log: Any, settings: Any) -> None:
        self.log = log
        self.settings = settings
        self._thread = _Thread()
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._roots: dict[str, int] = {}
        self._models: list[tuple[str, Any]] = []
        self._variables: dict[int, tuple[Any, str, str]] = {}
        self.seen: dict[int, Seen] = {}
        """What layers were given and gave since the last gradient, by the tensor's id."""
        log.within = lambda: self._thread.frames[-1].token if self._thread.frames else 0

    def install(self) -> None:
        """Put the hook into ``Layer.__call__``."""
        original = base_layer.Layer.__call__
        recorder = self

        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder._passes_over(args, kwargs):
                return original(layer, *args, **kwargs)
            return recorder._call(original, layer, args, kwargs)

        base_layer.Layer.__call__ = call

    def _passes_over(self, args: Any, kwargs: Any) -> bool:
        """Whether a call only builds a model, or is the capture's own."""
        if self._thread.busy or self.log.writer.stopped:
            return True
        given = tf.nest.flatten([args, kwargs])
        if any(isinstance(one, keras.engine.keras_tensor.KerasTensor) for one in given):
            return True
        if context.executing_eagerly():
            return False
        # Keras infers shapes in graphs of its own.
        return ops.get_default_graph().name in ("keras_graph", "keras_scratch_graph", "scratch_graph")

    def _call(self, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        frames = self._thread.frames
        root = not frames
        name = self._name(layer)
        phase = frames[0].phase if frames else ("train" if tape.could_possibly_record() else "eval")
        token = self.log.token()
        inputs = _tensors([*((str(i), one) for i, one in enumerate(args)), *kwargs.items()])
        self.log.add("begin", {"token": token, "within": self.log.within(), "root": root, "name": name, "phase": phase})
        if root:
            sameness.again(self.settings)
            self._start(name, layer, "buffer")
        self._see(token, name, "input", inputs)
        frames.append(Frame(layer, name, token, phase))
        try:
            result = original(layer, *args, **kwargs)
        finally:
            frames.pop()
        outputs = _tensors([("", result)])
        if root:
            self._learn(name, layer)
            self._start(name, layer, "parameter")
        self.log.add("module", self._described(name, layer))
        told = {
            "token": token,
            "name": name,
            "phase": phase,
            "training": _training(kwargs, phase),
            "inputs": len(inputs),
        }
        self.log.add("call", {**told, "root": root}, [*inputs, *outputs])
        self._see(token, name, "output", outputs)
        return result

    def _see(self, token: int, name: str, side: str, tensors: list[tuple[str, Any]]) -> None:
        graph = None if context.executing_eagerly() else ops.get_default_graph()
        if len(self.seen) > _SEEN:
            self.seen.clear()
        for slot, tensor in tensors:
            if tensor.dtype.is_floating:
                known = self.seen.get(id(tensor))
                if known is None or known.tensor is not tensor:
                    known = self.seen[id(tensor)] = Seen(tensor, graph)
                known.at.append((token, f"{side}.{slot}"))
                if side == "output":
                    known.names.append(name)

    def _name(self, layer: Any) -> str:
        known = self._names.get(layer)
        if known is not None:
            return known
        frames = self._thread.frames
        if frames:
            # What a model of the program's own makes, and Keras does not list below it.
            kind = type(layer).__name__
            number = frames[-1].counts[kind] = frames[-1].counts.get(kind, 0) + 1
            name = f"{frames[-1].name}.~{kind}" + (f"({number})" if number > 1 else "")
            self._names[layer] = name
            return name
        kind = type(layer).__name__
        number = self._roots[kind] = self._roots.get(kind, 0) + 1
        name = kind if number == 1 else f"{kind}({number})"
        self._names[layer] = name
        self._models.append((name, weakref.ref(layer)))
        self._learn(name, layer)
        return name

    def _learn(self, name: str, layer: Any) -> None:
        """Name what is below a layer, and the variables there."""
        self._names.setdefault(layer, name)
        for kind, held in (("parameter", layer._trainable_weights), ("buffer", layer._non_trainable_weights)):
            for variable in held:
                last = variable.name.rpartition("/")[2].partition(":")[0]
                self._variables.setdefault(id(variable), (variable, f"{name}.{last}", kind))
        for inner in layer._flatten_layers(recursive=False, include_self=False):
            known = self._names.get(inner)
            self._learn(known if known is not None else f"{name}.{inner.name}", inner)

    def variable(self, variable: Any) -> str:
        """The name of a variable of a model; empty for one of none."""
        found = self._variables.get(id(variable))
        if found is None:
            for name, reference in self._models:
                model = reference()
                if model is not None:
                    self._learn(name, model)
            found = self._variables.get(id(variable))
        return found[1] if found is not None and found[0] is variable else ""

    def buffers(self) -> list[tuple[str, Any]]:
        """Name and variable of what models keep besides parameters."""
        return [(name, one) for one, name, kind in self._variables.values() if kind == "buffer"]

    def _start(self, name: str, layer: Any, kind: str) -> None:
        """The variables that a model starts from. What its first call makes is known after it only.

        A function may be traced again before it ever runs, so that this is asked of each, and written once.
        """
        if kind == "buffer":
            self._learn(name, layer)
        for variable, path, which in list(self._variables.values()):
            if which == kind and (path.startswith(f"{name}.")):
                self.value(variable, path, kind, "start")

    def value(self, variable: Any, path: str, kind: str, when: str, optimizer: int = 0) -> None:
        """What a variable holds now."""
        try:
            held = variable.read_value()
        except (ValueError, TypeError, NotImplementedError, tf.errors.FailedPreconditionError):
            return  # no value yet, or none of one device
        told = {"kind": kind, "when": when, "name": path, "optimizer": optimizer}
        self.log.add("value", told, [("", tf.convert_to_tensor(held))])

    def _described(self, name: str, layer: Any) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        for key, value in vars(layer).items():
            if key.startswith("_") or key in ("training", "name", "built", "stateful", "supports_masking"):
                continue
            if isinstance(value, (bool, int, float, str)):
                settings[key] = value if value == value else str(value)
            elif isinstance(value, tuple) and all(isinstance(one, (bool, int, float, str)) for one in value):
                settings[key] = list(value)
        return {
            "event": "module",
            "name": name,
            "class": type(layer).__name__,
            "package": type(layer).__module__.partition(".")[0],
            "place": _place(type(layer).call, self.settings.root),
            "settings": settings,
        }


def _place(function: Any, root: str) -> str:
    """Where the program defines a layer; empty for Keras's own, and for those that the capture has replaced."""
    own = str(getattr(function, "__module__", "")).partition(".")[0] == "npuify"
    return "" if own else places.of_function(function, root)


def _training(kwargs: Any, phase: str) -> bool:
    """Whether a layer was told to train."""
    told = kwargs.get("training")
    return bool(told) if isinstance(told, (bool, int, np.bool_)) else phase == "train"


def _tensors(values: Any) -> list[tuple[str, Any]]:
    """Every dense tensor in nested containers, with its path."""
    found: list[tuple[str, Any]] = []

    def walk(path: str, value: Any, depth: int) -> None:
        if len(found) >= _TENSORS:
            return
        if isinstance(value, np.ndarray) and value.dtype != object:
            value = tf.convert_to_tensor(value)
        if isinstance(value, tf.Tensor):
            if value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool or value.dtype.is_complex:
                found.append((path or "0", value))
        elif depth and isinstance(value, dict):
            for key, one in value.items():
                walk(f"{path}.{key}".strip("."), one, depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            for number, one in enumerate(value):
                walk(f"{path}.{number}".strip("."), one, depth - 1)

    for path, value in values:
        walk(path, value, 4)
    return found
