"""The options by which commands are told what is known of a migration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from npuify.handover import Record

ProjectArgument = Annotated[Path, typer.Argument(metavar="PROJECT", help="The project, migrated or not.")]
SourceOption = Annotated[
    Path | None,
    typer.Option("--source", metavar="DIR", help="The project before migration; default: the path in its report."),
]
DoctorOption = Annotated[
    Path | None,
    typer.Option("--doctor", metavar="FILE", help="Output of npuify doctor --format json on the NPU machine."),
]
ResultsOption = Annotated[
    list[Path] | None,
    typer.Option("--results", metavar="PATH", help="Output of npuify verify: a file or folder. Can be repeated."),
]


def record(
    project: Path,
    *,
    source: Path | None = None,
    doctor: Path | None,
    results: list[Path] | None,
    torch_npu: str | None,
    tf_adapter: str | None,
    style: str | None,
    unsafe: bool | None = None,
    jobs: int | None,
) -> Record:
    """What is known of ``project``; see :func:`npuify.handover.read_record`."""
    from npuify.cli.common.options import settings
    from npuify.handover import read_record

    options = settings([project], torch_npu=torch_npu, tf_adapter=tf_adapter, unsafe=unsafe, style=style, jobs=jobs)
    return read_record(project, options, source=source, doctor=doctor, results=results or ())
