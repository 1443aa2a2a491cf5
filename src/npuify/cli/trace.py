"""``npuify trace``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption, PythonOption, size_in_bytes


class FailOn(str, Enum):
    """What makes the exit code 1."""

    FALLBACK = "fallback"
    UNSUPPORTED = "unsupported"


def trace(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROGRAM [ARGS]...", help="A Python file with its arguments."),
    ] = None,
    module: Annotated[str | None, typer.Option("-m", metavar="MODULE", help="Trace a module, like python -m.")] = None,
    steps: Annotated[int, typer.Option(min=0, help="Stop after this many optimizer steps; 0: run to the end.")] = 1,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit with 1 if operators run on the CPU (or worse), or are not supported."),
    ] = None,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
    torch_npu: Annotated[
        str,
        typer.Option(
            metavar="VERSION", help="The torch_npu release to compare with; default: the one for the installed torch."
        ),
    ] = "",
    soc: Annotated[str, typer.Option(help="The chip, such as Ascend910B1 or Ascend910A.")] = "Ascend910B1",
    transfer: Annotated[
        bool | None,
        typer.Option(
            "--transfer/--no-transfer",
            help="Map CUDA names to the NPU, like transfer_to_npu; default: in files that name CUDA but not torch_npu.",
            show_default=False,
        ),
    ] = None,
    compute_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Maximum memory for computing a value that the program reads.")
    ] = "512MiB",
    python: PythonOption = "",
) -> int:
    """List the operators of a program's step, without computing it, and the NPU's support for each.

    The program runs on fake tensors, which have types and shapes but no memory. Its output goes to standard error.
    Exits with 0, with 1 if --fail-on finds something or the program failed, with 2 on other failures.

    Examples: npuify trace train.py --epochs 1; npuify trace --fail-on fallback --format html --output o.html train.py
    """
    from npuify.cli.common.output import put
    from npuify.model import NpuifyError
    from npuify.trace.launch import trace as run
    from npuify.trace.render import render
    from npuify.trace.summary import fails

    arguments = list(program or [])
    if module is None and not arguments:
        raise NpuifyError("nothing to trace", advice="for example: npuify trace train.py --epochs 1")
    script = module if module is not None else arguments.pop(0)
    result = run(
        script,
        arguments,
        module=module is not None,
        torch_npu=torch_npu,
        soc=soc,
        steps=steps,
        compute_limit=size_in_bytes(compute_limit),
        transfer=transfer,
        python=python,
    )
    put(render(result, format.value), output, exact=format is not PageFormat.TEXT)
    if result.failure is not None or fails(result, fail_on.value if fail_on else ""):
        return FINDINGS_REMAIN
    return NOTHING_LEFT
