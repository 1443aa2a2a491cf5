"""The tools that read a project and change a copy of it: scan, plan, migrate, distribute, launch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from mcp.server.mcpserver import Context  # noqa: TC002 - the server reads the annotations
from mcp_types import CallToolResult  # noqa: TC002 - the same
from pydantic import Field

import npuify
from npuify import api
from npuify.mcp import words
from npuify.mcp.answers import Launched, Migrated, Note, Place, Planned, Scanned, Step
from npuify.mcp.desk import Refused, Report, report_texts
from npuify.mcp.short import page_of, part_of
from npuify.model import NpuifyError
from npuify.report import render_migration, render_scan
from npuify.report.verdicts.verdict import hours, judge

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server import MCPServer

    from npuify.mcp.desk import Desk
    from npuify.model import Finding, MigrationResult

_NAMED: Final = 50
"""Changed files, programs and the like that an answer names."""


def add_scan(server: MCPServer, desk: Desk) -> None:
    """What stands in the way, and what to do next."""

    @server.tool(title="Scan a project", annotations=words.READS)
    async def scan(
        ctx: Context,
        path: words.Project = ".",
        style: words.Style = "",
        torch_npu: words.Release = "",
        severity: Annotated[Literal["", "error", "warning", "info"], Field(description="Only these.")] = "",
        code: words.Code = "",
        offset: words.Offset = 0,
        limit: words.Limit = words.PAGE,
    ) -> Annotated[CallToolResult, Scanned]:
        """Find what stands in the way of running a project on an Ascend NPU. Nothing of it is run or changed."""
        place = await desk.inside(ctx, path)
        options = desk.options(place, style=style, torch_npu=torch_npu)
        result = await desk.told(ctx, partial(npuify.scan, [place], options), prepares=True)
        verdict = judge(result)
        programs = [one.file for one in result.survey.entry_points]
        errors = [f"{one.file}: {one.message}" for one in result.errors]
        wanted = [
            one
            for one in result.findings
            if (not severity or one.severity.value == severity) and one.code.startswith(code)
        ]
        page, after = page_of([_place(one) for one in wanted[: offset + limit + 1]], offset, limit)
        counts: dict[str, int] = {}
        for one in wanted:
            counts[one.code] = counts.get(one.code, 0) + 1
        texts = report_texts(render_scan, result)
        return desk.answer(
            Scanned,
            Scanned(
                verdict=verdict.title,
                summary=verdict.summary,
                estimate=hours(verdict.estimate),
                torch_npu=result.release.torch_npu,
                total=len(wanted),
                findings=page,
                next_offset=after,
                by_code=counts,
                blockers=[f"{one.what}: {one.why}" for one in verdict.blockers],
                entry_points=programs[:_NAMED],
                entry_points_total=len(programs),
                errors=errors[:_NAMED],
                errors_total=len(errors),
            ),
            # Further pages are of the report that the first one links to.
            None if offset else Report("scan", texts),
        )

    @server.tool(title="What to do next", annotations=words.READS)
    async def plan(
        ctx: Context,
        path: words.Project = ".",
        style: words.Style = "",
        torch_npu: words.Release = "",
        offset: words.Offset = 0,
        limit: words.Limit = words.PAGE,
    ) -> Annotated[CallToolResult, Planned]:
        """What to do next with a project, in order, with codes and places, before its migration, or in a migrated copy.

        Blockers that a person decides about, the migration, edits to review, code to change by hand, runs, checks.
        """
        place = await desk.inside(ctx, path)
        options = desk.options(place, style=style, torch_npu=torch_npu)
        found = await desk.told(ctx, partial(api.plan, place, options), prepares=True)
        steps = [
            Step(one.name, one.what, list(one.codes), list(one.places), one.more, one.advice, one.command)
            for one in found.steps
        ]
        page, after = page_of(steps, offset, limit)
        return desk.answer(
            Planned, Planned(found.migrated, found.verdict, found.estimate, page, total=len(steps), next_offset=after)
        )


def add_migrate(server: MCPServer, desk: Desk) -> None:
    """To one card, and to many."""

    @server.tool(title="Migrate a project", annotations=words.WRITES)
    async def migrate(
        ctx: Context,
        path: words.Project,
        destination: words.Destination = "",
        write: words.Write = False,
        replace: words.Replace = False,
        style: words.Style = "",
        torch_npu: words.Release = "",
        unsafe: words.Unsafe = False,
        place_on_npu: Annotated[bool, Field(description="Where no code names a GPU: move model and data.")] = False,
        offset: words.Offset = 0,
        limit: words.Limit = words.PAGE,
        diff_offset: words.DiffOffset = 0,
    ) -> Annotated[CallToolResult, Migrated]:
        """Migrate a project to the NPU: as a patch (write=false), or as a copy in a new folder (write=true).

        The source is never changed.
        """
        source = await desk.inside(ctx, path)
        target = await _target(desk, ctx, destination) if write else None
        options = desk.options(source, style=style, torch_npu=torch_npu, unsafe=unsafe, place_on_npu=place_on_npu)
        mode = "copy" if write else "diff"
        work = partial(npuify.migrate, source, target, options, mode=mode, force=replace)
        result = await desk.told(ctx, work, prepares=True)
        return _migrated(desk, result, target, offset, limit, diff_offset)

    @server.tool(title="Convert to many cards", annotations=words.WRITES)
    async def distribute(
        ctx: Context,
        path: words.Project,
        entry: Annotated[str, Field(description="The training program, relative to the project: train.py.")],
        destination: words.Destination = "",
        write: words.Write = False,
        replace: words.Replace = False,
        model: Annotated[str, Field(description="The name of the model that trains; empty: all that are found.")] = "",
        sync_batchnorm: Annotated[bool, Field(description="BatchNorm over the samples of all cards.")] = False,
        scale_lr: Annotated[
            Literal["", "linear", "sqrt"], Field(description="Scale the learning rate by the number of cards.")
        ] = "",
        keep_global_batch: Annotated[bool, Field(description="Split the batch size across the cards.")] = False,
        complete: Annotated[bool, Field(description="Complete a program that is distributed already.")] = False,
        torch_npu: words.Release = "",
        offset: words.Offset = 0,
        limit: words.Limit = words.PAGE,
        diff_offset: words.DiffOffset = 0,
    ) -> Annotated[CallToolResult, Migrated]:
        """Convert a single-card training program to many cards; CUDA code is migrated first. The source stays.

        What cannot be converted by proof is refused, with the reasons in left (NPU380, NPU390 to NPU399).
        """
        from npuify.distribute.convert import ConversionOptions
        from npuify.distribute.convert import distribute as convert

        source = await desk.inside(ctx, path)
        target = await _target(desk, ctx, destination) if write else None
        options = msgspec.structs.replace(desk.options(source, torch_npu=torch_npu), style="npu")
        conversion = ConversionOptions(
            entry=entry,
            model=model,
            sync_batchnorm=sync_batchnorm,
            scale_lr=scale_lr,
            keep_global_batch=keep_global_batch,
            complete=complete,
        )
        mode = "copy" if write else "diff"
        work = partial(convert, source, target, conversion, options, mode=mode, force=replace)
        result = await desk.told(ctx, work)
        return _migrated(desk, result, target, offset, limit, diff_offset)


def add_launch(server: MCPServer, desk: Desk) -> None:
    """Launch scripts."""

    @server.tool(title="Write launch scripts", annotations=words.WRITES)
    async def launch(
        ctx: Context,
        program: Annotated[str, Field(description="The program's file, relative to path.")],
        path: Annotated[str, Field(description="The folder that the program runs in.")] = ".",
        arguments: Annotated[list[str], Field(description="The program's own arguments.")] = [],  # noqa: B006
        method: Annotated[
            Literal["torchrun", "shell", "spawn", "launch", "torch_npu_run", "tensorflow"],
            Field(description="What starts the processes."),
        ] = "torchrun",
        cards: Annotated[int | None, Field(ge=1, le=64, description="Of each machine; null: all that it has.")] = None,
        nodes: Annotated[int, Field(ge=1, description="Machines.")] = 1,
        master: Annotated[str, Field(description="Name or address of the first of several machines.")] = "",
        port: Annotated[int, Field(ge=1, le=65535)] = 29500,
        destination: words.Destination = "",
        write: words.Write = False,
        replace: words.Replace = False,
        torch_npu: words.Release = "",
    ) -> Annotated[CallToolResult, Launched]:
        """Make the scripts that start a program on many cards, of one machine or several. It is not changed."""
        from npuify.knowledge import choose_release
        from npuify.launch.job import job
        from npuify.launch.launch import launch as make

        folder = await desk.inside(ctx, path)
        await desk.inside(ctx, str(folder / program))
        target = await _target(desk, ctx, destination) if write else None

        def made() -> Any:
            wanted = job(
                str(folder / program),
                method=method,
                release=choose_release(torch_npu or None, None),
                arguments=arguments,
                cards=cards,
                nodes=nodes,
                master=master,
                port=port,
                folder=folder,
            )
            return make(wanted, target, force=replace)

        found = await desk.call(made)
        notes = [Note(one.level, one.file, one.line, one.message) for one in found.program]
        return desk.answer(
            Launched,
            Launched(
                written=write,
                destination=found.output,
                complete=found.complete,
                commands=list(found.commands),
                notes=notes,
                files=dict(found.files),
                evidence=found.evidence.value,
                source=found.source,
            ),
        )


async def _target(desk: Desk, ctx: Context, destination: str) -> Path:
    if not destination:
        raise Refused(NpuifyError("write needs a destination", advice="name a new folder for what is written"))
    return await desk.inside(ctx, destination)


def _migrated(
    desk: Desk, result: MigrationResult, target: Path | None, offset: int, limit: int, diff_offset: int
) -> CallToolResult:
    page, after = page_of([_place(one) for one in result.left[: offset + limit + 1]], offset, limit)
    diff = "" if target is not None else result.diff
    part, diff_after = part_of(diff, diff_offset)
    verdict = judge(result)
    texts = report_texts(render_migration, result)
    if diff:
        texts["text"] = lambda: diff
    return desk.answer(
        Migrated,
        Migrated(
            written=bool(result.destination),
            destination=str(target or ""),
            changed_files=list(result.changed_files[:_NAMED]),
            changed_files_total=len(result.changed_files),
            changes=len(result.changes),
            left=page,
            left_total=len(result.left),
            next_offset=after,
            verdict=verdict.summary,
            diff=part,
            diff_next_offset=diff_after,
        ),
        None if offset or diff_offset else Report("migration", texts),
    )


def _place(one: Finding) -> Place:
    return Place(
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
