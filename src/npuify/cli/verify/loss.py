"""``npuify verify loss``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.options import OutputOption, PageFormat, PageFormatOption


def verify_loss(
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="What the original program wrote.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="What the migrated program wrote.")],
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="The loss, where there are several.")] = "",
    target_metric: Annotated[
        str, typer.Option("--target-metric", metavar="NAME", help="Its name in TARGET, where that is another.")
    ] = "",
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="For plain logs: a regular expression with the groups loss and, where lines name it, step.",
        ),
    ] = "",
    tolerance: Annotated[float, typer.Option(help="Relative error that is allowed: 0.01 is 1 %.")] = 0.01,
    first: Annotated[int, typer.Option(metavar="N", help="Points that are judged as the first steps.")] = 10,
    common: Annotated[bool, typer.Option("--common", help="Leave out steps that only one of them has.")] = False,
    offset: Annotated[int, typer.Option(metavar="N", help="Add N to TARGET's steps.")] = 0,
    allow_identical: Annotated[
        bool, typer.Option("--allow-identical", help="Two files with the same bytes are two runs indeed.")
    ] = False,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Say whether two loss curves agree, the first steps and the long run apart, and where they part.

    Reads captures, CSV, JSON lines, TensorBoard's event files, the trainer state of Hugging Face, and plain logs.
    Curves that say nothing about each other are refused. Exit code: 0 where they agree, 1 where not, 2 for wrong use
    and refusals.
    """
    from npuify.cli.output import put_judgement
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
