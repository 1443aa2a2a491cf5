"""What a rule says about a place, before the style of the run has its say."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.model import Edit, Evidence, Safety, Severity

Place = ast.AST | tuple[int, int]
"""A node, or a span of offsets."""


class Diagnostic(NamedTuple):
    """What a rule says, with the edits that make the code one for the NPU.

    ``safety``, ``severity``, ``evidence`` and ``source`` are None where they are the rule's own.
    """

    place: Place
    message: str
    edits: tuple[Edit, ...] = ()
    safety: Safety | None = None
    severity: Severity | None = None
    evidence: Evidence | None = None
    source: str | None = None
    subject: str = ""
    advice: str = ""
    needs_torch_npu: bool = False
    code: str = ""
    """The rule's, once it is known."""
    only_with: str = ""
    """Without which it matters nothing, where no condition in the code says so: more than one card, say."""

    def refused(self, reason: str) -> Diagnostic:
        """The same without edits, and why."""
        return self._replace(
            message=phrase("{message}; not edited: {reason}", message=self.message, reason=reason)
            if self.edits
            else self.message,
            edits=(),
            needs_torch_npu=False,
        )
