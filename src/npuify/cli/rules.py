"""``npuify rules``."""

from __future__ import annotations

from npuify.cli.guard import NOTHING_LEFT
from npuify.cli.options import OutputOption, ShortFormat, ShortFormatOption


def rules(format: ShortFormatOption = ShortFormat.TEXT, output: OutputOption = None) -> int:
    """List the rules, with codes and safety."""
    from npuify.api import rules as list_rules
    from npuify.cli.output import put
    from npuify.report.answers import render_rules

    put(render_rules(list_rules(), format.value), output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT
