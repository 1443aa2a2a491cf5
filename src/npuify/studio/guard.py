"""Who may ask: only the page that this server sent, in the browser of the user who started it.

A page of another site can send requests to this machine, and by DNS rebinding even under a name of its own. So the
``Host`` has to be this machine's loopback address, an ``Origin`` has to be ours, and whatever is asked needs a token
that only the page has: it is no cookie, which other servers on the machine would be sent as well.
"""

from __future__ import annotations

import hmac
import secrets
import time
from typing import TYPE_CHECKING, Final

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN: Final = "x-npuify-token"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_TICKET_SECONDS: Final = 120.0


class Keys:
    """The token, and a ticket that is exchanged for it once: the address of a page is seen by other users of a machine
    in the list of processes when the browser starts."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.ticket = secrets.token_urlsafe(32)
        self._until = time.monotonic() + _TICKET_SECONDS

    def fits(self, token: str) -> bool:
        """Whether it is the token."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def exchange(self, ticket: str) -> str | None:
        """The token for the ticket, the first time, and soon after the start."""
        fits = hmac.compare_digest(ticket.encode("utf-8", "replace"), self.ticket.encode()) and bool(self.ticket)
        if not fits or time.monotonic() > self._until:
            return None
        self.ticket = ""
        return self.token


class Guard:
    """Refuses what our own page would not ask, and puts the headers on every answer.

    Args:
        app: what answers the rest.
        port: that this server listens on.
        keys: what is needed below ``/api/``.
    """

    def __init__(self, app: ASGIApp, port: int, keys: Keys) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        why = self._refusal(scope)
        if why:
            # A connection that is closed with something unread is reset, and its client may miss the answer.
            await receive()
            status = 401 if why.startswith("token") else 403
            await JSONResponse({"error": why}, status)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> str:
        """Why a request is refused; empty where it is not."""
        said: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            said.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = said.get("host", [])
        if len(host) != 1 or host[0] not in self._hosts:
            return "host: only this machine's own address is answered"
        if any(one != f"http://{host[0]}" for one in said.get("origin", [])):
            return "origin: another page asks"
        if any(one not in ("same-origin", "none") for one in said.get("sec-fetch-site", [])):
            return "origin: another site asks"
        path = scope["path"]
        if not path.startswith("/api/"):
            return "" if scope["method"] in ("GET", "HEAD") else "method: these are only read"
        if scope["method"] != "POST" or said.get("content-type", [""])[0].partition(";")[0] != "application/json":
            return "method: questions are posted as JSON"
        if path != "/api/enter" and not any(self._keys.fits(one) for one in said.get(TOKEN, [])):
            return "token: open the address that npuify studio has written"
        return ""
