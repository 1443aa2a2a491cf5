"""The operators that a torch_npu wheel says it implements, from the YAML files it ships."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.model import NpuifyError

if TYPE_CHECKING:
    from .wheel import Wheel

_FILES = (
    "torch_npu/csrc/aten/npu_native_functions.yaml",
    "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml",
)
_SECTION = re.compile(r"([a-z_]+):\s*$")


def read_operators(wheel: Wheel) -> tuple[dict[str, str], dict[str, list[str]]]:
    """ATen operators with their overloads, and the custom operators with their schemas.

    The files are lists of names and ``func:`` lines; a YAML parser would need a dependency for nothing more.

    Raises:
        NpuifyError: the wheel ships no such file, or its layout is another.
    """
    aten: dict[str, set[str]] = {}
    custom: dict[str, set[str]] = {}
    found = False
    for name in _FILES:
        text = wheel.text(name)
        if text is None:
            continue
        found = True
        for section, entry in _entries(text):
            if section in ("custom", "custom_autograd"):
                operator, _, rest = entry.partition("(")
                custom.setdefault(operator.partition(".")[0], set()).add(_schema(operator, rest))
            elif section in ("supported", "autograd"):
                operator = entry.partition("(")[0]
                base, _, overload = operator.partition(".")
                aten.setdefault(base, set()).add(overload or "-")
    if not found or not aten:
        raise NpuifyError("the wheel lists no operators", file=str(wheel.path))
    # A custom operator may stand in "autograd" as well, because it has a derivative.
    operators = {base: " ".join(sorted(overloads)) for base, overloads in aten.items() if base not in custom}
    return dict(sorted(operators.items())), {base: sorted(custom[base]) for base in sorted(custom)}


def _entries(text: str) -> list[tuple[str, str]]:
    entries: list[tuple[str, str]] = []
    section = ""
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        heading = _SECTION.match(line)
        if heading:
            section = heading.group(1)
            continue
        stripped = line.strip()
        item = stripped.startswith("- ")
        body = stripped[2:].strip() if item else stripped
        if body.startswith("func:"):
            body = body[5:].strip()
            # YAML folds a long plain scalar onto further, deeper indented lines.
            indent = len(line) - len(line.lstrip()) + (2 if item else 0)
            while index < len(lines) and lines[index].strip() and _indent(lines[index]) > indent:
                body += " " + lines[index].strip()
                index += 1
        elif not item or re.match(r"[a-z_]+:( |$)", body):
            continue
        entries.append((section, body.strip("'\"")))
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _schema(operator: str, rest: str) -> str:
    overload = operator.partition(".")[2]
    return f"{'.' + overload if overload else ''}({rest}"
