"""``npuify run``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import ModuleOption, ProgramArgument, PythonOption  # noqa: TC001 - typer reads the annotations


class RunDevice(str, Enum):
    """What runs the program."""

    NPU = "npu"
    SIMULATED = "simulated"


def run(
    program: ProgramArgument = None,
    module: ModuleOption = None,
    device: Annotated[RunDevice, typer.Option(help="This machine's NPU, or one simulated on the CPU.")] = RunDevice.NPU,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a JSON line for each place that was patched, for migrate --from-trace."
        ),
    ] = None,
    disable: Annotated[
        list[str] | None, typer.Option(metavar="PATCHES", help="Skip these patches, comma-separated; see --list.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the patches without running anything.")] = False,
    print_environment: Annotated[
        bool,
        typer.Option(
            "--print-environment", help="Print shell commands that do the same for programs started in other ways."
        ),
    ] = False,
    log: Annotated[bool, typer.Option("--log", help="Report in each process which patches were applied.")] = False,
    python: PythonOption = "",
) -> int:
    """Run an unchanged CUDA program on the NPU, including its child processes.

    Importing torch applies the release's own transfer_to_npu, and patches for what that lacks or gets wrong. Nothing
    remains after the program ends. Returns the program's exit code.

    Examples: npuify run train.py; npuify run --trace trace.jsonl torchrun --nproc_per_node 8 train.py;
    npuify run --device simulated -m package.train; eval "$(npuify run --print-environment)"
    """
    from npuify.cli.common.output import put
    from npuify.language import phrase
    from npuify.run import launch
    from npuify.run.patches import PATCHES

    if show:
        width = max(len(patch.name) for patch in PATCHES)
        put("".join(f"{patch.name:{width}}  {phrase(patch.summary)}\n" for patch in PATCHES), None)
        return NOTHING_LEFT
    settings = launch.settings_for(device.value, trace, disable or [], log=log)
    if print_environment:
        put(launch.shell_lines(settings, python), None)
        return NOTHING_LEFT
    arguments = list(program or [])
    return launch.run(settings, [module, *arguments] if module else arguments, module=bool(module), python=python)
