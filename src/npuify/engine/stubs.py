"""Stub files (``.pyi``): they say what a module holds to those who check types, and no program runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.model import Safety, Severity

if TYPE_CHECKING:
    from npuify.model import Finding


def of_stub(finding: Finding, style: str) -> Finding:
    """A finding of the rules for Python, in a stub file.

    In the style npu the stub changes as its module does. In the others the module goes on to say CUDA's names as well,
    and so does the stub: that is worth a note.
    """
    if style == "npu":
        return msgspec.structs.replace(finding, needs_torch_npu=False)
    return msgspec.structs.replace(
        finding, edits=(), safety=Safety.MANUAL, severity=Severity.INFO, needs_torch_npu=False, only_with=""
    )
