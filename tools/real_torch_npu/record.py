"""Ask one release everything, and write it down as a live table."""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .machine import Machine
    from .packages import Wheel

FORMAT = 1
"""Layout of the table; npuify reads no other."""
GENERATOR = "1"
"""Raised whenever the same packages would give another table."""
_ROWS = ("names", "exported", "schemas", "operators", "calls", "by_import", "by_transfer_to_npu", "behaviour")


def record(machine: Machine, say: Callable[[str], None]) -> bytes:
    """The table of the release of ``machine``, as JSON. ``say`` is told what is going on.

    Raises:
        PackageError: a probe failed.
    """
    found: dict[str, Any] = {}
    for probe in ("names", "dispatch", "patches", "calls", "behaviour"):
        say(f"asking for {probe}")
        found[probe] = machine.probe(probe)
    names, dispatch = found["names"], found["dispatch"]
    return to_json(
        {
            "format": FORMAT,
            "generator": GENERATOR,
            "torch_npu": _package(machine.torch_npu),
            "torch": _package(machine.torch),
            "torch_build": "cuda" if machine.torch.has_cuda else "cpu",
            "python": platform.python_version(),
            "machine": platform.machine(),
            "names": names["names"],
            "exported": {module: exported for module, exported in names["exported"].items() if exported},
            "not_imported": names["not_imported"],
            "failed": names["failed"],
            "operators": dispatch["operators"],
            "keys": dispatch["keys"],
            "schemas": dispatch["schemas"],
            "calls": {
                name: call["cpu"] for name, call in found["calls"].items() if call["cpu"] or call["end"] == "done"
            },
            "by_import": found["patches"]["by_import"],
            "by_transfer_to_npu": found["patches"]["by_transfer_to_npu"],
            "behaviour": found["behaviour"],
        }
    )


def _package(wheel: Wheel) -> dict[str, str]:
    return {"version": wheel.version, "wheel": wheel.path.name, "sha256": wheel.sha256}


def to_json(content: dict[str, Any]) -> bytes:
    """JSON with one module, operator, name or scenario per line, so that releases can be compared with ordinary
    tools."""
    lines = []
    for key, value in content.items():
        if key in _ROWS and value:
            rows = [f"{_dump(k)}:{_dump(value[k])}" for k in sorted(value)]
            lines.append(f"{_dump(key)}:{{\n" + ",\n".join(rows) + "}")
        else:
            lines.append(f"{_dump(key)}:{_dump(value)}")
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


def _dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def write(content: bytes, version: str, folder: Path) -> Path:
    """Write the table to ``folder/<version>.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{version}.json"
    path.write_bytes(content)
    print(path, file=sys.stdout)
    return path
