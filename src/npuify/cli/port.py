"""``npuify port``."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT, cleaning_up
from npuify.cli.common.options import (
    DataOption,
    JobsOption,
    KernelsOption,
    OutputOption,
    PlaceOption,
    ShortFormat,
    ShortFormatOption,
    SocOption,
    StyleOption,
    TorchNpuOption,
    UnsafeOption,
    settings,
)

if TYPE_CHECKING:
    from npuify.port.model import Stage


class Target(str, Enum):
    """What the migrated program runs on."""

    AUTO = "auto"
    NPU = "npu"
    SIMULATED = "simulated"


@cleaning_up()
def port(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="The project: a folder, or one file.")],
    destination: Annotated[
        Path, typer.Option("-o", "--destination", metavar="DEST", help="Write the migrated copy to this folder.")
    ],
    entry: Annotated[
        str,
        typer.Option(
            "--entry",
            metavar="COMMAND",
            help="The program to run, with arguments for a short run. {device} and {backend} in it become npu and hccl "
            "for the migrated copy, cpu and gloo (or cuda and nccl) for the original.",
        ),
    ] = "",
    reference_entry: Annotated[
        str, typer.Option("--reference-entry", metavar="COMMAND", help="The original's command, if different.")
    ] = "",
    prepare: Annotated[
        str,
        typer.Option("--prepare", metavar="COMMAND", help="A program that first creates data or weights for both."),
    ] = "",
    data: DataOption = "",
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="DIR", help="A capture of the original from a CUDA machine."),
    ] = None,
    target: Annotated[Target, typer.Option(help="A real NPU, a simulated one, or (auto) a real one if available.")] = (
        Target.AUTO
    ),
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for each run.")] = 600,
    python: Annotated[str, typer.Option(metavar="PATH", help="The Python interpreter to run the programs with.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the copy in DEST, with the options given before.")
    ] = False,
    go_on: Annotated[
        bool, typer.Option("--go-on", help="Go on past what blocks the project, and what is left to do by hand.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace DEST if it is not empty.")] = False,
    torch_npu: TorchNpuOption = None,
    soc: SocOption = None,
    style: StyleOption = None,
    unsafe: UnsafeOption = None,
    place_on_npu: PlaceOption = None,
    replace_kernels: KernelsOption = None,
    jobs: JobsOption = None,
    format: ShortFormatOption = ShortFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Take a project the whole way: scan, migrate, run it briefly, compare it with the original, hand it over.

    Stops at the first thing that only a person can decide, and says what, where, the choices, and the command to go on
    with. The migrated program and the original are run, in copies, on an NPU or in simulation.

    Exits with 0 at the end, 1 where a decision is waiting or something failed, 2 on wrong usage.

    Example: npuify port project -o project_npu --entry "train.py --epochs 1"
    """
    from npuify.cli.common.output import put
    from npuify.cli.common.progress import progress
    from npuify.port.model import PortOptions, State
    from npuify.port.text import begun, headline, render_text
    from npuify.port.way import port as whole_way
    from npuify.port.way import render_json

    options = settings(
        [destination if resume else source],
        torch_npu=torch_npu,
        soc=soc,
        style=style,
        unsafe=unsafe,
        place_on_npu=place_on_npu,
        replace_kernels=replace_kernels,
        jobs=jobs,
    )
    asked = PortOptions(
        style=style,
        torch_npu=torch_npu,
        soc=soc,
        unsafe=unsafe if unsafe is not None or not options.unsafe else True,
        place_on_npu=place_on_npu if place_on_npu is not None or not options.place_on_npu else True,
        replace_kernels=replace_kernels if replace_kernels is not None or not options.replace_kernels else True,
        entry=entry,
        reference_entry=reference_entry,
        prepare=prepare,
        data=data,
        reference=str(reference or ""),
        target=target.value,
        timeout=timeout,
        python=python,
        go_on=go_on,
    )

    def say(line: str) -> None:
        print(line.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)

    text = format is ShortFormat.TEXT
    # A person at a terminal is told of each stage once, with what was seen, at the end.
    told_again = text and output is None and sys.stderr.isatty() and sys.stdout.isatty()

    def ended(stage: Stage) -> None:
        if not told_again:
            say(f"npuify: {headline(stage)}")

    with progress("Reading", "Scanning or migrating") as (preparing, show):
        report = whole_way(
            source,
            destination,
            options,
            asked,
            resume=resume,
            force=force,
            begins=lambda what: say(begun(what)),
            ends=ended,
            preparing=preparing,
            progress=show,
        )
    put(render_text(report) if text else render_json(report), output, exact=not text)
    failed = any(stage.state is State.FAILED for stage in report.stages)
    return FINDINGS_REMAIN if report.decision is not None or failed else NOTHING_LEFT
