"""Calls a function when the program has imported a package, and changes nothing of how it is found and loaded."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


def after_import(package: str, call: Callable[[], None]) -> None:
    """Call ``call`` once, when ``package`` has been loaded; it is not loaded yet."""
    sys.meta_path.insert(0, _Finder(package, call))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, package: str, call: Callable[[], None]) -> None:
        self._package = package
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._package:
            return None
        sys.meta_path.remove(self)
        spec = None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                break
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, original: Any, call: Callable[[], None]) -> None:
        self._original = original
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._original.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        module.__loader__ = self._original
        self._original.exec_module(module)
        self._call()
