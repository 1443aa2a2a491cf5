"""A finding before its style is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from npuify.model import Edit, Safety, Severity


class Draft(NamedTuple):
    """What a rule says, with the edits that make the code one for the NPU."""

    code: str
    message: str
    edits: tuple[Edit, ...]
    safety: Safety | None
    severity: Severity
    subject: str
    advice: str
    needs_torch_npu: bool

    def refused(self, reason: str) -> Draft:
        """The same without edits, and why."""
        return self._replace(
            message=f"{self.message}; not edited: {reason}" if self.edits else self.message,
            edits=(),
            needs_torch_npu=False,
        )
