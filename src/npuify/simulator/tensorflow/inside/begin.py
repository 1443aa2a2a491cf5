"""Finds ``npu_bridge``, ``npu_device`` and ``hccl`` for a program under ``npuify simulate``.

It is asked after everything else, so that an installed adapter always wins.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VARIABLE = "NPUIFY_SIMULATE_TENSORFLOW"
ROOTS = ("npu_bridge", "npu_device", "hccl")
_PACKAGE = {"1": ("npu_bridge", "hccl"), "2": ("npu_device", "hccl")}


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        from npuify.simulator.tensorflow.inside import package

        return package.module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        from npuify.simulator.tensorflow.inside import package

        package.imported(module.__name__)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the adapter for the line of TensorFlow that runs."""

    def __init__(self, line: str) -> None:
        self._roots = _PACKAGE[line]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that the adapter has; None for all else."""
        if fullname.partition(".")[0] not in self._roots:
            return None
        from npuify.simulator.tensorflow.inside import package

        if package.module(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), origin="npuify simulate", is_package=True)


def install() -> None:
    """Add the finder, behind all others, once."""
    line = os.environ.get(VARIABLE, "")
    if line in _PACKAGE and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder(line))
