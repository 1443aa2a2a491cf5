"""``npuify verify profile``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption


def verify_profile(
    profile: Annotated[Path, typer.Argument(metavar="PATH", help="The profiler's output: a folder, or a trace.")],
    rank: Annotated[str, typer.Option("--rank", metavar="N", help="Which rank to detail; default: the slowest.")] = "",
    torch_npu: Annotated[
        str,
        typer.Option(
            "--torch-npu",
            metavar="VERSION",
            help="For a profile without an NPU: the release whose table decides which operators would run on the CPU.",
        ),
    ] = "",
    no_trace: Annotated[bool, typer.Option("--no-trace", help="Read only the tables, not the trace.")] = False,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Show where the time of a step goes, what it waits for, and which NPU advice applies.

    Reads output of torch_npu's profiler and msprof, and traces of PyTorch's profiler (CUDA, CPU, simulated NPU). Exit
    code: 0 if no advice applies, 1 if some does, 2 for wrong usage.
    """
    from npuify.cli.common.output import put_judgement
    from npuify.knowledge import choose_release
    from npuify.verify.profile import page, text
    from npuify.verify.profile.run import read_profile

    release = choose_release(torch_npu, None).torch_npu if torch_npu else ""
    report = read_profile(profile, rank=rank, torch_npu=release, trace=not no_trace)
    put_judgement(report, format.value, output, text=text.render_text, json=text.render_json, html=page.render_html)
    return FINDINGS_REMAIN if report.advice else NOTHING_LEFT
