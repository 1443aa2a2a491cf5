"""What a finding may do to a run: what can stop a program is told apart from what is worth knowing."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from npuify.knowledge.hand_written import meanings
from npuify.model import Safety, Severity

if TYPE_CHECKING:
    from npuify.model import Finding


class Impact(str, Enum):
    """What becomes of a program that reaches the place of a finding which nobody acts on."""

    STOPS = "stops"
    """It stops there."""
    MAY_STOP = "may-stop"
    """It may stop there, or compute on the wrong device; npuify cannot tell."""
    GOES_ON = "goes-on"
    """It goes on: what it prints, how fast it is, or how well it trains may differ."""


GOES_ON: Final = {
    "NPU108": "it says how the program's edits are judged, and stops nothing",
    "NPU121": "torch_npu maps the tags of checkpoints where it loads them",
    "NPU124": "the program takes its branch without Triton",
    "NPU133": "the program takes its branch for the oldest GPUs",
    "NPU150": "the text is compared only when memory has run out",
    "NPU151": "an error that an NPU never raises is not met",
    "NPU160": "the profiler records nothing; the program runs",
    "NPU217": "speed alone",
    "NPU312": "on one machine, the global rank is the local one",
    "NPU426": "speed alone",
    "NPU509": "speed alone",
    "NPU701": "a variable without effect; where it is missing, the program does what it did without it",
    "NPU703": "a variable without effect",
    "NPU723": "which machine a workflow runs on",
    "NPU740": "the same on a GPU: only a Python file started by its own name needs its first line",
    "NPU804": "the same on a GPU: how well it trains",
    "NPU805": "the same on a GPU: how well it trains",
    "NPU806": "the same on a GPU: in which order data come",
    "NPU808": "the same on a GPU: several processes write one file",
    "NPU809": "the same on a GPU: how well it trains",
    "NPU811": "the same on a GPU: how well it trains",
}
"""Warnings that stop no program, each with the reason. A warning that is not listed may stop one."""
_UNKNOWN: Final = "NPU191"
_BY_ROW: Final = frozenset(("NPU104", "NPU140"))
"""Rules that say what a row of names.toml says."""


def impact_of(finding: Finding) -> Impact:
    """What a finding may do to a run, as far as nobody acts on it."""
    if finding.code in GOES_ON and finding.severity is not Severity.ERROR:
        return Impact.GOES_ON
    if finding.code in _BY_ROW and finding.severity is not Severity.ERROR:
        rows = meanings().get(finding.subject, ())
        if rows and all(row.effect == "no-effect" for row in rows):
            return Impact.GOES_ON
    if finding.severity is Severity.INFO:
        return Impact.MAY_STOP if finding.code == _UNKNOWN else Impact.GOES_ON
    if finding.severity is Severity.ERROR and finding.safety is not Safety.REVIEW:
        return Impact.STOPS
    return Impact.MAY_STOP
