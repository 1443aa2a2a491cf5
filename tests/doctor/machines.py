"""Reads the machines of ``tests/data/machines`` into the form of a capture."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

from npuify.doctor.capture import Capture
from npuify.doctor.machine import Answer, Node

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "data" / "machines"
HEALTHY = tuple(sorted(path.stem for path in FOLDER.glob("*.toml") if not path.stem.startswith("broken_")))
BROKEN = tuple(sorted(path.stem for path in FOLDER.glob("broken_*.toml")))
TABLES = ("environment", "packages", "links", "folders", "nodes", "files", "commands")


def raw(name: str) -> dict[str, Any]:
    """The tables of a machine, its base's among them."""
    own = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if "base" not in own:
        return own
    merged = raw(own["base"])
    merged["errors"], merged["warnings"] = [], []
    for table in TABLES:
        merged[table] = {
            key: value
            for key, value in merged.get(table, {}).items()
            if not any(fnmatch(key, gone) or key.startswith(f"{gone}/") for gone in own.get("remove", ()))
        }
    for table in TABLES:
        merged[table] = {**merged.get(table, {}), **own.get(table, {})}
    for place, changes in own.get("replace", {}).items():
        table = "files" if place.startswith("/") else "commands"
        for before, after in changes.items():
            assert before in merged[table][place], (name, before)
            merged[table][place] = merged[table][place].replace(before, after)
    merged.update({key: value for key, value in own.items() if key not in (*TABLES, "replace", "remove")})
    return merged


def expected(name: str) -> tuple[set[str], set[str]]:
    """The checks that have to tell errors, and warnings."""
    machine = raw(name)
    return set(machine.get("errors", ())), set(machine.get("warnings", ()))


def load(name: str) -> Capture:
    """The machine as a capture."""
    machine = raw(name)
    packages = {key: version for key, version in machine["packages"].items() if version != "none"}
    inventory = {
        "executable": "/usr/local/bin/python3",
        "version": machine["python"],
        "machine": machine["architecture"],
        "prefix": "/usr/local",
        "packages": packages,
        "places": {"torch": "/usr/local/lib/python3/site-packages"},
    }
    files = dict(machine["files"])
    if "torch_abi" in machine:
        place = "/usr/local/lib/python3/site-packages/torch/share/cmake/Torch/TorchConfig.cmake"
        files[place] = f'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI={machine["torch_abi"]}")\n'
    commands = {command: Answer(0, text) for command, text in machine["commands"].items()}
    commands["python inventory"] = Answer(0, json.dumps(inventory) + "\n")
    return Capture(
        description=machine["description"],
        origin=machine["origin"],
        files=files,
        folders={path: tuple(names) for path, names in machine["folders"].items()},
        nodes={path: Node(**node) for path, node in machine["nodes"].items()},
        links=machine.get("links", {}),
        commands=commands,
        environment=machine["environment"],
    )
