"""The server's answers over HTTP: the page's own files, questions as JSON, and progress as server-sent events."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from npuify.language import phrase, speaking
from npuify.model import NpuifyError
from npuify.studio.guard import Guard, Keys
from npuify.studio.jobs import told_error
from npuify.studio.questions import QUESTIONS, Asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from npuify.studio.state import State

_STATIC: Final = Path(__file__).parent / "static"
_LARGEST: Final = 64_000_000
"""Bytes of a question: a log that is dropped in."""
_PAUSE: Final = 0.1
"""Seconds between two looks at how work stands."""


def app_for(state: State, keys: Keys, port: int) -> Guard:
    """The server's application.

    Args:
        state: what it holds.
        keys: what its page has to know.
        port: that it listens on.
    """

    async def ask(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            asked = await _asked(request)
            if name == "enter":
                token = keys.exchange(asked.ticket)
                if token is None:
                    raise NpuifyError("this address was used already, or is too old", advice="start npuify studio anew")
                return _json({"token": token})
            if name == "progress":
                return _events(_progress(state, asked.id))
            if name == "output":
                return _events(_output(state, asked))
            question = QUESTIONS.get(name)
            if question is None:
                return _json({"error": "there is no such question", "advice": ""}, 404)
            with speaking(asked.language):
                return _json(await anyio.to_thread.run_sync(partial(question, state, asked)))
        except NpuifyError as error:
            return _json(told_error(error), 400)

    routes = [
        Route("/api/{name}", ask, methods=["POST"]),
        Mount("/", StaticFiles(directory=_STATIC, html=True)),
    ]
    return Guard(Starlette(routes=routes), port, keys)


async def _asked(request: Request) -> Asked:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST:
            raise NpuifyError(
                phrase("more than {value} MB at once", value=_LARGEST // 1000000),
                advice="name the file on this machine",
            )
    try:
        # Names of files may hold bytes that are no text: msgspec would refuse them.
        return msgspec.convert(json.loads(body or b"{}"), Asked)
    except (ValueError, RecursionError) as error:
        raise NpuifyError(phrase("the question cannot be read: {error}", error=error)) from None


def _json(value: Any, status: int = 200) -> Response:
    """With nothing but ASCII, so that what is no text can be told as well."""
    return Response(json.dumps(value, separators=(",", ":")), status, media_type="application/json")


def _events(events: AsyncIterator[dict[str, Any]]) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        async for event in events:
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def _progress(state: State, name: str) -> AsyncIterator[dict[str, Any]]:
    """How the opening of a project stands, whenever that changes, until it ends."""
    try:
        job = state.opened(name).job
    except NpuifyError as error:
        yield {"state": "failed", **told_error(error)}
        return
    last: dict[str, Any] = {}
    while True:
        now = job.told()
        if now != last:
            yield now
        if now["state"] != "running":
            return
        last = now
        await anyio.sleep(_PAUSE)


async def _output(state: State, asked: Asked) -> AsyncIterator[dict[str, Any]]:
    """What a command writes, as it comes, and its exit code."""
    try:
        command = state.running(asked.id)
    except NpuifyError as error:
        yield {"text": "", "code": 2, **told_error(error)}
        return
    position = asked.position
    while True:
        text, position, code = command.after(position)
        if text or code is not None:
            yield {"text": text, "code": code}
        if code is not None:
            return
        await anyio.sleep(_PAUSE)
