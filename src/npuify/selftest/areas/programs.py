"""Whole programs: what npuify makes of them must lose on the NPU what the original loses on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.helpers import compute_device
from npuify.language import phrase
from npuify.model import Evidence
from npuify.process.itself import npuify_command
from npuify.selftest.areas.projects import projects
from npuify.selftest.areas.written import STYLES, in_style
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

PROGRAMS = Path(__file__).parents[1] / "programs"
_LIMITS = {"vision": 0.02, "language": 0.02, "mixed_precision": 0.1}
"""Share by which losses may differ: HF32 in convolutions, float16."""


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each program in each style, and one that ``npuify run`` runs as it is; and for whole projects."""
    helpers = {"compute_device.py": compute_device.text().decode()}
    for path in sorted(PROGRAMS.glob("*.txt")):
        before = path.read_text(encoding="utf-8")
        for style in STYLES:
            claim = phrase("the program {name} in style {style} trains as on the CPU", name=path.stem, style=style)
            after = in_style(before, "program.py", style, table, unsafe=True)
            yield _check(path.stem, style, claim, {"after": after, "helpers": helpers, "command": []}, before)
        claim = phrase("npuify run trains the program {name}, unchanged, as on the CPU", name=path.stem)
        command = npuify_command(["run"])
        yield _check(path.stem, "run", claim, {"after": before, "helpers": {}, "command": command}, before)
    yield from projects(table)


def _check(name: str, how: str, claim: str, arguments: dict[str, object], before: str) -> Check:
    return Check(
        id=f"programs/{name} {how}",
        claim=claim,
        subject="",
        evidence=Evidence.ASSUMED,
        source="tests on the simulated NPU",
        function="programs:losses",
        arguments={**arguments, "before": before, "limit": _LIMITS[name]},
        expected="",
        group=f"programs {name}",
        seconds=600,
        quick=name == "vision" and how == "npu",
    )
