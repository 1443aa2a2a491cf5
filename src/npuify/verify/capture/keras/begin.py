"""Begins a capture in this process: when TensorFlow has been imported."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import os
import sys
from typing import TYPE_CHECKING, Any

from npuify.verify.capture.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VARIABLE = "NPUIFY_CAPTURE_TENSORFLOW"
"""Begins it; the settings are those of every capture."""


def when_tensorflow_comes() -> None:
    """Wait for the program to import TensorFlow, and then begin."""
    sys.meta_path.insert(0, _Finder())


def begin() -> None:
    """Put the hooks of the capture into TensorFlow and Keras."""
    settings = from_environment()
    from npuify.verify.capture.keras import functions, recorder, replay, sameness, training, values
    from npuify.verify.capture.store import Store

    storage = Store(settings, rank=values.rank, process=values.process)
    sameness.apply(settings, storage)
    writer = replay.Writer(settings, storage)
    log = functions.Log(writer)
    functions.install(log)
    seen = recorder.Recorder(log, settings)
    seen.install()
    training.install(log, seen, writer)
    atexit.register(writer.end)
    os.register_at_fork(after_in_child=writer.stop)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets TensorFlow be found as ever, and begins the capture when it has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                break
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._original.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        module.__loader__ = self._original
        self._original.exec_module(module)
        begin()
