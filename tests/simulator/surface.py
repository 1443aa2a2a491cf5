"""A program to be simulated: it says what the simulated torch_npu has. ``surface.py MODULES.json OUTPUT.json``."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import types
from pathlib import Path

from npuify.selftest.inside.signature_text import parameters_of


def kind_of(value: object) -> str:
    """The letter that the tables have for such a name."""
    if isinstance(value, types.ModuleType):
        return "M"
    if type(value).__name__ in ("OpOverloadPacket", "OpOverload"):
        return "o"
    if inspect.isclass(value):
        return "c"
    return "f" if callable(value) else "v"


def main() -> None:
    """List the wanted modules, and what the simulator says it does not simulate."""
    import torch  # noqa: F401 - loads torch_npu as its device backend

    from npuify.simulator import package

    modules = json.loads(Path(sys.argv[1]).read_text())
    found: dict[str, dict[str, list[str | None]]] = {}
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        entries = {}
        for attribute in dir(module):
            if not attribute.startswith("_"):
                value = getattr(module, attribute)
                kind = kind_of(value)
                entries[attribute] = [kind, parameters_of(value) if kind in "fc" else None]
        found[name] = entries
    Path(sys.argv[2]).write_text(json.dumps({"modules": found, "missing": package.missing}))


if __name__ == "__main__":
    main()
