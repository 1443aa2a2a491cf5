"""``npuify verify steps``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import DataOption, OutputOption, PageFormat, PageFormatOption


class Target(str, Enum):
    """What the migrated program runs on."""

    AUTO = "auto"
    NPU = "npu"
    SIMULATED = "simulated"


def verify_steps(
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help="The original project, for CUDA.")],
    migrated: Annotated[
        Path | None, typer.Option("--migrated", metavar="DIR", help="Its migrated copy; default: migrated by npuify.")
    ] = None,
    entry: Annotated[
        str,
        typer.Option(
            "--entry",
            metavar="COMMAND",
            help="The program that trains, with arguments for a short run. {device} and {backend} in it become npu and "
            "hccl for the target, cpu and gloo (or cuda and nccl) for the original.",
        ),
    ] = "",
    reference_entry: Annotated[
        str, typer.Option("--reference-entry", metavar="COMMAND", help="The original's command, if different.")
    ] = "",
    resume: Annotated[
        str, typer.Option("--resume", metavar="COMMAND", help="How the program resumes from a checkpoint.")
    ] = "",
    cards_entry: Annotated[
        str, typer.Option("--cards-entry", metavar="COMMAND", help="How the program is started on several cards.")
    ] = "",
    prepare: Annotated[
        str,
        typer.Option("--prepare", metavar="COMMAND", help="A program that first creates data or weights for both."),
    ] = "",
    data: DataOption = "",
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="DIR", help="An existing capture of the original, to compare with."),
    ] = None,
    target: Annotated[Target, typer.Option(help="A real NPU, a simulated one, or (auto) a real one if available.")] = (
        Target.AUTO
    ),
    cards: Annotated[int, typer.Option(min=2, max=64, help="Number of cards to test with.")] = 2,
    iterations: Annotated[int, typer.Option(min=1, help="Number of steps whose loss is compared.")] = 20,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for each run.")] = 600,
    python: Annotated[str, typer.Option(metavar="PATH", help="The Python interpreter to run the programs with.")] = "",
    work: Annotated[
        Path | None, typer.Option("--work", metavar="DIR", help="Keep captures, logs and copies in this new folder.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Only forward, backward and their comparison: two steps of each program.")
    ] = False,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Run the acceptance tests: forward, backward, compare, iterations, loss, resume, several cards.

    This runs the project's code, in copies; the project is not changed. Each step reports whether it ran on hardware,
    in simulation, or not at all. Exit code: 0 if no step failed, 1 if one did, 2 for wrong usage.

    Example: npuify verify steps project --entry "train.py --steps 20 --device={device}"
    """
    import sys

    from npuify.cli.common.output import put_judgement
    from npuify.language import phrase
    from npuify.verify.steps import page, text
    from npuify.verify.steps.model import Status
    from npuify.verify.steps.run import accept, worst

    def told(step: str) -> None:
        print(f"npuify: {phrase(step)}", file=sys.stderr, flush=True)

    report = accept(
        project,
        migrated=migrated,
        entry=entry,
        reference_entry=reference_entry,
        resume=resume,
        cards_entry=cards_entry,
        prepare=prepare,
        data=data,
        reference=reference,
        target=target.value,
        cards=cards,
        iterations=iterations,
        timeout=timeout,
        python=python,
        work=work,
        short=short,
        progress=told,
    )
    put_judgement(report, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return FINDINGS_REMAIN if worst(report) is Status.FAILED else NOTHING_LEFT
