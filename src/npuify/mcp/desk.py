"""What all tools share: the folders that they may use, one thread for the engine, programs beside it, and reports."""

from __future__ import annotations

import os
import secrets
import warnings
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import anyio
import anyio.from_thread
import anyio.to_thread
import msgspec
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ResourceLink, TextContent
from pydantic import TypeAdapter, ValidationError

from npuify.editor.session import options_for
from npuify.language import phrase
from npuify.mcp.short import is_long, shortened
from npuify.model import NpuifyError
from npuify.process.itself import PLAIN, npuify_command
from npuify.process.watched import Watched
from npuify.report import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server.mcpserver import Context

    from npuify.mcp.answers import Known
    from npuify.options import Options

T = TypeVar("T")
REPORTS: Final = "npuify://reports"
KINDS: Final = {"html": "text/html", "json": "application/json", "text": "text/plain"}
MORE: Final = "more"
"""The key of an answer that was cut: lists, by name, with how many of their items are left out. The report has all."""
_KEPT: Final = 8
"""Reports that can be asked for: each holds a result in memory."""
_READING: Final = 20
"""Of a hundred: how much of a scan is told as done once all files are read."""
_PAUSE: Final = 0.1
_ASKED_FOR: Final = 5.0
"""Seconds for the client to say which folders are open."""


Texts: TypeAlias = "dict[str, Callable[[], str]]"


def report_texts(render: Callable[[Any, str], str], result: object) -> Texts:
    """A result as a page and as JSON, by a function that is given the format."""
    return {kind: partial(render, result, kind) for kind in ("html", "json")}


class Refused(ToolError):
    """What cannot be done, as a person or a program is told."""

    def __init__(self, error: NpuifyError) -> None:
        super().__init__(str(error))
        self.error = error


class Report(NamedTuple):
    """A report that is too long for an answer; it is made when it is asked for."""

    title: str
    texts: Texts
    """By kind: ``html``, ``json`` or ``text``."""


class Ran(NamedTuple):
    """A program that ran beside the server."""

    code: int | None
    """None: it was ended since its time was over."""
    output: str


