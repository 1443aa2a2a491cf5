"""Edits whose form was refused on an NPU: they are offered for review, and the finding says where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.language import phrase, sentences
from npuify.model import Safety

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.hardware.apply import Hardware
    from npuify.model import Finding


def doubted(findings: Sequence[Finding], hardware: Hardware, style: str) -> list[Finding]:
    """The findings, with the edits of rules whose example was refused on hardware no longer safe."""
    refused = {
        name.partition("/")[0]: one for name, one in hardware.all_refuted("forms").items() if name.endswith(f"/{style}")
    }
    if not refused:
        return list(findings)
    return [_doubted(one, refused[one.code].machine) if one.edits and one.code in refused else one for one in findings]


def _doubted(finding: Finding, machine: str) -> Finding:
    told = phrase("{machine} refused what this rule writes.", machine=machine)
    safety = Safety.REVIEW if finding.safety is Safety.SAFE else finding.safety
    return msgspec.structs.replace(finding, safety=safety, message=sentences(finding.message, told))
