"""Python inside a script: ``python -c '…'`` and documents that are given to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from npuify.model import Edit, Position, Safety

if TYPE_CHECKING:
    from npuify.knowledge import ReleaseTable
    from npuify.model import Finding
    from npuify.rules.text_file import TextFile

_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*")
_WORDS = ("cuda", "nccl", "apex")
_IMPORTS = re.compile(r"(?:import|from) (?!__future__)")


def is_python(command: tuple[str, ...]) -> bool:
    """Whether a command, given by its words, is Python."""
    return bool(command) and _PYTHON.fullmatch(command[0]) is not None


def judge_python(text: str, start: int, file: TextFile, *, quote: str = "") -> None:
    """Show a program that stands in a script to the rules for Python.

    Args:
        text: the program, as it is written in the file.
        start: where it begins, in bytes.
        file: gets the findings.
        quote: the quote around it; edits that hold it are left to a person.
    """
    lower = text.lower()
    if not any(word in lower for word in _WORDS):
        return
    found = file.job.analyse(file.relative, text.encode("utf-8", "surrogatepass"), kind="python").findings
    imported = "torch_npu" in text
    for finding in found:
        shifted = _shifted(finding, start, file, quote)
        if shifted.edits and finding.needs_torch_npu and not imported:
            if _IMPORTS.match(text):
                imported = True
                line_end = "\n" if "\n" in text else "; "
                first = Edit(start, start, "", f"import torch_npu{line_end}")
                shifted = msgspec.structs.replace(shifted, edits=tuple(sorted((first, *shifted.edits))))
            elif not imports_torch_npu(file.release):
                shifted = msgspec.structs.replace(shifted, edits=(), safety=Safety.MANUAL)
        file.add(shifted)


def imports_torch_npu(release: ReleaseTable) -> bool:
    """Whether importing torch imports torch_npu as well, as it does from 2.5 on."""
    major, minor = (int(part) for part in release.torch_npu.split(".")[:2])
    return (major, minor) >= (2, 5)


def _shifted(finding: Finding, start: int, file: TextFile, quote: str) -> Finding:
    """A finding of the program as one of the file that holds it."""
    edits = tuple(
        msgspec.structs.replace(edit, start=edit.start + start, end=edit.end + start) for edit in finding.edits
    )
    if any((quote and quote in edit.after) or "\n" in edit.after for edit in edits):
        edits = ()
    line, column = file.text.position(start)

    def moved(place: Position) -> Position:
        return Position(place.line + line - 1, place.column + column - 1 if place.line == 1 else place.column)

    return msgspec.structs.replace(
        finding,
        start=moved(finding.start),
        end=moved(finding.end),
        edits=edits,
        safety=finding.safety if edits else Safety.MANUAL,
        needs_torch_npu=False,
    )
