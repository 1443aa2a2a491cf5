"""Findings about packages that Ascend does not have: many places, and one decision for each package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.model import Finding

WITHOUT_FORM: Final = frozenset(("NPU607", "NPU608", "NPU620", "NPU623", "NPU632", "NPU640", "NPU960"))
"""Packages, extensions and kernels that Ascend does not have. The rest of 6xx says what to ask for instead."""
_IMPORTED: Final = frozenset(("NPU505",))
"""Imports of a package whose calls have findings of their own."""


def package(finding: Finding) -> str:
    """The package that a finding is about, as its import and its requirement both name it.

    Of torch, which runs on an NPU, it is the one name that does not.
    """
    return package_of(finding.subject)


def package_of(subject: str) -> str:
    """The package that a finding with this subject is about."""
    if subject.startswith("torch."):
        return subject
    return re.split(r"[ .]", subject, maxsplit=1)[0].replace("-", "_").lower()


def decision(finding: Finding) -> str:
    """What a person decides on once, for all places: a package as a whole, else what the finding names."""
    return package(finding) if finding.code in WITHOUT_FORM | _IMPORTED else finding.subject
