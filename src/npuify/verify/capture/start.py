"""Begins a capture in this process: when torch is imported, and only in processes that can be the program's own."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from typing import TYPE_CHECKING, Any

from npuify.verify.capture.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic")
"""Modules that only start others."""


def when_torch_comes() -> None:
    """Wait for the program to import torch, and then begin."""
    words = getattr(sys, "orig_argv", [])
    if any(word in _LAUNCHERS or word.endswith("torchrun") for word in words[1:4]):
        return
    if "torch" in sys.modules:
        begin()
        return
    sys.meta_path.insert(0, _Finder())


def begin() -> None:
    """Put the hooks of the capture into torch."""
    settings = from_environment()
    from npuify.verify.capture import recorder, sameness, store, training

    storage = store.Store(settings)
    sameness.apply(settings, storage)
    recording = recorder.Recorder(settings, storage)
    if settings.level == "operator":
        from npuify.verify.capture.operators import Operators

        recording.operators = Operators(recording)
    recording.install()
    training.install(settings, storage, recording)
    os.register_at_fork(after_in_child=recording.stop)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets torch be found as ever, and begins the capture when it has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
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
