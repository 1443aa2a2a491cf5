"""``npuify doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption

WARNINGS = 1
NOT_READY = 3


def doctor(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Also check this project's requirements.")
    ] = None,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
    capture: Annotated[
        Path | None,
        typer.Option(
            "--capture",
            metavar="FILE",
            help="Write everything collected to FILE, for judging elsewhere; secrets and user names are removed.",
        ),
    ] = None,
    captured: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Check the machine recorded in this file.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="DIR", help="Check the files under DIR, such as a container image; no command is run."
        ),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PROGRAM", help="The Python interpreter for running programs.")
    ] = None,
    fix_script: Annotated[
        Path | None,
        typer.Option("--fix-script", metavar="FILE", help="Write repair commands to FILE; nothing is run."),
    ] = None,
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="URL", help="The package index that the script installs from.")
    ] = "",
    no_smoke: Annotated[
        bool, typer.Option("--no-smoke", help="Do not run the small test programs on the cards.")
    ] = False,
) -> int:
    """Check whether this machine can run programs on its NPUs, and what to fix if not.

    Changes nothing on the machine. Exit code: 0 if all is well, 1 for warnings, 3 for errors, 2 for wrong usage.
    """
    from npuify.cli.common.output import put, put_judgement
    from npuify.doctor import page, text
    from npuify.doctor.examine import check_environment
    from npuify.model import NpuifyError
    from npuify.report.doctor import Status

    if captured is not None and root is not None:
        raise NpuifyError("--from and --root exclude each other")
    if mirror and fix_script is None:
        raise NpuifyError("--mirror needs --fix-script")
    report = check_environment(
        project=project, capture=capture, captured=captured, root=root, python=python, smoke=not no_smoke
    )
    if fix_script is not None:
        from npuify.doctor.fixes import fix_script as script

        put(script(report, mirror), fix_script)
    put_judgement(report, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return {Status.ERROR: NOT_READY, Status.WARNING: WARNINGS}.get(report.worst, NOTHING_LEFT)
