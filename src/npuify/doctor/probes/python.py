"""The Python that programs will run with: its version and packages, without importing any of them."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.doctor.machine import Sight

NAME: Final = "python inventory"
NOT_ASKED: Final = ""
"""The interpreter of a machine that was written down without one: that of this machine says nothing about it."""

_INVENTORY: Final = """
import json, os, platform, sys
try:
    from importlib import metadata
except ImportError:
    import importlib_metadata as metadata
packages, files = {}, {}
for one in metadata.distributions():
    name = (one.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
    if name and name not in packages:
        packages[name] = one.version
        if name in ("torch", "torch-npu", "numpy"):
            files[name] = str(one.locate_file(""))
print(json.dumps({
    "executable": sys.executable, "version": platform.python_version(), "machine": platform.machine(),
    "prefix": sys.prefix, "packages": packages, "places": files,
}))
"""
"""Runs in the judged Python, which may be an old one; reads metadata only."""


class Python(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter with its packages, names as PEP 503 normalises them."""

    executable: str
    version: str
    machine: str
    packages: dict[str, str]
    torch_abi: str = ""
    """``1`` or ``0``: the C++11 ABI that torch was built with; empty where it cannot be told."""
    torch_for: str | None = None
    """What torch was built for, as its own version.py says: ``CUDA 12.8``, ``ROCm 6.4``; empty for none of them, None
    where it cannot be told. Newer plain wheels are built for CUDA and do not say so in their version."""
    problem: str = ""
    """Why it could not be asked; then all else is empty."""

    @property
    def minor(self) -> str:
        """Major and minor version."""
        return ".".join(self.version.split(".")[:2])


def read(machine: Sight, executable: str | None = None, *, live: bool = True) -> Python:
    """Ask the interpreter that ``executable`` names, else the one that runs npuify, where the machine is this one."""
    program = executable or (sys.executable if live else NOT_ASKED)
    answer = machine.run(NAME, [program, "-c", _INVENTORY])
    try:
        told: dict[str, Any] = json.loads(answer.stdout.strip().splitlines()[-1]) if answer.stdout.strip() else {}
    except ValueError:
        told = {}
    if not told:
        lines = answer.stderr.strip().splitlines()
        why = (
            phrase("no such program")
            if answer.missing
            else lines[-1]
            if lines
            else phrase("it exited with {code}", code=answer.code)
        )
        return Python(executable=program, version="", machine="", packages={}, problem=why)
    packages = {str(name): str(version) for name, version in told.get("packages", {}).items()}
    place = told.get("places", {}).get("torch", "")
    return Python(
        executable=str(told.get("executable", program)),
        version=str(told.get("version", "")),
        machine=str(told.get("machine", "")),
        packages=packages,
        torch_abi=_abi(machine, place) if place else "",
        torch_for=_built_for(machine, place) if place else None,
    )


def _abi(machine: Sight, place: str) -> str:
    """torch writes its ABI into the settings for C++ projects; importing it to ask would take seconds."""
    text = machine.read(f"{place}/torch/share/cmake/Torch/TorchConfig.cmake") or ""
    found = re.search(r"_GLIBCXX_USE_CXX11_ABI=(\d)", text)
    return found[1] if found else ""


def _built_for(machine: Sight, place: str) -> str | None:
    """Read in torch/version.py, which says ``cuda: Optional[str] = '12.8'`` or, in older ones, ``cuda = '12.4'``."""
    text = machine.read(f"{place}/torch/version.py")
    if not text or not re.search(r"^cuda\b", text, re.MULTILINE):
        return None
    for name, shown in (("cuda", "CUDA"), ("hip", "ROCm"), ("rocm", "ROCm")):
        found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([\w.+-]+)['\"]", text, re.MULTILINE)
        if found:
            return f"{shown} {found[1]}"
    return ""
