"""Start the server on this machine, and the browser."""

from __future__ import annotations

import socket
import sys
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.studio.app import app_for
from npuify.studio.guard import Keys
from npuify.studio.state import State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def serve(start: Path | None, port: int, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until the user ends it.

    Args:
        start: the project that the page offers first; None: none.
        port: to listen on, of the loopback address alone; 0: any that is free.
        browser: whether to open the browser.
        say: tells the user the address.

    Raises:
        NpuifyError: the port is taken.
    """
    with _listening(port) as listening:
        number = listening.getsockname()[1]
        keys = Keys()
        state = State(start)
        say(f"http://127.0.0.1:{number}/#token={keys.token}")
        if browser:
            webbrowser.open(f"http://127.0.0.1:{number}/#ticket={keys.ticket}")
        settings = uvicorn.Config(
            app_for(state, keys, number),
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        try:
            uvicorn.Server(settings).run(sockets=[listening])
        finally:
            state.end()


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(128)
    except (OSError, OverflowError) as error:
        made.close()
        raise NpuifyError(
            phrase("port {port} cannot be used: {error}", port=port, error=error), advice="choose another with --port"
        ) from None
    return made
