"""The tools that run a project's code, simulate and verify, and those that compare what such runs left."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from mcp.server.mcpserver import Context  # noqa: TC002 - the server reads the annotations
from mcp_types import CallToolResult  # noqa: TC002 - the same
from pydantic import Field

from npuify.mcp import words
from npuify.mcp.answers import Simulated, Verified
from npuify.mcp.desk import Refused, Report, report_texts
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from npuify.mcp.desk import Desk, Texts

_OUTPUT: Final = 6_000
"""Characters of a program's output in an answer: the last ones."""
_LIMIT: Final = 600
_MORE: Final = 30
"""Seconds that npuify itself may take beyond the limits of what it runs."""
_RUNS: Final = 12
"""Runs that the longest acceptance has, at most; each may take as long as was said."""


def add_runs(server: MCPServer, desk: Desk) -> None:
    """What runs the project's code. The client is told, so that it asks its person."""

    @server.tool(title="Run a program on simulated NPUs", annotations=words.RUNS)
    async def simulate(
        ctx: Context,
        command: Annotated[
            list[str],
            Field(min_length=1, description='Program and arguments: ["train.py", "--epochs", "1"], ["torchrun", ...].'),
        ],
        path: Annotated[str, Field(description="The folder to run in.")] = ".",
        devices: Annotated[int, Field(ge=1, le=64, description="NPUs that it sees.")] = 8,
        python: Annotated[str, Field(description="The Python that runs it; empty: the one with PyTorch.")] = "",
        seconds: words.Seconds = _LIMIT,
    ) -> Annotated[CallToolResult, Simulated]:
        """Run a migrated program on simulated NPUs, on this machine. IT RUNS THE PROJECT'S CODE: ask before.

        Shows that the program runs; says nothing of a real card's results, speed or limits.
        """
        folder = await desk.inside(ctx, path)
        if not folder.is_dir():
            raise Refused(NpuifyError("is no folder to run in", file=path))
        options = ["--devices", str(devices), *(["--python", python] if python else [])]
        begun = time.monotonic()
        ran = await desk.beside(ctx, ["simulate", *options, *command], folder, seconds)
        whole = ran.output
        answer = Simulated(ran.code, round(time.monotonic() - begun, 1), whole[-_OUTPUT:], len(whole) > _OUTPUT)
        return desk.answer(Simulated, answer, Report("output", {"text": lambda: whole}))

    @server.tool(title="Verify a migrated program", annotations=words.RUNS)
    async def verify(
        ctx: Context,
        source: Annotated[str, Field(description="The original project, for CUDA.")],
        entry: Annotated[
            str,
            Field(
                description="Program and arguments for a short run: train.py --steps 5 --device={device}. "
                "{device} and {backend} become npu and hccl for the copy, cpu and gloo for the original."
            ),
        ],
        migrated: Annotated[str, Field(description="The migrated copy; empty: npuify migrates one for this.")] = "",
        short: Annotated[bool, Field(description="Only two steps, compared module by module.")] = True,
        target: Annotated[Literal["auto", "npu", "simulated"], Field(description="auto: a card, if any.")] = ("auto"),
        prepare: Annotated[str, Field(description="A program of the project that first makes data for both.")] = "",
        data: Annotated[
            str, Field(description="[NAME=]PATH: both find PATH as NAME in their folder; {data} in entry is its path.")
        ] = "",
        python: Annotated[str, Field(description="The Python that runs both; empty: the one with PyTorch.")] = "",
        seconds: words.Seconds = _LIMIT,
    ) -> Annotated[CallToolResult, Verified]:
        """Run the migrated program and the original, and compare what they compute. IT RUNS THEIR CODE: ask before.

        In copies: neither folder is changed. With a folder for the migrated copy the reports are left in its
        npuify-report/, where the checklist finds them.
        """
        from npuify.verify.steps import page, text
        from npuify.verify.steps.model import AcceptanceReport, Status

        original = await desk.inside(ctx, source)
        copy = await desk.inside(ctx, migrated) if migrated else None
        options = ["--entry", entry, "--target", target, "--timeout", f"{seconds:g}", *(["--short"] if short else [])]
        if data:
            name, equals, place = data.rpartition("=")
            data = f"{name}{equals}{await desk.inside(ctx, place)}"
        more = {"--migrated": str(copy or ""), "--prepare": prepare, "--data": data, "--python": python}
        for flag, value in more.items():
            options += [flag, value] if value else []
        with tempfile.TemporaryDirectory(prefix="npuify-mcp-") as folder:
            file = Path(folder, "steps.json")
            arguments = ["verify", "steps", str(original), *options, "--format", "json", "--output", str(file)]
            ran = await desk.beside(ctx, arguments, Path(folder), seconds * _RUNS + _MORE)
            if not file.is_file():
                lines = [line for line in ran.output.strip().splitlines() if line]
                raise Refused(NpuifyError("; ".join(lines[-4:]) or "it was ended since its time was over"))
            report = msgspec.json.decode(file.read_bytes(), type=AcceptanceReport)
        texts: Texts = {"html": partial(page.render_html, report), "json": partial(text.render_json, report)}
        if copy is not None and (copy / "npuify-report").is_dir():
            from npuify.rewrite.tree import replace_files

            kept = {"steps.json": texts["json"]().encode(), "steps.html": texts["html"]().encode()}
            await desk.call(partial(replace_files, copy / "npuify-report", kept))
        steps = [
            {
                "name": one.name,
                "status": one.status.value,
                "where": one.where.value,
                "message": one.message,
                "advice": one.advice,
            }
            for one in report.steps
        ]
        states = {one.status for one in report.steps}
        passed = Status.PASSED in states and Status.FAILED not in states
        details = {"entry": report.entry, "reference": report.reference, "target": report.target}
        return desk.answer(Verified, Verified(report.verdict, passed, steps, details), Report("acceptance", texts))


