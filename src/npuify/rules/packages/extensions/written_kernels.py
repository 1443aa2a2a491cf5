"""The modules that take the place of CUDA extensions, and the lines that import them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.helpers import KERNELS, kernel_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.rules.opt_ins import ReplacedExtension


def _folder(extension: ReplacedExtension, relative: str) -> str:
    """The folder in which what takes an extension's place lies, for a file that imports it."""
    folder = relative.rpartition("/")[0]
    return f"{folder}/{KERNELS}" if folder else KERNELS


def import_lines(extension: ReplacedExtension, relative: str, local: str) -> list[str]:
    """The lines by which a file imports it under a name: relative to itself, where it is a part of a package."""
    what = f" import {extension.name}" + (f" as {local}" if local != extension.name else "")
    return either_way(extension, relative, what)


def either_way(extension: ReplacedExtension, relative: str, what: str) -> list[str]:
    """An import from the package of replacements; ``what`` follows its name."""
    by_name, by_package = f"from {KERNELS}{what}", f"from .{KERNELS}{what}"
    if "/" not in relative or relative in extension.imported_by_name:
        return [by_name]
    if relative in extension.imported_either_way:
        return ["try:", f"    {by_package}", "except ImportError:", f"    {by_name}"]
    return [by_package]


def used_kernels(contents: Mapping[str, bytes], extensions: Sequence[ReplacedExtension]) -> dict[str, bytes]:
    """The modules that migrated files import from ``npuify_kernels``, by the path at which each has to lie."""
    wanted: dict[str, bytes] = {}
    for relative, data in contents.items():
        if KERNELS.encode() not in data:
            continue
        imported = set(re.findall(rb"from [\w.]*\b" + KERNELS.encode() + rb"(?: import |\.)(\w+)", data))
        for extension in extensions:
            if extension.name.encode() in imported:
                folder = _folder(extension, relative)
                wanted[f"{folder}/__init__.py"] = kernel_text("__init__")
                wanted[f"{folder}/{extension.name}.py"] = _facade(extension)
                for family in sorted({family for _, family, _ in extension.functions}):
                    wanted[f"{folder}/of_{family}.py"] = kernel_text(family)
    return wanted


def _facade(extension: ReplacedExtension) -> bytes:
    """The module that has the extension's functions."""
    lines = [
        kernel_text("extension").decode().rstrip("\n").replace("EXTENSION", extension.module),
        "",
    ]
    by_family: dict[str, list[str]] = {}
    for name, family, function in extension.functions:
        by_family.setdefault(family, []).append(function if function == name else f"{function} as {name}")
    imports = [
        f"from .of_{family} import {one}  # noqa: F401"
        for family, names in sorted(by_family.items())
        for one in sorted(names)
    ]
    text = "\n".join(lines).replace("# IMPORTS", "\n".join(imports))
    missing = ", ".join(f'"{name}"' for name in extension.missing)
    return text.replace("MISSING = ()", f"MISSING = ({missing}{',' if missing else ''})").encode()
