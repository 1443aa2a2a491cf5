"""Where the ranks of a simulated job meet: each posts its part of a collective, and gets all parts when all have come.

What is computed from the parts is computed by each rank, in the order of ranks, so that all get the same bits.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from typing import Any, Final, NamedTuple

_HEAD: Final = struct.Struct("!II")
PATIENCE: Final = 60.0
"""Seconds without progress after which ranks that wait for different things are told so."""


class _Post(NamedTuple):
    rank: int
    number: int
    what: dict[str, Any]
    body: bytes
    connection: socket.socket


class Hub:
    """Listens on this machine only, for as long as it is open."""

    def __init__(self, size: int = 0, patience: float = PATIENCE) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._patience = patience
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._waiting: dict[str, dict[int, deque[_Post]]] = {}
        self._members: dict[str, list[int]] = {}
        self._roots: dict[str, int | None] = {}
        self._connected: dict[int, int] = {}
        self._gone: set[int] = set()
        self._progress = time.monotonic()
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """End it: ranks that still wait are told that it has ended."""
        self._open = False
        self._listener.close()

    def ended(self, rank: int) -> None:
        """A rank's process has ended: whoever waits for it is told."""
        with self._lock:
            self._gone.add(rank)
            self._refuse_for_gone()

    def _accept(self) -> None:
        while self._open:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        rank = -1
        try:
            while True:
                head, body = _receive(connection)
                if "hello" in head:
                    rank = int(head["hello"])
                    with self._lock:
                        self._connected[rank] = self._connected.get(rank, 0) + 1
                        self._gone.discard(rank)
                        self._progress = time.monotonic()
                else:
                    self._post(rank, head, body, connection)
        except (OSError, ValueError, KeyError, ConnectionError):
            if rank >= 0:
                with self._lock:
                    self._connected[rank] -= 1
                    for queues in self._waiting.values():
                        kept = deque(post for post in queues.get(rank, ()) if post.connection is not connection)
                        queues[rank] = kept
                    if self._connected[rank] <= 0:
                        self._gone.add(rank)
                        self._refuse_for_gone()

    def _post(self, rank: int, head: dict[str, Any], body: bytes, connection: socket.socket) -> None:
        key = str(head["key"])
        with self._lock:
            self._members[key] = [int(one) for one in head["members"]]
            self._roots[key] = head.get("root")
            queues = self._waiting.setdefault(key, {})
            queues.setdefault(rank, deque()).append(_Post(rank, int(head["ask"]), head["what"], body, connection))
            self._progress = time.monotonic()
            self._match(key)
            self._refuse_for_gone()

    def _match(self, key: str) -> None:
        members, queues = self._members[key], self._waiting[key]
        while all(queues.get(rank) for rank in members):
            posts = [queues[rank].popleft() for rank in members]
            self._progress = time.monotonic()
            if any(post.what != posts[0].what for post in posts):
                different = "; ".join(f"rank {post.rank}: {_shown(post.what)}" for post in posts)
                self._refuse(posts, f"the ranks do not give a collective the same: {different}")
                continue
            root = self._roots[key]
            parts = [posts[root].body] if root is not None else [post.body for post in posts]
            for post in posts:
                self._answer(post, {"lengths": [len(part) for part in parts]}, b"".join(parts))

    def _refuse_for_gone(self) -> None:
        for key, queues in self._waiting.items():
            lacking = [rank for rank in self._members[key] if rank in self._gone and not queues.get(rank)]
            if lacking:
                posts = [post for queue in queues.values() for post in queue]
                for queue in queues.values():
                    queue.clear()
                who = " and ".join(f"rank {rank}" for rank in lacking)
                self._refuse(
                    posts,
                    f"{who} ended without this collective ({_name(key)}), for which the others would wait for ever",
                )

    def _watch(self) -> None:
        while self._open:
            time.sleep(min(1.0, self._patience / 4))
            with self._lock:
                if time.monotonic() - self._progress < self._patience:
                    continue
                waiting = {key: queues for key, queues in self._waiting.items() if any(queues.values())}
                if not waiting:
                    continue
                told = []
                for key, queues in sorted(waiting.items()):
                    ranks = ", ".join(str(rank) for rank, queue in sorted(queues.items()) if queue)
                    told.append(f"rank {ranks} waits in {_name(key)}")
                for queues in waiting.values():
                    posts = [post for queue in queues.values() for post in queue]
                    for queue in queues.values():
                        queue.clear()
                    self._refuse(
                        posts,
                        f"nothing has gone on for {self._patience:g} s: {'; '.join(told)}. "
                        "Every rank has to build the same graph and run the same steps",
                    )

    def _refuse(self, posts: list[_Post], text: str) -> None:
        for post in posts:
            self._answer(post, {"error": text}, b"")

    def _answer(self, post: _Post, head: dict[str, Any], body: bytes) -> None:
        text = json.dumps({"answer": post.number, **head}).encode()
        with self._sending:
            try:
                post.connection.sendall(_HEAD.pack(len(text), len(body)) + text + body)
            except OSError:
                return


def _receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    head_size, body_size = _HEAD.unpack(_exactly(connection, _HEAD.size))
    head = json.loads(_exactly(connection, head_size))
    return head, _exactly(connection, body_size)


def _exactly(connection: socket.socket, number: int) -> bytes:
    parts = []
    while number:
        part = connection.recv(min(number, 1 << 20))
        if not part:
            raise ConnectionError
        parts.append(part)
        number -= len(part)
    return b"".join(parts)


def _name(key: str) -> str:
    graph, _, rest = key.rpartition("/")
    number, _, operation = rest.partition(":")
    return f"{operation} {number} of {graph}"


def _shown(what: dict[str, Any]) -> str:
    tensors = ", ".join(f"{dtype}{shape}" for dtype, shape in what.get("tensors", [])[:3])
    more = len(what.get("tensors", [])) - 3
    return f"{what.get('operation')} of {tensors}{f' and {more} more' if more > 0 else ''}"
