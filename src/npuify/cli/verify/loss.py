"""``npuify verify loss``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption


def verify_loss(
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="The original program's log.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The migrated program's log.")],
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="Which loss, if there are several.")] = "",
    target_metric: Annotated[
        str, typer.Option("--target-metric", metavar="NAME", help="Its name in TARGET, if different.")
    ] = "",
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="For plain logs: a regular expression with the groups loss and, if present, step.",
        ),
    ] = "",
    tolerance: Annotated[float, typer.Option(help="Allowed relative error: 0.01 is 1 %.")] = 0.01,
    first: Annotated[int, typer.Option(metavar="N", help="Number of points judged as the first steps.")] = 10,
    common: Annotated[bool, typer.Option("--common", help="Ignore steps that only one of them has.")] = False,
    offset: Annotated[int, typer.Option(metavar="N", help="Add N to TARGET's steps.")] = 0,
    allow_identical: Annotated[
        bool, typer.Option("--allow-identical", help="Accept identical files as two separate runs.")
    ] = False,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Check whether two loss curves agree, in the first steps and in the long run, and where they diverge.

    Reads captures, CSV, JSON lines, TensorBoard event files, Hugging Face trainer states, and plain logs. Curves that
    cannot be compared are refused. Exit code: 0 if they agree, 1 if not, 2 for wrong usage and refusals.
    """
    from npuify.cli.common.output import put_judgement
    from npuify.verify.loss import page, text
    from npuify.verify.loss.model import Verdict
    from npuify.verify.loss.run import compare_losses

    report = compare_losses(
        reference,
        target,
        metric=metric,
        target_metric=target_metric,
        pattern=pattern,
        tolerance=tolerance,
        first=first,
        common=common,
        offset=offset,
        allow_identical=allow_identical,
    )
    put_judgement(report, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return NOTHING_LEFT if report.verdict is Verdict.ALIGNED else FINDINGS_REMAIN
