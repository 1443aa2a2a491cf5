"""What happens in each Python below ``npuify run``: little at once, and the patches when torch has been imported."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.run import advice, environment, record
from npuify.run.settings import PREFIX, Settings, from_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_WATCHED = ("torch", "torch_npu")


def begin() -> None:
    """Prepare this process. The program has not begun, and torch is not imported."""
    settings = from_environment()
    if settings.trace:
        record.start(settings.trace)
    if "environment" not in settings.disabled:
        environment.follow()
    if "notes" not in settings.disabled:
        advice.install()
    sys.meta_path.insert(0, _Watcher(settings))


class _Watcher(importlib.abc.MetaPathFinder):
    """Sees torch and torch_npu being imported, and calls for the patches when both are there."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _WATCHED:
            return None
        for finder in sys.meta_path:
            find: Any = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self._watch(spec)
                return spec
        return None

    def _watch(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            run(module)
            self._loaded(module)

        loader.exec_module = exec_module

    def _loaded(self, module: ModuleType) -> None:
        if module.__name__ == "torch_npu":
            if _is_complete("torch"):
                self._apply()
        elif "torch_npu" not in sys.modules or _is_complete("torch_npu"):
            self._apply()

    def _apply(self) -> None:
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        put_in_place(self.settings)


def _is_complete(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def put_in_place(settings: Settings) -> None:
    """Import torch_npu, and patch. torch has been imported.

    A Python without torch_npu, such as a child in another environment, is told and left as it is.

    Raises:
        ImportError: torch_npu is there, and cannot be imported.
    """
    if importlib.util.find_spec("torch_npu") is None:
        print(
            phrase(
                "npuify run: {executable} has no torch_npu, so nothing is changed in this process",
                executable=sys.executable,
            ),
            file=sys.stderr,
        )
        return
    try:
        importlib.import_module("torch_npu")
    except Exception as error:
        advice.add_note(error, "npuify run: torch_npu cannot be imported; npuify doctor says why, and what to do")
        raise
    from npuify.run import apply

    apply.apply(settings)


def in_this_process(settings: Settings) -> None:
    """For a process that runs already, such as a notebook's: as if it had been started below ``npuify run``."""
    from npuify.run import launch_paths

    if os.environ.get(PREFIX) == "1":
        return
    os.environ.update(launch_paths.environment(settings, dict(os.environ)))
    if settings.trace:
        record.start(settings.trace)
    if "environment" not in settings.disabled:
        environment.follow()
    if settings.device == "simulated":
        from npuify.simulator import finder

        finder.install()
    if "torch" in sys.modules:
        put_in_place(settings)
    else:
        sys.meta_path.insert(0, _Watcher(settings))
