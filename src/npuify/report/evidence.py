"""How a fact is known, in words for a person."""

from __future__ import annotations

from typing import Final

from npuify.model import Evidence

KNOWN: Final = {
    Evidence.LIVE: "asked of the real torch_npu package",
    Evidence.PACKAGE: "read from the files of the released package",
    Evidence.DOCUMENTED: "stated by the documentation",
    Evidence.REPORTED: "reported by users, not confirmed",
    Evidence.ASSUMED: "assumed, not confirmed",
}
