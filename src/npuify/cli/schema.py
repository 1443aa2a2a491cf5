"""``npuify schema``."""

from __future__ import annotations

from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import OutputOption  # noqa: TC001 - typer reads the annotations
from npuify.language import commas, phrase

SCHEMAS = {
    "scan": "npuify.report:json_schema",
    "verify-compare": "npuify.verify.comparison.render:schema",
    "doctor": "npuify.doctor.text:json_schema",
    "diagnose": "npuify.diagnosis.text:json_schema",
    "verify-loss": "npuify.verify.loss.text:schema",
    "verify-profile": "npuify.verify.profile.text:schema",
    "verify-steps": "npuify.verify.steps.text:schema",
    "port": "npuify.port.way:schema",
    "fleet": "npuify.fleet.reports.text:schema",
    "selftest": "npuify.selftest.text:json_schema",
    "checklist": "npuify.handover.checklist.pages:schema",
}
"""What a schema can be asked for of, and the function that gives it. ``scan`` stands for ``migrate``, too."""

_HELP = phrase("Whose: {commands}; scan stands for migrate, too.", commands=commas(SCHEMAS))


def schema(
    of: Annotated[str, typer.Argument(metavar="[COMMAND]", help=_HELP)] = "scan",
    output: OutputOption = None,
) -> int:
    """Print the JSON Schema of the --format json output."""
    import importlib

    from npuify.cli.common.output import put
    from npuify.model import NpuifyError

    if of not in SCHEMAS:
        raise NpuifyError(phrase("there is no schema of {of!r}", of=of), advice="one of " + ", ".join(SCHEMAS))
    module, _, function = SCHEMAS[of].partition(":")
    put(getattr(importlib.import_module(module), function)(), output)
    return NOTHING_LEFT
