"""``npuify verify capture``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import ModuleOption, ProgramArgument, PythonOption, size_in_bytes
from npuify.language import phrase


class Level(str, Enum):
    """What is recorded."""

    MODULE = "module"
    OPERATOR = "operator"


class Device(str, Enum):
    """Where the program runs."""

    AUTO = "auto"
    CPU = "cpu"
    SIMULATED = "simulated"


class Dropout(str, Enum):
    """What becomes of dropout."""

    OFF = "off"
    SAME = "same"
    KEEP = "keep"


def capture(
    program: ProgramArgument = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="The folder for the capture.")
    ] = None,
    module: ModuleOption = None,
    steps: Annotated[int, typer.Option(min=0, help="Stop after this many steps; 0: run to the end.")] = 2,
    level: Annotated[Level, typer.Option(help="Record modules only, or also the functions they call.")] = Level.MODULE,
    tensors: Annotated[
        bool,
        typer.Option(
            "--tensors/--stats", help="Keep whole tensors (up to a million values), or statistics and a sample."
        ),
    ] = False,
    samples: Annotated[int, typer.Option(min=16, help="Number of values of each tensor that --stats keeps.")] = 1024,
    seed: Annotated[int, typer.Option(min=0, help="The program's initial seed.")] = 1234,
    dropout: Annotated[
        Dropout, typer.Option(help="Turn dropout off, draw its masks on the CPU (the same everywhere), or keep it.")
    ] = Dropout.OFF,
    device: Annotated[
        Device, typer.Option(help="The program's own choice, the CPU (CUDA is hidden), or simulated NPUs.")
    ] = Device.AUTO,
    devices: Annotated[int, typer.Option(min=1, max=64, help="Number of simulated NPUs, with --device simulated.")] = 8,
    calls: Annotated[int, typer.Option(min=1, help="Calls of one model to record per step.")] = 2,
    limit: Annotated[str, typer.Option(metavar="SIZE", help="Maximum disk space per process for values.")] = "4GiB",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing capture.")] = False,
    python: PythonOption = "",
) -> int:
    """Run a program and record its modules' inputs, outputs and gradients, to compare with another run.

    Seeds, data order, random numbers and dropout are made identical on every device. The program is stopped after
    --steps. Exits with 0, with 1 if the program failed, with 2 if nothing could be captured.

    Examples: npuify verify capture -o cuda train.py --epochs 1;
    npuify verify capture -o npu --device simulated torchrun --nproc_per_node 2 train.py
    """
    from npuify.model import NpuifyError
    from npuify.verify.capture.launch import capture as run
    from npuify.verify.capture.settings import Settings

    if output is None:
        raise NpuifyError("no folder specified for the capture", advice="npuify verify capture -o DIR PROGRAM")
    arguments = list(program or [])
    settings = Settings(
        steps=steps,
        level=level.value,
        samples=1 << 20 if tensors else samples,
        seed=seed,
        dropout=dropout.value,
        calls=calls,
        limit=size_in_bytes(limit),
    )
    done = run(
        [module, *arguments] if module else arguments,
        output,
        settings,
        module=bool(module),
        device=device.value,
        devices=devices,
        python=python,
        force=force,
    )
    many = phrase("{count} processes, ", count=done.ranks) if done.ranks > 1 else ""
    typer.echo(
        phrase(
            "npuify: captured {many}{steps} steps, {value:.1f} MiB of values, into {folder} "
            "({seconds:.1f} s, {spent:.1f} s of them for the capture)",
            many=many,
            steps=done.steps,
            value=done.values / 2**20,
            folder=done.folder,
            seconds=done.seconds,
            spent=done.spent,
        ),
        err=True,
    )
    for note in done.notes:
        typer.echo(f"npuify: {note}", err=True)
    return FINDINGS_REMAIN if done.code else NOTHING_LEFT
