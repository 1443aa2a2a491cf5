"""``npuify explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import OutputOption, ShortFormat, ShortFormatOption, TorchNpuOption


def explain(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to explain.")],
    format: ShortFormatOption = ShortFormat.TEXT,
    output: OutputOption = None,
    torch_npu: TorchNpuOption = None,
    project: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Of FILE:LINE: the project. Default: the nearest folder that looks like one."),
    ] = None,
) -> int:
    """Explain a code, a name, a variable, or a place in your code.

    WHAT is a code (NPU301), a CUDA or NPU name (torch.cuda.Event), an environment variable (NCCL_DEBUG), a package
    (flash_attn), an operator of CUDA extensions (upfirdn2d), an error code from a log (EI0006, 507015, ERR00100) or a
    part of its message ("static TLS block"), a program of NVIDIA's (nvcc), or a chip (910B3): shows what applies to
    which torch_npu release, the source, and the evidence. Or it is FILE:LINE or FILE:LINE:COLUMN: shows what the
    expressions there may be, and why; nothing is run.
    """
    import npuify
    from npuify.analysis.explained.place import place_in
    from npuify.cli.common.output import put
    from npuify.report.answers import render_explanation, render_place

    place = place_in(what)
    if place is not None:
        rows = npuify.explain_place(*place, project=project)
        put(render_place(rows, format.value), output, exact=format is not ShortFormat.TEXT)
        return NOTHING_LEFT
    answer = npuify.explain(what, torch_npu=torch_npu)
    put(render_explanation(answer, format.value), output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT
