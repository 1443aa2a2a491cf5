"""``npuify fleet …``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT, cleaning_up
from npuify.cli.common.options import (
    ExcludeOption,
    JobsOption,
    KernelsOption,
    NoCacheOption,
    OutputOption,
    PlaceOption,
    SocOption,
    StyleOption,
    TargetVllmOption,
    TfAdapterOption,
    TorchNpuOption,
    UnsafeOption,
    size_in_bytes,
)
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.fleet.model import Limits
    from npuify.fleet.reports.report import Report
    from npuify.fleet.workers.engines import Engine


class FleetFormat(str, Enum):
    """The formats of a report on many projects."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    HTML = "html"
    PARQUET = "parquet"


class EngineName(str, Enum):
    """Where projects are examined."""

    LOCAL = "local"
    DASK = "dask"


ListArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LIST",
        help="A file with a folder or a git address (ADDRESS@REVISION) in each line, or a folder that holds checkouts.",
    ),
]
DirArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that npuify fleet scan wrote.")]
DirOption = Annotated[
    Path, typer.Option("-o", "--destination", metavar="DIR", help="The folder for the results of all projects.")
]
FleetFormatOption = Annotated[FleetFormat, typer.Option("--format", help="The output format.")]
RefreshOption = Annotated[
    bool, typer.Option("--refresh", help="Also look again at projects that have not changed since the last time.")
]
TimeoutOption = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit for each project, and for each clone.")
]
MemoryOption = Annotated[str, typer.Option(metavar="SIZE", help="Memory limit for each project, for example 4GiB.")]
SizeOption = Annotated[str, typer.Option(metavar="SIZE", help="Largest clone, and most source code, of a project.")]
FilesOption = Annotated[int, typer.Option(metavar="N", min=1, help="Most files and folders of a project.")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="This machine, or a dask cluster.")]
AddressOption = Annotated[
    str, typer.Option("--address", metavar="tcp://HOST:PORT", help="The scheduler of the dask cluster.")
]


