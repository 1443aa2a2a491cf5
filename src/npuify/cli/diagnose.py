"""``npuify diagnose``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption

if TYPE_CHECKING:
    from npuify.diagnosis.model import Diagnosis


def diagnose(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Files (also .gz) and folders; - is standard input."),
    ],
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="DIR", help="Also list the related findings in this project."),
    ] = None,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Explain from its logs why a run failed, and what to do.

    Pass the logs of all ranks: the root cause is often not on the rank that reports the error. From standard input
    (tail -f LOG | npuify diagnose -), results appear as soon as they are known. Exit code: 1 if an error was found,
    otherwise 0.
    """
    from npuify.cli.common.output import put, put_judgement
    from npuify.diagnosis import page, text
    from npuify.diagnosis.model import Confidence
    from npuify.diagnosis.run import diagnose as run

    def tell(so_far: Diagnosis) -> None:
        put(text.render_brief(so_far), None, exact=False)

    live = any(str(log) == "-" for log in logs) and format is PageFormat.TEXT and output is None
    found = run(logs, project=project, watch=tell if live else None)
    put_judgement(found, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return NOTHING_LEFT if found.confidence is Confidence.NOTHING else FINDINGS_REMAIN