def add_comparisons(server: MCPServer, desk: Desk) -> None:
    """What compares runs that were made elsewhere, and runs nothing."""

    @server.tool(title="Compare two captures", annotations=words.READS)
    async def verify_compare(
        ctx: Context,
        reference: Annotated[str, Field(description="The capture of the original, or an msprobe dump.")],
        target: Annotated[str, Field(description="The same of the migrated program.")],
    ) -> Annotated[CallToolResult, Verified]:
        """Compare two captures: the first module whose inputs agree but whose results do not, and why."""
        from npuify.verify.comparison.compare import compare
        from npuify.verify.comparison.render import render

        places = [await desk.inside(ctx, one) for one in (reference, target)]
        found = await desk.call(lambda: compare(*places))
        details: dict[str, Any] = {
            "first": msgspec.to_builtins(found.first) if found.first else None,
            "matched": found.matched,
            "remarks": list(found.remarks),
        }
        texts = report_texts(render, found)
        return desk.answer(Verified, Verified(found.verdict, found.agrees, [], details), Report("comparison", texts))

    @server.tool(title="Compare two loss curves", annotations=words.READS)
    async def verify_loss(
        ctx: Context,
        reference: Annotated[str, Field(description="The original's log: CSV, JSON lines, TensorBoard, plain, …")],
        target: Annotated[str, Field(description="The migrated program's log.")],
        metric: Annotated[str, Field(description="Which loss, if there are several.")] = "",
        tolerance: Annotated[float, Field(gt=0, description="Allowed relative error: 0.01 is 1 %.")] = 0.01,
        first: Annotated[int, Field(ge=1, description="Points judged as the first steps.")] = 10,
        common: Annotated[bool, Field(description="Ignore steps that only one of them has.")] = False,
    ) -> Annotated[CallToolResult, Verified]:
        """Whether two loss curves agree, in the first steps and in the long run, and where they diverge."""
        from npuify.verify.loss import page, text
        from npuify.verify.loss.model import Verdict
        from npuify.verify.loss.run import compare_losses

        a, b = [await desk.inside(ctx, one) for one in (reference, target)]
        found = await desk.call(
            lambda: compare_losses(a, b, metric=metric, tolerance=tolerance, first=first, common=common)
        )
        details = {"said": list(found.said), "advice": list(found.advice), "diverges_at": found.diverges_at}
        texts: Texts = {"html": partial(page.render_html, found), "json": partial(text.render_json, found)}
        passed = found.verdict is Verdict.ALIGNED
        return desk.answer(Verified, Verified(found.verdict.value, passed, [], details), Report("losses", texts))
