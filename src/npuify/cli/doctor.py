"""``npuify doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.guard import NOTHING_LEFT
from npuify.cli.options import OutputOption, PageFormat, PageFormatOption

WARNINGS = 1
NOT_READY = 3


def doctor(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Also check what this project asks for.")
    ] = None,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
    capture: Annotated[
        Path | None,
        typer.Option(
            "--capture",
            metavar="FILE",
            help="Write all that was read into FILE, to be judged elsewhere; secrets and user names are removed.",
        ),
    ] = None,
    captured: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Judge the machine in this capture.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="Judge the files below DIR, such as an image; no command is run."),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PROGRAM", help="The Python that programs will run with.")
    ] = None,
    fix_script: Annotated[
        Path | None,
        typer.Option("--fix-script", metavar="FILE", help="Write the mending commands into FILE; nothing is run."),
    ] = None,
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="URL", help="Let the script install from this package index.")
    ] = "",
    no_smoke: Annotated[
        bool, typer.Option("--no-smoke", help="Do not run the small programs that try the cards.")
    ] = False,
) -> int:
    """Say whether this machine can run programs on its NPUs, and what to do where it cannot.

    Nothing is changed on the machine. Exit code: 0 where all is well, 1 for warnings, 3 for errors, 2 for wrong use.
    """
    from npuify.cli.output import put, put_judgement
    from npuify.doctor import page, text
    from npuify.doctor.examine import check_environment
    from npuify.model import NpuifyError
    from npuify.report.doctor import Status

    if captured is not None and root is not None:
        raise NpuifyError("--from and --root exclude each other")
    if mirror and fix_script is None:
        raise NpuifyError("--mirror belongs to --fix-script")
    report = check_environment(
        project=project, capture=capture, captured=captured, root=root, python=python, smoke=not no_smoke
    )
    if fix_script is not None:
        from npuify.doctor.fixes import fix_script as script

        put(script(report, mirror), fix_script)
    put_judgement(report, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return {Status.ERROR: NOT_READY, Status.WARNING: WARNINGS}.get(report.worst, NOTHING_LEFT)
