"""A server of the page in a thread, and who asks it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import uvicorn

from npuify.studio.app import app_for
from npuify.studio.guard import Keys
from npuify.studio.serve import _listening
from npuify.studio.state import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Served:
    """A server that runs."""

    def __init__(self, state: State, keys: Keys, port: int) -> None:
        self.state, self.keys, self.port = state, keys, port
        self.address = f"http://127.0.0.1:{port}/#token={keys.token}"

    def headers(self, **more: str | None) -> dict[str, str]:
        """Those that our page sends, with others in their place; None: without."""
        usual = {
            "host": f"127.0.0.1:{self.port}",
            "origin": f"http://127.0.0.1:{self.port}",
            "content-type": "application/json",
            "x-npuify-token": self.keys.token,
        }
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {name: value for name, value in {**usual, **named}.items() if value is not None}

    def raw(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and content."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in (self.headers() if headers is None else headers).items():
            connection.putheader(name, value)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        try:
            content = answer.read()
        except ConnectionResetError:
            content = b""  # refused before the request was read to its end: the rest of both may be lost
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def ask(self, name: str, **body: Any) -> Any:
        """What a question is answered; an error as its text."""
        _, _, content = self.raw("POST", f"/api/{name}", json.dumps(body).encode())
        return json.loads(content)

    def events(self, name: str, **body: Any) -> list[Any]:
        """All that is told, until the end."""
        _, headers, content = self.raw("POST", f"/api/{name}", json.dumps(body).encode())
        assert headers["content-type"].startswith("text/event-stream")
        return [json.loads(one.removeprefix(b"data: ")) for one in content.split(b"\n\n") if one]

    def opened(self, path: Path, **options: Any) -> str:
        """A review that is ready."""
        found = self.ask("open", path=str(path), options={"cache": False, "jobs": 1, **options})
        assert self.events("progress", id=found["id"])[-1]["state"] == "ready", found
        name: str = found["id"]
        return name


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """A server, whose list of projects opened last is in ``folder``."""
    before = os.environ.get("NPUIFY_STATE_DIR")
    os.environ["NPUIFY_STATE_DIR"] = str(folder)
    listening = _listening(0)
    keys, state = Keys(), State()
    port = listening.getsockname()[1]
    config = uvicorn.Config(app_for(state, keys, port), log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Served(state, keys, port)
    finally:
        server.should_exit = True
        thread.join(20)
        state.end()
        listening.close()
        if before is None:
            del os.environ["NPUIFY_STATE_DIR"]
        else:
            os.environ["NPUIFY_STATE_DIR"] = before
