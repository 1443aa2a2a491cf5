"""The names and options of the adapter, from npuify's own tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[3] / "knowledge" / "data" / "tensorflow"
_read: dict[str, dict[str, Any]] = {}


def table(package: str) -> dict[str, Any]:
    """The table of ``npu_bridge`` or ``npu_device``."""
    if package not in _read:
        _read[package] = json.loads((_FOLDER / f"{package}.json").read_text(encoding="utf-8"))
    return _read[package]


def arguments(package: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call of the real function or class ``name``, with its defaults.

    Raises:
        TypeError: the real one does not take them; the words are Python's.
    """
    module, _, last = name.rpartition(".")
    written = table(package)["names"][module][last]
    called = "__init__" if written.startswith("c") else last
    # A default that is too long for the table, or a name of the module itself, is left out.
    parameters = re.sub(r"=(?:\.\.\.|[A-Za-z_]\w*\.[\w.]+)(?=[,)])", "=None", written[1:] or "()")
    made: dict[str, Any] = {}
    # The text is npuify's own table; a compiler for signatures is what Python has for this.
    exec(f"def {called}{parameters}: return dict(locals())", made)
    found: dict[str, Any] = made[called](*args, **kwargs)
    return found


def options() -> dict[str, tuple[Any, Any, bool]]:
    """Option of npu_device → its default, the values that it takes (None: any), whether it is deprecated."""
    import ast

    found: dict[str, tuple[Any, Any, bool]] = {}
    for name, written in table("npu_device")["options"].items():
        parts = written.split("|")
        deprecated = parts[0] == "deprecated"
        default = None if deprecated else ast.literal_eval("|".join(parts[:-1]))
        found[name] = (default, ast.literal_eval(parts[-1].replace("replacement=None", "None")), deprecated)
    return found
