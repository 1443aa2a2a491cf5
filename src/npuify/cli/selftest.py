"""``npuify selftest``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import OutputOption, PageFormat, PageFormatOption, PythonOption, TorchNpuOption


def selftest(
    quick: Annotated[bool, typer.Option("--quick", help="Only the checks that take little: two minutes.")] = False,
    area: Annotated[
        list[str] | None, typer.Option("--area", metavar="AREA", help="Only this area. Can be repeated.")
    ] = None,
    cards: Annotated[int, typer.Option(min=0, metavar="N", help="Use at most N cards; 0: all.")] = 0,
    list_checks: Annotated[
        bool, typer.Option("--list", help="List the checks, and the claims that have none; ask nothing.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run ended.")] = False,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where outcomes are kept as they come; default: in the cache folder."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Processes that ask at the same time.")] = 1,
    python: PythonOption = "",
    torch_npu: TorchNpuOption = None,
    format: PageFormatOption = PageFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Hold npuify's own claims against the NPUs of this machine.

    Needs an NPU with torch and torch_npu; no network, no root, none of your data. A question that crashes or hangs is
    that question's result. The result names versions and chips, nothing else of the machine; CONTRIBUTING.md says how
    to send it in. --torch-npu is for --list. Exit code: 0 if all that was asked holds, 1 if something does not.

    Examples: npuify selftest --quick; npuify selftest --format json --output result.json
    """
    from npuify.cli.common.output import put, put_judgement
    from npuify.cli.common.progress import progress
    from npuify.selftest import text
    from npuify.selftest.run import chosen_areas, plan_for, run_selftest, table_of

    if list_checks:
        table = table_of(torch_npu or "")
        plan = plan_for(table, chosen_areas(area or ()))
        put(text.render_plan(plan, None if area else table), output, exact=False)
        return NOTHING_LEFT
    with progress("asking") as (show,):
        result = run_selftest(
            python=python,
            quick=quick,
            areas=area or (),
            cards=cards,
            jobs=jobs,
            resume=resume,
            state=state,
            progress=show,
        )
    put_judgement(result, format.value, output, text=text.render_text, json=text.render_json, html=text.render_html)
    return FINDINGS_REMAIN if text.refuted(result) else NOTHING_LEFT