class Desk:
    """What the tools work with.

    Args:
        roots: the folders whose files may be read and written; none: those that the client has open, else the current
            folder.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._named = tuple(root.resolve() for root in roots)
        self._reports: OrderedDict[str, Report] = OrderedDict()
        self._one = anyio.CapacityLimiter(1)

    # --- folders ---

    async def inside(self, ctx: Context, path: str) -> Path:
        """A path that lies in one of the roots, links followed; what is relative begins in the first of them.

        Raises:
            Refused: it lies elsewhere.
        """
        opened = await _opened_by_client(ctx)
        own = self._named or (() if opened else (Path.cwd().resolve(),))
        begins = next((one for one in opened if _lies_in(one, own)), None) if own else next(iter(opened), None)
        place = ((begins or own[0]) / Path(path).expanduser()).resolve()
        for allowed, whose in ((own, "npuify mcp was started for"), (opened, "the client has open")):
            if allowed and not _lies_in(place, allowed):
                folders = ", ".join(map(str, allowed))
                raise Refused(
                    NpuifyError(
                        phrase("lies outside of the folders that {whose}: {folders}", whose=whose, folders=folders),
                        advice="name a path inside of them",
                        file=path,
                    )
                )
        return place

    def options(self, place: Path, **said: object) -> Options:
        """The project's own settings, and what was said, where it was; nothing of them has files written.

        Raises:
            Refused: the settings are wrong.
        """
        try:
            options = options_for(place, jobs=0)
        except NpuifyError as error:
            raise Refused(error) from error
        wanted = {name: value for name, value in said.items() if value}
        return msgspec.structs.replace(options, vendor_reports=None, **wanted)

    # --- work ---

    async def call(self, function: Callable[[], T]) -> T:
        """A function in a thread, one at a time; what is wrong is told to the client as such.

        Raises:
            Refused: it raised a ``NpuifyError``.
        """
        try:
            return await anyio.to_thread.run_sync(function, limiter=self._one)
        except NpuifyError as error:
            raise Refused(error) from error

    async def told(self, ctx: Context, function: Callable[..., T], *, prepares: bool = False) -> T:
        """A function that tells its progress, which also ends it where the client cancels.

        Args:
            ctx: of the call.
            function: takes ``progress``, and with ``prepares`` also ``preparing``.
            prepares: whether it does.
        """

        def tell(first: int, last: int, done: int, total: int) -> None:
            anyio.from_thread.check_cancelled()
            # One step in a hundred is enough to be seen.
            if total and (done == total or done % max(total // 100, 1) == 0):
                share = first + (last - first) * done / total
                anyio.from_thread.run(
                    ctx.report_progress, share, 100, phrase("{done} of {total} files", done=done, total=total)
                )

        begins = _READING if prepares else 0
        phases = {"progress": partial(tell, begins, 100)}
        if prepares:
            phases["preparing"] = partial(tell, 0, _READING)
        return await self.call(partial(function, **phases))

    async def beside(self, ctx: Context, arguments: Sequence[str], folder: Path, seconds: float) -> Ran:
        """npuify as a program of its own; its lines are told as progress. It ends where the client cancels.

        Raises:
            Refused: it cannot be started.
        """
        try:
            program = Watched(npuify_command(arguments), folder, {**os.environ, **PLAIN})
        except OSError as error:
            raise Refused(NpuifyError(phrase("cannot be started: {error}", error=error))) from error
        position, lines = 0, 0
        try:
            with anyio.move_on_after(seconds):
                while True:
                    text, position, code = program.after(position)
                    if text.strip():
                        lines += text.count("\n") or 1
                        await ctx.report_progress(lines, None, text.strip().rpartition("\n")[2][:200])
                    if code is not None:
                        return Ran(code, program.after(0)[0])
                    await anyio.sleep(_PAUSE)
            return Ran(None, program.after(0)[0])
        finally:
            program.stop()

    # --- answers ---

    def answer(self, kind: type[Any], found: Any, report: Report | None = None) -> CallToolResult:
        """An answer, with links to a longer report.

        Args:
            kind: the type of the answer, one of :mod:`npuify.mcp.answers`.
            found: the answer.
            report: what can be asked for; None: nothing.
        """
        return self.answer_data(TypeAdapter(kind).dump_python(found), report)

    def answer_lines(self, kind: type[Known], found: Known) -> CallToolResult:
        """What is known, with a link to all its lines where they are too many for an answer."""
        data: Any = TypeAdapter(kind).dump_python(found)
        whole = "\n".join(found.text) + "\n"
        return self.answer_data(data, Report("explanation", {"text": lambda: whole}) if is_long(data) else None)

    def answer_data(self, found: dict[str, Any], report: Report | None = None) -> CallToolResult:
        """As :meth:`answer`, of plain data. What is too long for an answer is cut: see :data:`MORE`."""
        told = _printable(found)
        if is_long(told):
            told, lost = shortened(told)
            told[MORE] = lost
        text = TextContent(type="text", text=msgspec.json.encode(told).decode())
        links = self._links(report) if report is not None else []
        return CallToolResult(content=[text, *links], structured_content=told)

    def report(self, kind: str, name: str) -> str:
        """A report that an answer links to.

        Raises:
            KeyError: it is not there, or no longer.
        """
        return printable(self._reports[name].texts[kind]())

    def _links(self, report: Report) -> list[ResourceLink]:
        name = secrets.token_hex(6)
        self._reports[name] = report
        while len(self._reports) > _KEPT:
            self._reports.popitem(last=False)
        return [
            ResourceLink(
                uri=f"{REPORTS}/{kind}/{name}",
                name=f"{report.title}.{'txt' if kind == 'text' else kind}",
                title=report.title,
                mime_type=KINDS[kind],
            )
            for kind in report.texts
        ]


def told_error(error: ToolError) -> CallToolResult:
    """What went wrong, for a model as text and for a program as data."""
    refused = error if isinstance(error, Refused) else error.__cause__
    one = refused.error if isinstance(refused, Refused) else NpuifyError(str(error))
    if isinstance(refused, ValidationError):
        wrong = (f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in refused.errors())
        one = NpuifyError("; ".join(wrong), advice="the tool's schema says what it takes")
    about = {"message": one.message, "advice": one.advice, "file": one.file, "line": one.line}
    text = printable(str(one))
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content={"error": _printable(about)}, is_error=True
    )


async def _opened_by_client(ctx: Context) -> tuple[Path, ...]:
    """The folders that the client has open; empty where it does not say."""
    session = ctx.request_context.session
    capabilities = session.client_capabilities
    if capabilities is None or capabilities.roots is None or not session.can_send_request:
        return ()
    told = None
    with warnings.catch_warnings(), anyio.move_on_after(_ASKED_FOR):
        # The newest protocol has no such question; clients that speak an older one are asked.
        warnings.simplefilter("ignore")
        try:
            told = await session.list_roots()
        except MCPError:
            return ()
    places = [urlsplit(str(one.uri)) for one in told.roots] if told is not None else []
    return tuple(Path(url2pathname(unquote(one.path))).resolve() for one in places if one.scheme == "file")


def _lies_in(place: Path, folders: Sequence[Path]) -> bool:
    return any(place.is_relative_to(one) for one in folders)


def _printable(value: Any) -> Any:
    """Plain data with what UTF-8 cannot hold shown: names of files are bytes."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(one) for one in value]
    return value
