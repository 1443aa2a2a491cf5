"""``npuify verify compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption
from npuify.language import phrase


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The capture of the original, or an msprobe dump.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same of the migrated program.")],
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="REFUSAL",
            help="Compare despite: same-device, different-ranks, different-dropout. Can be repeated.",
        ),
    ] = None,
) -> int:
    """Compare two captures: find the first module whose inputs agree but whose results do not, and why.

    Exits with 0 if they agree up to rounding, with 1 if not, with 2 if the comparison is refused or fails.

    Example: npuify verify compare cuda npu --format html --output comparison.html
    """
    from npuify.cli.common.output import put
    from npuify.model import NpuifyError
    from npuify.verify.comparison.compare import compare as run
    from npuify.verify.comparison.refusals import ALLOWABLE
    from npuify.verify.comparison.render import render

    for name in allow or ():
        if name not in ALLOWABLE:
            raise NpuifyError(phrase("{name!r} cannot be allowed", name=name), advice="one of " + ", ".join(ALLOWABLE))
    result = run(a, b, allow=allow or ())
    put(render(result, format.value), output, exact=format is not PageFormat.TEXT)
    return NOTHING_LEFT if result.agrees else FINDINGS_REMAIN
