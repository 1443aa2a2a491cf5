"""``npuify scaffold``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import TorchNpuOption  # noqa: TC001 - typer reads the annotations
from npuify.language import phrase


class NewStyle(str, Enum):
    """As ``npuify.scaffold.STYLES``."""

    NPU = "npu"
    PORTABLE = "portable"


class NewFramework(str, Enum):
    """As ``npuify.scaffold.FRAMEWORKS``."""

    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"


def training(
    destination: Annotated[
        Path, typer.Option("-o", "--destination", metavar="DIR", help="Write the project to this folder.")
    ],
    style: Annotated[
        NewStyle, typer.Option("--style", help="npu: for NPUs and the CPU; portable: for NPUs, GPUs and the CPU.")
    ] = NewStyle.NPU,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The project's name; default: the folder's.")
    ] = "",
    torch_npu: TorchNpuOption = None,
    framework: Annotated[
        NewFramework, typer.Option("--framework", help="pytorch, or tensorflow: a project for TensorFlow 2.6.5.")
    ] = NewFramework.PYTORCH,
    force: Annotated[bool, typer.Option("--force", help="Replace DIR if it is not empty.")] = False,
) -> int:
    """Create a training project that runs unchanged on NPUs, in simulation and on the CPU.

    Mixed precision, DDP, accumulation, clipping, schedules, exact resume, validation, profiling, and tests for all of
    these.
    """
    from npuify.scaffold import scaffold_training

    files = scaffold_training(
        destination, style=style.value, name=name, torch_npu=torch_npu, force=force, framework=framework.value
    )
    for file in files:
        typer.echo(f"  {file}")
    start = "--epochs 3" if framework is NewFramework.TENSORFLOW else "--config configs/tiny.yaml"
    typer.echo(
        phrase(
            "{number} files in {destination}. Read README.md, then: python train.py {start}",
            number=len(files),
            destination=destination,
            start=start,
        )
    )
    return NOTHING_LEFT
