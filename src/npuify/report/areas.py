"""The areas that codes belong to."""

from __future__ import annotations

from typing import Final

from npuify.language import mark, phrase

_AREAS: Final = {
    "1": "Devices and names",
    "2": mark("Precision and AMP"),
    "3": mark("Distributed"),
    "4": "Operators and types",
    "5": "Attention and fused operators",
    "6": "Dependencies and extensions",
    "7": "Environment and launch",
    "8": mark("Training practice"),
    "9": mark("Other frameworks"),
}


def area(code: str) -> str:
    """The area of a code such as ``NPU301``."""
    return phrase(_AREAS.get(code.removeprefix("NPU")[:1], "Other") if code.startswith("NPU") else "Other")
