"""``npuify verify compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.options import OutputOption, PageFormat, PageFormatOption


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The capture of the original, or a dump of msprobe.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="That of the migrated program.")],
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="REFUSAL",
            help="Compare although: same-device, different-ranks, different-dropout. May be repeated.",
        ),
    ] = None,
) -> int:
    """Hold two captures against each other: the first module whose inputs agree and whose results do not, and why.

    Exits with 0 where they agree but for rounding, with 1 where they do not, with 2 where the comparison is refused or
    something else went wrong.

    Example: npuify verify compare cuda npu --format html --output comparison.html
    """
    from npuify.cli.output import put
    from npuify.model import NpuifyError
    from npuify.verify.comparison.compare import compare as run
    from npuify.verify.comparison.refusals import ALLOWABLE
    from npuify.verify.comparison.render import render

    for name in allow or ():
        if name not in ALLOWABLE:
            raise NpuifyError(f"{name!r} cannot be allowed", advice="one of " + ", ".join(ALLOWABLE))
    result = run(a, b, allow=allow or ())
    put(render(result, format.value), output, exact=format is not PageFormat.TEXT)
    return NOTHING_LEFT if result.agrees else FINDINGS_REMAIN
