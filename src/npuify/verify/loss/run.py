"""``npuify verify loss``: from two paths to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError

from .judge import FIRST, TOLERANCE, judge
from .read import read_curve
from .refuse import check_files, comparable

if TYPE_CHECKING:
    from .model import LossReport


def compare_losses(
    reference: Path,
    target: Path,
    *,
    metric: str = "",
    target_metric: str = "",
    pattern: str = "",
    tolerance: float = TOLERANCE,
    first: int = FIRST,
    common: bool = False,
    offset: int = 0,
    allow_identical: bool = False,
) -> LossReport:
    """Read the loss curves in two paths and judge them.

    Args:
        reference: what the original program wrote, on a device that is trusted.
        target: what the migrated program wrote.
        metric: the name of the loss, where there are several; ``target_metric``: where it is another one there.
        pattern: for plain logs, a regular expression with the group ``loss``, and ``step`` where lines name it.
        tolerance: relative error that is allowed: 0.01 is 1 %.
        first: points that are judged as the first steps.
        common: leave out steps that only one of them has.
        offset: added to the target's steps.
        allow_identical: two files with the same bytes are two runs indeed.

    Raises:
        Refusal: the curves say nothing about each other.
        NpuifyError: a path holds no curve, or a number is out of range.
    """
    if not 0 < tolerance < 1:
        raise NpuifyError(
            phrase("a tolerance of {tolerance:g} is invalid", tolerance=tolerance), advice="use a fraction: 0.01 is 1 %"
        )
    if first < 1:
        raise NpuifyError("at least one step must be judged as a first step")
    check_files(reference, target, allow_identical=allow_identical)
    one = read_curve(reference, metric=metric, pattern=pattern)
    two = read_curve(target, metric=target_metric or metric, pattern=pattern)
    one, two = comparable(one, two, common=common, offset=offset)
    return judge(one, two, tolerance=tolerance, first=first)
