"""``npuify explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from npuify.cli.guard import NOTHING_LEFT
from npuify.cli.options import OutputOption, ShortFormat, ShortFormatOption, TorchNpuOption


def explain(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to explain.")],
    format: ShortFormatOption = ShortFormat.TEXT,
    output: OutputOption = None,
    torch_npu: TorchNpuOption = None,
) -> int:
    """Explain a code, a name or a variable.

    WHAT is a code (NPU301), a CUDA or NPU name (torch.cuda.Event), an environment variable (NCCL_DEBUG), or an error
    code from a log (EI0006, 507015, ERR00100). Shows what applies to which torch_npu release, the source, and the
    evidence.
    """
    import npuify
    from npuify.cli.output import put
    from npuify.report.answers import render_explanation

    answer = npuify.explain(what, torch_npu=torch_npu)
    put(render_explanation(answer, format.value), output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT
