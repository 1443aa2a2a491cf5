"""``trainer.device=cuda`` on a command line: an override of Hydra's or OmegaConf's.

It is looked up where the program declares the setting: in its YAML files, or in the dataclasses that it registers.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
import warnings
from typing import TYPE_CHECKING, NamedTuple

from npuify.model import Safety
from npuify.rules.program_options import OptionUse
from npuify.source.settings import UnreadableSettings, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.program_options import ProgramOptions

_READS_OVERRIDES = re.compile(rb"\bhydra\b|\bOmegaConf\b|\bomegaconf\b")
_KEY = re.compile(r"\+{0,2}([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_PACKAGE = re.compile(rb"#\s*@package\s+(\S+)")
_MOST_FILES = 300
_LARGEST = 300_000
"""Bytes; a longer file of settings is data."""


class _Place(NamedTuple):
    file: str
    line: int


def override_use(key: str, value: str, counterpart: str, program: str, options: ProgramOptions) -> OptionUse | None:
    """How a program takes ``value`` of an override; None where it reads no overrides, or declares no such setting.

    Args:
        key: what stands before the sign, for example ``+trainer.device``.
        value: what the launcher passes.
        counterpart: what the launcher is to pass on an NPU.
        program: the file that the command starts, relative to the project's root.
        options: of the project.
    """
    match = _KEY.fullmatch(key)
    if match is None or not program:
        return None
    try:
        raw = options.read(program)
    except OSError:
        return None
    if _READS_OVERRIDES.search(raw) is None:
        return None
    path = tuple(match.group(1).split("."))
    place = next(_in_files(path, program, raw, options), None)
    if place is not None:
        # The value in the file changes by the same words, and comparisons with it by the rules for Python.
        return OptionUse(f"{place.file}:{place.line}", takes=True, will_take=True, safety=Safety.SAFE, choices=())
    return options.use_of_field(path[-1], _owner(path), value, counterpart, program)


def _owner(path: tuple[str, ...]) -> str:
    return path[-2] if len(path) > 1 else ""


def _in_files(path: tuple[str, ...], program: str, raw: bytes, options: ProgramOptions) -> Iterator[_Place]:
    """Where the program's own files of settings have a value at ``path``."""
    project = options.project
    for folder in _folders(program, raw):
        for relative, group in _settings_files(os.fspath(project.root), folder):
            try:
                data = options.read(relative)
                document = read("yaml", data)
            except (OSError, UnreadableSettings):
                continue
            project.dependencies.add(relative)
            package = _PACKAGE.match(data)
            above = group
            if package is not None:
                name = package.group(1).decode("utf-8", "replace")
                above = () if name == "_global_" else tuple(name.replace("_group_", ".".join(group)).split("."))
            for one in document.values:
                if (*above, *one.path) == path:
                    yield _Place(relative, data.count(b"\n", 0, one.start) + 1)


def _folders(program: str, raw: bytes) -> list[str]:
    """The folders that ``hydra.main(config_path=…)`` and ``initialize(config_path=…)`` of a program name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                given = keyword.value
                if keyword.arg == "config_path" and isinstance(given, ast.Constant) and isinstance(given.value, str):
                    folder = posixpath.normpath(posixpath.join(posixpath.dirname(program), given.value))
                    if not folder.startswith(("/", "..")):
                        found.append(folder)
    return found


def _settings_files(root: str, folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The YAML files below a folder, each with the folders between."""
    count = 0
    top = posixpath.join(root, folder)
    for place, folders, names in os.walk(top):
        folders.sort()
        between = os.path.relpath(place, top).replace(os.sep, "/")
        group = () if between == "." else tuple(between.split("/"))
        for name in sorted(names):
            if name.endswith((".yaml", ".yml")) and count < _MOST_FILES:
                count += 1
                if os.path.getsize(posixpath.join(place, name)) <= _LARGEST:  # noqa: PTH202 - beside os.walk
                    yield posixpath.normpath(posixpath.join(folder, *group, name)), group
