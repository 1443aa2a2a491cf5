"""The server: its tools, the reports that they link to, and the prompts that walk through the whole way."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError, UnexpectedToolError
from pydantic import Field

from npuify.language import mark, phrase
from npuify.mcp import projects, questions, runs
from npuify.mcp.desk import KINDS, MORE, REPORTS, Desk, told_error
from npuify.report.schemas import described
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

_INSTRUCTIONS = (
    "npuify moves CUDA PyTorch projects to Huawei's Ascend NPU. Begin with plan: it says what to do next, in order. "
    "scan finds what stands in the way; migrate with write=false, read the diff; migrate with write=true into a new "
    "folder; then change by hand what is left (safety manual); simulate and verify run the project's code, so ask "
    "before; checklist says what is left, with evidence. explain tells what is known of a code or name. Answers are "
    "short; whole reports are linked as resources. Paths are absolute, or relative to the first root; those outside of "
    "the roots are refused."
)


_ERROR = {
    "type": "object",
    "description": mark("What is wrong, where something is; there is nothing else then."),
    "properties": {
        "message": {"type": "string"},
        "advice": {"type": "string"},
        "file": {"type": "string"},
        "line": {"type": "integer"},
    },
    "required": ["message", "advice", "file", "line"],
}


_MORE = {
    "type": "object",
    "description": mark(
        "Lists that were too long for an answer, with how many of their items are left out; the linked report has all."
    ),
    "additionalProperties": {"type": "integer"},
}


class Server(MCPServer):
    """A server whose errors are data as well as text, and fit the schemas: clients hold them against these as well."""

    async def list_tools(self) -> Any:
        """The tools, each with an answer or an error, told of in the language of the server."""
        return [
            tool.model_copy(
                update={
                    "title": phrase(tool.title or tool.name),
                    "description": described({"description": tool.description})["description"],
                    "input_schema": described(tool.input_schema),
                    "output_schema": described(_or_error(_document(tool.name) or tool.output_schema)),
                }
            )
            for tool in await super().list_tools()
        ]

    async def list_prompts(self) -> Any:
        """The prompts, with their arguments, told of in the language of the server."""
        return [
            prompt.model_copy(
                update={
                    "description": phrase(prompt.description or ""),
                    "arguments": [
                        one.model_copy(update={"description": phrase(one.description or "")})
                        for one in prompt.arguments or ()
                    ],
                }
            )
            for prompt in await super().list_prompts()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """What a tool answers, or what went wrong."""
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            return told_error(error)


_DOCUMENTS = {"diagnose": "npuify.diagnosis.text", "doctor": "npuify.doctor.text"}
"""Tools that answer what their command prints as JSON, and the modules that know its schema."""


def _document(tool: str) -> dict[str, Any] | None:
    """The schema of a tool's answer that is the JSON of a command; None for others."""
    if tool not in _DOCUMENTS:
        return None
    whole = json.loads(importlib.import_module(_DOCUMENTS[tool]).json_schema())
    definitions = whole["$defs"]
    return {**definitions[whole["$ref"].rpartition("/")[2]], "$defs": definitions}


def _or_error(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer, as that of an answer or an error."""
    made = {**schema, "properties": {**schema.get("properties", {}), MORE: _MORE, "error": _ERROR}}
    required = made.pop("required", [])
    return {**made, "anyOf": [{"required": required}, {"required": ["error"]}]} if required else made


def serve(roots: Sequence[Path], *, runs_code: bool = True) -> None:
    """Serve one client over standard input and output, until it goes.

    Args:
        roots: the folders whose files may be read and written; none: those that the client has open, else the current
            folder.
        runs_code: whether there are tools that run a project's code.
    """
    made(roots, runs_code=runs_code).run("stdio")


def made(roots: Sequence[Path], *, runs_code: bool = True) -> MCPServer:
    """The server for these roots; see :func:`serve`."""
    server = Server("npuify", title="npuify", instructions=phrase(_INSTRUCTIONS), version=__version__)
    desk = Desk(roots)
    projects.add_scan(server, desk)
    projects.add_migrate(server, desk)
    projects.add_launch(server, desk)
    questions.add_questions(server, desk)
    questions.add_reports(server, desk)
    runs.add_comparisons(server, desk)
    if runs_code:
        runs.add_runs(server, desk)
    _add_reports(server, desk)
    server.prompt(name="migrate-to-ascend", title=phrase("Migrate this project to Ascend"))(migrate_to_ascend)
    server.prompt(name="why-did-it-fail", title=phrase("Find out why a run on an NPU failed"))(why_did_it_fail)
    return server


def _add_reports(server: MCPServer, desk: Desk) -> None:
    for kind, mime_type in KINDS.items():
        server.resource(
            f"{REPORTS}/{kind}/{{name}}",
            name=f"report-{kind}",
            title=phrase("A report as {kind}", kind=kind),
            description=phrase("What an answer of a tool links to: the whole result."),
            mime_type=mime_type,
        )(_reader(desk, kind))


def _reader(desk: Desk, kind: str) -> Callable[[str], Awaitable[str]]:
    async def report(name: str) -> str:
        """A report, by the name that an answer links to."""
        try:
            return await desk.call(lambda: desk.report(kind, name))
        except KeyError:
            raise ResourceNotFoundError("this report is no longer kept: ask the tool again") from None

    return report


def migrate_to_ascend(
    path: Annotated[str, Field(description="The project's folder.")] = ".",
    entry: Annotated[str, Field(description="Program and arguments for a short run; empty: the agent finds it.")] = "",
) -> str:
    """The way from a CUDA project to one that runs on an Ascend NPU."""
    program = entry or phrase("the training program, with arguments for a short run")
    return phrase(
        "Migrate the project at {path} to Huawei's Ascend NPU with npuify.\n"
        "1. scan it, and tell me the verdict, the blockers and the estimate. plan lists what to do, in order.\n"
        "2. migrate it with write=false; read the diff; name the edits that need a decision (safety review), and ask "
        "me.\n"
        "3. migrate it with write=true into a new folder. Never change the source.\n"
        "4. Change by hand what is left with safety manual; explain and rule_help tell what is known of each. scan the "
        "copy until nothing is left that you can change.\n"
        "5. Ask me before you run anything. Then simulate {program} in the copy, with seconds that bound it. If it "
        "fails, diagnose its log, mend the copy, and simulate again.\n"
        "6. verify the copy against the source with short=true and the same entry: it compares two steps module by "
        "module.\n"
        "7. Show me the checklist of the copy. A simulation says nothing of a real card's results, speed or limits: on "
        "the Ascend machine, doctor comes first, then the same verify.",
        path=path,
        program=program,
    )


def why_did_it_fail(log: Annotated[str, Field(description="The log's file, or a folder of logs.")]) -> str:
    """From the log of a failed run to its cause."""
    return phrase(
        "A program failed on an Ascend NPU; its log is {log}.\n"
        "1. diagnose it, and tell me the first cause, how sure that is, and the line that shows it.\n"
        "2. Where it asks a question, look in the project or ask me; do not guess.\n"
        "3. If the machine is at fault, run doctor here if this is the machine that failed.\n"
        "4. explain the codes and names that it mentions. Propose the smallest change, and let me decide.",
        log=log,
    )
