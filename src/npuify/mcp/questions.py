"""The tools that answer questions: what is known, what is done, what went wrong, whether a machine is ready."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context  # noqa: TC002 - the server reads the annotations
from mcp_types import CallToolResult  # noqa: TC002 - the same
from pydantic import Field

import npuify
from npuify import api
from npuify.analysis.explained.place import place_in
from npuify.language import phrase
from npuify.mcp import words
from npuify.mcp.answers import Checked, Item, Known, Rule, RuleHelp, Rules
from npuify.mcp.desk import Refused, Report, report_texts
from npuify.mcp.short import page_of
from npuify.model import NpuifyError
from npuify.report.answers import render_place

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from npuify.mcp.desk import Desk, Texts
    from npuify.model import Explanation

_What = Annotated[
    str,
    Field(
        description="A code (NPU301), a name (torch.cuda.Event), an operator (aten::lgamma), a variable (NCCL_DEBUG), "
        "a package, an error (EI0006), or a place in a Python file (train.py:12)."
    ),
]


_OfFinding = Annotated[
    str, Field(description="The code of the finding whose subject this is: explained where the subject is not known.")
]


def _known(what: str, code: str, torch_npu: str | None) -> Explanation:
    try:
        return npuify.explain(what, torch_npu=torch_npu)
    except NpuifyError:
        # A subject may be a word of the project's own, such as the name of an extension.
        if not code:
            raise
        return npuify.explain(code)


def add_questions(server: MCPServer, desk: Desk) -> None:
    """What is known of names and rules."""

    @server.tool(title="Explain", annotations=words.READS)
    async def explain(
        ctx: Context, what: _What, torch_npu: words.Release = "", code: _OfFinding = ""
    ) -> Annotated[CallToolResult, Known]:
        """What is known of a code, a name, an operator, a variable, an error, or of a place in a Python file."""
        place = place_in(what)
        if place is not None:
            file = await desk.inside(ctx, str(place[0]))
            rows = await desk.call(partial(npuify.explain_place, file, *place[1:]))
            told = render_place(rows, "text").splitlines()
            return desk.answer_lines(Known, Known(what, "place", told, [], phrase("the program model"), ""))
        found = await desk.call(partial(_known, what, code, torch_npu or None))
        releases = [{"torch_npu": one.torch_npu, "name": one.name, "note": one.note} for one in found.releases]
        known = Known(found.title, found.kind, list(found.text), releases, found.source, found.evidence.value)
        return desk.answer_lines(Known, known)

    @server.tool(title="List the rules", annotations=words.READS)
    async def rules(
        code: words.Code = "", offset: words.Offset = 0, limit: words.Limit = words.PAGE
    ) -> Annotated[CallToolResult, Rules]:
        """The rules of npuify, with code, name and safety, page by page; rule_help has more of each."""
        every = [one for one in await desk.call(api.rules) if one.code.startswith(code)]
        rows = [Rule(one.code, one.name, one.safety.value, one.severity.value, one.summary) for one in every]
        page, more = page_of(rows, offset, limit)
        return desk.answer(Rules, Rules(page, len(every), more))

    @server.tool(title="Help on a rule", annotations=words.READS)
    async def rule_help(
        rule: Annotated[str, Field(description="Its code or name: NPU301, nccl-backend.")],
    ) -> Annotated[CallToolResult, RuleHelp]:
        """What a rule finds, why, with code before and after, and how to silence it."""
        every = await desk.call(api.rules)
        one = next((each for each in every if rule in (each.code, each.name)), None)
        if one is None:
            raise Refused(
                NpuifyError(phrase("there is no rule {rule!r}", rule=rule), advice="the tool rules lists them")
            )
        found = await desk.call(partial(npuify.explain, one.code))
        return desk.answer(
            RuleHelp,
            RuleHelp(
                code=one.code,
                name=one.name,
                safety=one.safety.value,
                severity=one.severity.value,
                help=list(found.text),
                source=one.source,
                evidence=one.evidence.value,
                ignore=f"# npuify: ignore[{one.code}]",
            ),
        )


def add_reports(server: MCPServer, desk: Desk) -> None:
    """What is done, what failed, and the machine."""

    @server.tool(title="Checklist of a migration", annotations=words.READS)
    async def checklist(
        ctx: Context, path: Annotated[str, Field(description="The migrated project.")]
    ) -> Annotated[CallToolResult, Checked]:
        """What is done of a migration, and what is left, each with the evidence that it rests on."""
        from npuify.handover import read_record
        from npuify.handover.checklist.pages import render
        from npuify.handover.checklist.points import checklist as made_from

        place = await desk.inside(ctx, path)
        options = desk.options(place)
        record = await desk.told(ctx, partial(read_record, place, options), prepares=True)
        found = await desk.call(partial(made_from, record))
        items = [Item(one.title, one.state, one.evidence, one.how) for one in found.points]
        texts = report_texts(render, found)
        return desk.answer(Checked, Checked(found.complete, items), Report("checklist", texts))

    @server.tool(title="Why a run failed", annotations=words.READS)
    async def diagnose(
        ctx: Context,
        logs: Annotated[list[str], Field(min_length=1, description="Log files, or folders of them.")],
        project: Annotated[str, Field(description="The project that ran; empty: none.")] = "",
    ) -> CallToolResult:
        """Why a run on an NPU failed: the first cause in its logs, and what to do."""
        from npuify.diagnosis import page, text

        places = [await desk.inside(ctx, log) for log in logs]
        around = await desk.inside(ctx, project) if project else None
        found = await desk.call(lambda: npuify.diagnose(places, project=around))
        return _document(desk, "diagnosis", found, page, text)

    @server.tool(title="Is this machine ready?", annotations=words.READS)
    async def doctor(
        ctx: Context,
        project: Annotated[str, Field(description="What its requirements are held against; empty: none.")] = "",
    ) -> CallToolResult:
        """Whether this machine can run programs on its NPUs, and what to mend. Runs no program on the cards."""
        from npuify.doctor import page, text

        around = await desk.inside(ctx, project) if project else None
        found = await desk.call(lambda: npuify.check_environment(project=around, smoke=False))
        return _document(desk, "doctor", found, page, text)


def _document(desk: Desk, title: str, found: object, page: Any, text: Any) -> CallToolResult:
    """A result in the form that its command prints as JSON, with its whole as page, JSON and text."""
    texts: Texts = {
        "html": partial(page.render_html, found),
        "json": partial(text.render_json, found),
        "text": partial(text.render_text, found),
    }
    return desk.answer_data(json.loads(texts["json"]()), Report(title, texts))