@cleaning_up()
def scan(
    list_: ListArgument,
    destination: DirOption,
    refresh: RefreshOption = False,
    timeout: TimeoutOption = 600,
    max_memory: MemoryOption = "4GiB",
    max_size: SizeOption = "2GiB",
    max_files: FilesOption = 500_000,
    engine: EngineOption = EngineName.LOCAL,
    address: AddressOption = "",
    torch_npu: TorchNpuOption = None,
    soc: SocOption = None,
    target_vllm: TargetVllmOption = None,
    tf_adapter: TfAdapterOption = None,
    style: StyleOption = None,
    exclude: ExcludeOption = None,
    jobs: JobsOption = None,
    no_cache: NoCacheOption = False,
    format: FleetFormatOption = FleetFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Scan many projects, each in isolation, into one store and one page (DIR/index.html).

    Projects that have not changed since the last time are not scanned again. After an interruption, the same command
    goes on with the rest.

    Exits with 0 if all projects were scanned, 1 if some could not be, 2 on failure.

    Example: npuify fleet scan projects.txt -o fleet
    """
    from npuify.cli.common.progress import progress
    from npuify.fleet.scan import scan as run

    said = _said(torch_npu, soc, target_vllm, tf_adapter, style, exclude, no_cache=no_cache)
    limits = _limits(timeout, max_memory, max_size, max_files)
    with progress("Scanning") as (show,):
        report = run(list_, destination, said, limits, _engine(engine, address, jobs), refresh=refresh, progress=show)
    _put(report, format, output)
    return FINDINGS_REMAIN if any(one.fault for one in report.projects) else NOTHING_LEFT


@cleaning_up()
def migrate(
    list_: ListArgument,
    destination: DirOption,
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="Write this branch in a clone, instead of a patch.")
    ] = "",
    into_checkouts: Annotated[
        bool,
        typer.Option(
            "--into-checkouts", help="With --branch: also put the branch into the listed repositories, not checked out."
        ),
    ] = False,
    refresh: RefreshOption = False,
    timeout: TimeoutOption = 600,
    max_memory: MemoryOption = "4GiB",
    max_size: SizeOption = "2GiB",
    max_files: FilesOption = 500_000,
    engine: EngineOption = EngineName.LOCAL,
    address: AddressOption = "",
    torch_npu: TorchNpuOption = None,
    soc: SocOption = None,
    target_vllm: TargetVllmOption = None,
    tf_adapter: TfAdapterOption = None,
    style: StyleOption = None,
    exclude: ExcludeOption = None,
    unsafe: UnsafeOption = None,
    replace_kernels: KernelsOption = None,
    place_on_npu: PlaceOption = None,
    jobs: JobsOption = None,
) -> int:
    """Write a patch for each project to DIR/patches, or a branch in a clone below DIR/branches. Nothing is pushed.

    Exits with 0 if all projects were migrated, 1 if some could not be, 2 on failure.

    Example: npuify fleet migrate projects.txt -o fleet --branch ascend
    """
    from npuify.cli.common.output import put
    from npuify.cli.common.progress import progress
    from npuify.fleet.migrate import migrate as run
    from npuify.fleet.migrate import render_text

    said = _said(
        torch_npu,
        soc,
        target_vllm,
        tf_adapter,
        style,
        exclude,
        unsafe=unsafe,
        replace_kernels=replace_kernels,
        place_on_npu=place_on_npu,
    )
    limits = _limits(timeout, max_memory, max_size, max_files)
    with progress("Migrating") as (show,):
        rows = run(
            list_,
            destination,
            said,
            limits,
            _engine(engine, address, jobs),
            branch=branch,
            into_checkouts=into_checkouts,
            refresh=refresh,
            progress=show,
        )
    put(render_text(rows), exact=False)
    return FINDINGS_REMAIN if any(one.message for one in rows) else NOTHING_LEFT


def report(
    folder: DirArgument,
    run: Annotated[int, typer.Option(metavar="N", min=0, help="The run to report on; default: the last one.")] = 0,
    against: Annotated[
        int, typer.Option(metavar="N", min=0, help="The run to compare with; default: the one before.")
    ] = 0,
    format: FleetFormatOption = FleetFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Report on what npuify fleet scan found; nothing is scanned.

    Example: npuify fleet report fleet --format csv --output fleet.csv
    """
    from npuify.fleet.reports.report import report_on
    from npuify.fleet.store import Store

    with Store(folder, write=False) as store:
        _put(report_on(store, run, against=against), format, output)
    return NOTHING_LEFT


def status(
    folder: DirArgument,
) -> int:
    """How far a scan is, and how the runs before it ended. Can be called while one is going on."""
    from npuify.cli.common.output import put
    from npuify.fleet.status import render_status
    from npuify.fleet.store import Store

    with Store(folder, write=False) as store:
        put(render_status(store), exact=False)
    return NOTHING_LEFT


def _said(
    torch_npu: str | None,
    soc: str | None,
    target_vllm: str | None,
    tf_adapter: str | None,
    style: str | None,
    exclude: list[str] | None,
    *,
    no_cache: bool = False,
    **others: bool | None,
) -> dict[str, Any]:
    """What was said on the command line, which counts for each project whatever it says itself."""
    from npuify.options import check_style

    named = {"torch_npu": torch_npu, "soc": soc, "target_vllm": target_vllm, "tf_adapter": tf_adapter, **others}
    said: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if style is not None:
        said["style"] = check_style(style)
    if exclude:
        said["exclude"] = exclude
    if no_cache:
        said["cache"] = False
    return said


def _limits(timeout: float, memory: str, size: str, files: int) -> Limits:
    from npuify.fleet.model import Limits

    return Limits(timeout, size_in_bytes(memory), size_in_bytes(size), files)


def _engine(name: EngineName, address: str, jobs: int | None) -> Engine:
    from npuify.fleet.workers.engines import Engine
    from npuify.model import NpuifyError

    if name is EngineName.DASK and not address:
        raise NpuifyError(
            "--engine dask needs --address", advice="the scheduler's, for example --address tcp://127.0.0.1:8786"
        )
    if name is EngineName.LOCAL and address:
        raise NpuifyError(phrase("--address needs --engine dask"))
    return Engine(jobs or 0, address)


def _put(report: Report, format: FleetFormat, output: Path | None) -> None:
    from npuify.cli.common.output import put, put_bytes
    from npuify.fleet.reports.page import render_html
    from npuify.fleet.reports.text import render_csv, render_json, render_text
    from npuify.language import speaking
    from npuify.report import printable

    if format is FleetFormat.PARQUET:
        from npuify.fleet.reports.parquet import render_parquet

        put_bytes(render_parquet(report), output)
        return
    render = {
        FleetFormat.TEXT: render_text,
        FleetFormat.JSON: render_json,
        FleetFormat.CSV: render_csv,
        FleetFormat.HTML: render_html,
    }[format]
    with speaking(report.language):
        text = printable(render(report))
    put(text, output, exact=format is not FleetFormat.TEXT)
