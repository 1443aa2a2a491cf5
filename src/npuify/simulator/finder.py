"""Finds ``torch_npu`` for a program under ``npuify simulate``.

It is asked after everything else, so that an installed torch_npu always wins, and nothing of it lies in a folder from
which a program outside of ``npuify simulate`` could import it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys
from email.message import Message
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

ROOT = "torch_npu"
TRANSFER = "torch_npu.contrib.transfer_to_npu"


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if spec.name in (ROOT, TRANSFER):
            return None
        from npuify.simulator import package

        return package.lazy_modules.get(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == ROOT:
            # torch imports its backends by itself; here torch_npu is already being imported.
            before = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
            os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
            try:
                import torch  # noqa: F401
            finally:
                if before is None:
                    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
                else:
                    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = before
            from npuify.simulator import package
            from npuify.simulator.settings import WrongSettingError

            try:
                package.build(module)
            except WrongSettingError as error:
                # torch hides what its backends raise behind a long story of its own; this goes through it.
                raise SystemExit(f"npuify: {error}") from error
        elif module.__name__ == TRANSFER:
            from npuify.simulator import transfer

            transfer.apply()


class Finder(importlib.metadata.DistributionFinder):
    """Finds the shim's modules, and its version for importlib.metadata."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of ``torch_npu`` or a module of it; None for all else."""
        if fullname == ROOT:
            return importlib.machinery.ModuleSpec(fullname, _Loader(), origin="npuify simulate", is_package=True)
        if fullname == TRANSFER:
            return importlib.machinery.ModuleSpec(fullname, _Loader(), origin="npuify simulate")
        if fullname.startswith("torch_npu."):
            from npuify.simulator import package

            if fullname in package.lazy_modules:
                return importlib.machinery.ModuleSpec(fullname, _Loader(), origin="npuify simulate", is_package=True)
        if fullname.startswith("torch.npu."):
            same = "torch_npu.npu." + fullname[len("torch.npu.") :]
            module = sys.modules.get(same)
            if module is not None:
                return importlib.machinery.ModuleSpec(fullname, _Alias(module), origin="npuify simulate")
        return None

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """The distribution ``torch-npu``, where it is asked for, or all are."""
        name = getattr(context, "name", None)
        if name is None or name.replace("-", "_").lower() == "torch_npu":
            yield _Distribution()


class _Alias(importlib.abc.Loader):
    """``import torch.npu.amp`` gives the module that ``torch.npu.amp`` is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        self._spec = self._module.__spec__
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Distribution(importlib.metadata.Distribution):
    """The metadata that an installed torch-npu of that release would have."""

    def __init__(self) -> None:
        from npuify.simulator import tables

        wanted = os.environ.get("NPUIFY_SIMULATE_TORCH_NPU", "")
        try:
            self._version = tables.release_for(_torch_version(), wanted)
        except ValueError as error:
            raise SystemExit(f"npuify: NPUIFY_SIMULATE_TORCH_NPU: {error}") from error

    def read_text(self, filename: str) -> str | None:
        """METADATA and entry points; None for other files."""
        if filename in ("METADATA", "PKG-INFO"):
            text = Message()
            text["Metadata-Version"] = "2.1"
            text["Name"] = "torch-npu"
            text["Version"] = f"{self._version}+simulated"
            return text.as_string()
        if filename == "entry_points.txt":
            backends = "".join(
                f"{name} = npuify.simulator.api.dynamo:{name}\n" for name in ("npu", "npugraphs", "npugraph_ex")
            )
            return f"[torch.backends]\ntorch_npu = torch_npu:_autoload\n[torch_dynamo_backends]\n{backends}"
        return None

    def locate_file(self, path: Any) -> Any:
        """There are no files."""
        from pathlib import Path

        return Path("/nowhere") / str(path)


def _torch_version() -> str:
    loaded = sys.modules.get("torch")
    version = getattr(loaded, "__version__", None)
    if version is not None:
        return str(version)
    if loaded is not None:
        # torch is being imported and asks for its backends; its version module is there already.
        found = sys.modules.get("torch.version")
        if found is not None:
            return str(found.__version__)
    return importlib.metadata.version("torch")


def install() -> None:
    """Add the finder, behind all others, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
