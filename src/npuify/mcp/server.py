"""The tools, and what each of them calls."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # noqa: TC002 - the server reads the annotations
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

import npuify
from npuify import api
from npuify.editor.session import options_for
from npuify.mcp.answers import Checked, Item, Migrated, Place, Rule, Scanned
from npuify.model import NpuifyError
from npuify.report.verdict import hours, judge
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.model import Finding
    from npuify.options import Options

    Inside = Callable[[str], Path]

T = TypeVar("T")
PAGE = 50
"""Findings in an answer, where nothing else is asked for."""
DIFF = 20_000
"""Characters of a patch in an answer."""
_INSTRUCTIONS = (
    "npuify moves CUDA PyTorch projects to Huawei's Ascend NPU. Scan first; migrate with write=false, read the diff; "
    "migrate with write=true into a new folder; then change by hand what is left (safety manual), and look at the "
    "checklist. explain tells what is known of a code or name. Paths are absolute, or relative to the first root; "
    "those outside of the roots are refused."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


def serve(roots: Sequence[Path]) -> None:
    """Serve one client over standard input and output, until it goes.

    Args:
        roots: the folders whose files may be read and written.
    """
    made([root.resolve() for root in roots]).run("stdio")


def made(roots: Sequence[Path]) -> MCPServer:
    """The server for these roots."""
    server = MCPServer("npuify", title="npuify", instructions=_INSTRUCTIONS, version=__version__)
    inside = partial(_inside, roots)
    _add_scan(server, inside)
    _add_migrate(server, inside)
    _add_questions(server)
    _add_reports(server, inside)
    server.prompt(name="migrate-to-ascend", title="Migrate this project to Ascend")(migrate_to_ascend)
    return server


def _add_scan(server: MCPServer, inside: Inside) -> None:
    @server.tool(annotations=_READS)
    async def scan(
        ctx: Context,
        path: str = ".",
        style: str = "",
        torch_npu: str = "",
        severity: str = "",
        code: str = "",
        offset: int = 0,
        limit: int = PAGE,
    ) -> Scanned:
        """Find what stands in the way of running a project on an Ascend NPU. Nothing of it is run or changed.

        style: npu (default), portable (CUDA, NPU and CPU) or auto. severity: only error, warning or info. code: only
        codes that begin so, such as NPU3. offset and limit: a page of the findings.
        """
        place = inside(path)
        options = _options(place, style=style, torch_npu=torch_npu)
        result = await _called(ctx, partial(npuify.scan, [place], options))
        verdict = judge(result)
        wanted = [
            one
            for one in result.findings
            if (not severity or one.severity.value == severity) and one.code.startswith(code)
        ]
        page, after = _page(wanted, offset, limit)
        counts: dict[str, int] = {}
        for one in wanted:
            counts[one.code] = counts.get(one.code, 0) + 1
        return Scanned(
            verdict=verdict.title,
            summary=verdict.summary,
            estimate=hours(verdict.estimate),
            torch_npu=result.release.torch_npu,
            total=len(wanted),
            findings=page,
            next_offset=after,
            by_code=counts,
            blockers=[f"{one.what}: {one.why}" for one in verdict.blockers],
            entry_points=[one.file for one in result.survey.entry_points],
            errors=[f"{one.file}: {one.message}" for one in result.errors],
        )


def _add_migrate(server: MCPServer, inside: Inside) -> None:
    @server.tool(annotations=_WRITES)
    async def migrate(
        ctx: Context,
        path: str,
        destination: str = "",
        write: bool = False,
        replace: bool = False,
        style: str = "",
        torch_npu: str = "",
        unsafe: bool = False,
        offset: int = 0,
        limit: int = PAGE,
        diff_offset: int = 0,
    ) -> Migrated:
        """Migrate a project to the NPU: as a patch (write=false), or as a copy in the folder destination (write=true).

        The source is never changed. replace: replace a destination that is not empty. unsafe: also make edits that are
        right in the usual case only. offset and limit: a page of what is left; diff_offset: the next part of the patch.
        """
        if write and not destination:
            raise ToolError("write needs a destination. Name a new folder for the migrated copy.")
        source = inside(path)
        target = inside(destination) if write else None
        options = msgspec.structs.replace(_options(source, style=style, torch_npu=torch_npu), unsafe=unsafe)
        mode = "copy" if write else "diff"
        result = await _called(ctx, partial(npuify.migrate, source, target, options, mode=mode, force=replace))
        page, after = _page(result.left, offset, limit)
        diff = "" if write else result.diff
        end = diff_offset + DIFF
        return Migrated(
            written=write,
            destination=str(target or ""),
            changed_files=list(result.changed_files),
            changes=len(result.changes),
            left=page,
            left_total=len(result.left),
            next_offset=after,
            verdict=judge(result).summary,
            diff=diff[diff_offset:end],
            diff_next_offset=end if end < len(diff) else None,
        )


def _add_questions(server: MCPServer) -> None:
    @server.tool(annotations=_READS)
    async def explain(what: str, torch_npu: str = "") -> dict[str, Any]:
        """What is known of a code (NPU301), a name (torch.cuda.Event), an operator (aten::lgamma), or an error."""
        found = await _plain(partial(npuify.explain, what, torch_npu=torch_npu or None))
        answer: dict[str, Any] = msgspec.to_builtins(found)
        return answer

    @server.tool(annotations=_READS)
    async def rules(code: str = "") -> list[Rule]:
        """The rules of npuify; code: only those whose code begins so."""
        every = await _plain(api.rules)
        return [
            Rule(one.code, one.name, one.safety.value, one.severity.value, one.summary)
            for one in every
            if one.code.startswith(code)
        ]


def _add_reports(server: MCPServer, inside: Inside) -> None:
    @server.tool(annotations=_READS)
    async def checklist(path: str) -> Checked:
        """What is done of a migration, and what is left, with the evidence. path: the migrated project."""
        from npuify.handover import checklist as made_from
        from npuify.handover import read_record

        place = inside(path)
        found = await _plain(lambda: made_from(read_record(place, _options(place))))
        return Checked(found.complete, [Item(one.title, one.state, one.evidence, one.how) for one in found.points])

    @server.tool(annotations=_READS)
    async def diagnose(logs: list[str]) -> dict[str, Any]:
        """Why a run on an NPU failed: the first cause in its logs (files or folders), and what to do."""
        from npuify.diagnosis.text import render_json

        places = [inside(log) for log in logs]
        found = await _plain(lambda: render_json(npuify.diagnose(places)))
        answer: dict[str, Any] = json.loads(found)
        return answer

    @server.tool(annotations=_READS)
    async def doctor() -> dict[str, Any]:
        """Whether this machine can run programs on its NPUs, and what to mend. Runs no program on the cards."""
        from npuify.doctor.text import render_json

        found = await _plain(lambda: render_json(npuify.check_environment(smoke=False)))
        answer: dict[str, Any] = json.loads(found)
        return answer


def migrate_to_ascend(path: str = ".") -> str:
    """The way from a CUDA project to one that runs on an Ascend NPU."""
    return (
        f"Migrate the project at {path} to Huawei's Ascend NPU with npuify.\n"
        "1. scan it, and tell me the verdict, the blockers and the estimate.\n"
        "2. migrate it with write=false; read the diff; name the edits that need a decision (safety review), and ask "
        "me.\n"
        "3. migrate it with write=true into a new folder. Never change the source.\n"
        "4. Change by hand what is left with safety manual; explain tells what is known of each code and name.\n"
        "5. Ask me before you run anything. Then, in a shell: npuify verify steps SOURCE --migrated COPY --short "
        "--entry COMMAND --format json --output COPY/npuify-report/steps.json. It runs both programs, on an NPU or "
        "simulated.\n"
        "6. Show me the checklist. A simulation says nothing of a real card's results, speed or limits."
    )


def _inside(roots: Sequence[Path], path: str) -> Path:
    """A path that lies in one of the roots, links followed.

    Raises:
        ToolError: it lies elsewhere.
    """
    place = (roots[0] / path).resolve()
    if not any(place.is_relative_to(root) for root in roots):
        allowed = ", ".join(map(str, roots))
        raise ToolError(f"{path} lies outside of the folders that npuify mcp was started for: {allowed}")
    return place


def _options(place: Path, *, style: str = "", torch_npu: str = "") -> Options:
    try:
        options = options_for(place, jobs=0)
    except NpuifyError as error:
        raise ToolError(str(error)) from error
    said = {name: value for name, value in (("style", style), ("torch_npu", torch_npu)) if value}
    # What a project says must not have files written.
    return msgspec.structs.replace(options, vendor_reports=None, **said)


def _page(findings: Sequence[Finding], offset: int, limit: int) -> tuple[list[Place], int | None]:
    first, count = max(offset, 0), min(max(limit, 1), 500)
    shown = [
        Place(
            one.code,
            one.name,
            one.severity.value,
            one.safety.value,
            one.file,
            one.start.line,
            one.message,
            one.advice,
            one.subject,
        )
        for one in findings[first : first + count]
    ]
    after = first + count
    return shown, after if after < len(findings) else None


async def _called(ctx: Context, function: Callable[..., T]) -> T:
    """A function that tells its progress, in a thread."""

    def progress(done: int, total: int) -> None:
        # One step in a hundred is enough to be seen.
        if done == total or done % max(total // 100, 1) == 0:
            anyio.from_thread.run(ctx.report_progress, done, total)

    return await _plain(partial(function, progress=progress))


async def _plain(function: Callable[[], T]) -> T:
    """A function in a thread; what is wrong is told to the client as such."""
    try:
        return await anyio.to_thread.run_sync(function)
    except NpuifyError as error:
        raise ToolError(str(error)) from error
