"""``npuify schema``."""

from __future__ import annotations

from npuify.cli.guard import NOTHING_LEFT
from npuify.cli.options import OutputOption  # noqa: TC001 - typer reads the annotations


def schema(output: OutputOption = None) -> int:
    """Print the JSON Schema of what --format json writes."""
    from npuify.cli.output import put
    from npuify.report import json_schema

    put(json_schema(), output)
    return NOTHING_LEFT
