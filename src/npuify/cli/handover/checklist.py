"""``npuify checklist``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import JobsOption, OutputOption, StyleOption, TfAdapterOption, TorchNpuOption  # noqa: TC001 - typer reads them
from npuify.cli.handover.record import DoctorOption, ProjectArgument, ResultsOption, record


class ChecklistFormat(str, Enum):
    """As ``npuify.handover.checklist.pages.FORMATS``."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


def checklist(
    project: ProjectArgument,
    format: Annotated[ChecklistFormat, typer.Option("--format", help="The output format.")] = ChecklistFormat.TEXT,
    output: OutputOption = None,
    doctor: DoctorOption = None,
    results: ResultsOption = None,
    torch_npu: TorchNpuOption = None,
    tf_adapter: TfAdapterOption = None,
    style: StyleOption = None,
    jobs: JobsOption = None,
) -> int:
    """The checklist of a migration: each item with its state and the evidence for it.

    Based on a new scan, and on the reports in npuify-report/ and those given as options. Items without a report count
    as not done. Exits with 0 if every item is done, otherwise with 1.
    """
    from npuify.cli.common.output import put
    from npuify.handover.checklist.pages import render
    from npuify.handover.checklist.points import checklist as made_from

    made = made_from(
        record(
            project, doctor=doctor, results=results, torch_npu=torch_npu, tf_adapter=tf_adapter, style=style, jobs=jobs
        )
    )
    put(render(made, format.value), output, exact=format is not ChecklistFormat.TEXT)
    return NOTHING_LEFT if made.complete else FINDINGS_REMAIN
