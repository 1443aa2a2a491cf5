"""``npuify rules``."""

from __future__ import annotations

from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import OutputOption, ShortFormat, ShortFormatOption


def rules(
    codes: Annotated[
        list[str] | None, typer.Argument(metavar="[CODE]...", help="Only these, with their documentation: NPU301.")
    ] = None,
    format: ShortFormatOption = ShortFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """List the rules, with codes and safety; with codes, print what each rule does, with an example."""
    from npuify import api
    from npuify.cli.common.output import put
    from npuify.report.answers import render_explanation, render_rules

    if codes and format is ShortFormat.TEXT:
        text = "\n".join(render_explanation(api.explain(rule.code), format.value) for rule in api.rules(codes))
    else:
        text = render_rules(api.rules(codes or ()), format.value)
    put(text, output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT
