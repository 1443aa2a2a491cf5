"""Programs that catch a full GPU look for "CUDA out of memory" in the error's text."""

from __future__ import annotations

from typing import Any

import torch

from npuify.language import phrase

_HERE = "NPU out of memory"
_THERE = "CUDA out of memory"


def apply() -> None:
    """Add CUDA's words to the text of the error, behind its own."""
    kind: Any = getattr(torch, "OutOfMemoryError", None) or getattr(torch.cuda, "OutOfMemoryError", None)
    if kind is None:
        return
    plain = kind.__str__

    def text(self: Any) -> str:
        found: str = plain(self)
        return (
            phrase("{found} (CUDA's name of this error: {THERE})", found=found, THERE=_THERE)
            if _HERE in found and _THERE not in found
            else found
        )

    kind.__str__ = text
    torch.cuda.OutOfMemoryError = kind
