"""How a fact is known, in words for a person."""

from __future__ import annotations

from typing import Final

from npuify.model import Evidence

KNOWN: Final = {
    Evidence.HARDWARE: "seen on an NPU",
    Evidence.LIVE: "checked against the real torch_npu package",
    Evidence.PACKAGE: "read from the released package's files",
    Evidence.DOCUMENTED: "stated in the documentation",
    Evidence.REPORTED: "reported by users, not confirmed",
    Evidence.ASSUMED: "assumed, not confirmed",
}
