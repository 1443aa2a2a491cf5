"""The options by which commands are told what is known of a migration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from npuify.handover import Record

ProjectArgument = Annotated[
    Path, typer.Argument(metavar="PROJECT", help="The migrated project; or one that is not migrated yet.")
]
SourceOption = Annotated[
    Path | None,
    typer.Option("--source", metavar="DIR", help="The project before its migration; else where its report says."),
]
DoctorOption = Annotated[
    Path | None,
    typer.Option("--doctor", metavar="FILE", help="What npuify doctor --format json wrote on the NPU's machine."),
]
ResultsOption = Annotated[
    list[Path] | None,
    typer.Option("--results", metavar="PATH", help="What npuify verify wrote: a file or folder. May be repeated."),
]


def record(
    project: Path,
    *,
    source: Path | None = None,
    doctor: Path | None,
    results: list[Path] | None,
    torch_npu: str | None,
    style: str | None,
    unsafe: bool | None = None,
    jobs: int | None,
) -> Record:
    """What is known of ``project``; see :func:`npuify.handover.read_record`."""
    from npuify.cli.options import settings
    from npuify.handover import read_record

    options = settings([project], torch_npu=torch_npu, unsafe=unsafe, style=style, jobs=jobs)
    return read_record(project, options, source=source, doctor=doctor, results=results or ())
