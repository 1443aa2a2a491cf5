"""Lock files: written by a program, so only whether they name torch is of interest."""

from __future__ import annotations

import re

from npuify.source.requirements.entry import Document, Entry, normal

_PACKAGE = re.compile(r"^(?:name = \"(torch(?:-npu)?)\"|\s*\"(torch(?:-npu)?)\":\s*\{)", re.MULTILINE)


def read(text: str) -> Document:
    """The lines that lock torch and torch-npu."""
    entries = []
    for match in _PACKAGE.finditer(text):
        name = match.group(1) or match.group(2)
        entries.append(Entry(normal(name), None, *match.span(), None, None))
    return Document(text, entries, locked_by="a package manager")
