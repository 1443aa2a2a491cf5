"""The ranks of a job: who this process is, as the environment says, and the way to the others.

How the environment is read, and what is refused, is the adapter's:
hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/util.py,
tf_adapter_2.x/python/npu_device/npu_device.py.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from typing import Any

from npuify.simulator.tensorflow.inside import journal

HUB = "NPUIFY_SIMULATE_HUB"
WORLD = "hccl_world_group"
_HEAD = struct.Struct("!II")

_groups: dict[str, list[int]] = {}
_started = False
_global: dict[str, Any] | None = None


class CollectiveError(RuntimeError):
    """The ranks do not do the same. On cards the job would hang, or end with an error of HCCL's."""


def get_ranksize() -> str:
    """How many ranks there are, as text: the adapter gives what stands in the environment."""
    if os.getenv("CM_WORKER_SIZE") is not None and os.getenv("RANK_SIZE") is not None:
        raise ValueError("RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time")
    size = os.getenv("RANK_SIZE")
    return size if size is not None else os.getenv("CM_WORKER_SIZE", "1")


def size() -> int:
    """The number of ranks."""
    written = str(get_ranksize())
    return int(written) if written.isdigit() and int(written) > 0 else 1


def start() -> None:
    """The collective communication is up: ranks can be asked for."""
    global _started
    if size() > 1:
        table, chief = os.getenv("RANK_TABLE_FILE"), os.getenv("CM_CHIEF_IP")
        if table is not None and chief is not None:
            raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time.")
        if table is None and chief is None:
            raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured.")
        if table is not None and not os.getenv("RANK_ID"):
            raise RuntimeError("You must specify rank id by set env RANK_ID in distribution mode")
    _started = True


def stop() -> None:
    """The communication has been shut down."""
    global _started
    _started = False


def _asked(what: str) -> None:
    if not _started:
        raise RuntimeError(
            f"get {what} error: the NPU has not been initialized; init_resource() or npu_device.open() comes first"
        )


def get_rank_id(group: str = WORLD) -> int:
    """The rank of this process in a group."""
    _asked("rank id")
    members = _members(group)
    own = journal.rank()
    return members.index(own) if own in members else -1


def get_rank_size(group: str = WORLD) -> int:
    """The number of ranks of a group."""
    _asked("rank size")
    return len(_members(group))


def get_local_rank_id(group: str = WORLD) -> int:
    """The rank within its server. All simulated cards are in one."""
    _asked("local rank id")
    return get_rank_id(group)


def get_local_rank_size(group: str = WORLD) -> int:
    """The ranks of a group that are in this server."""
    _asked("local rank size")
    return len(_members(group))


def create_group(group: str, rank_num: int, rank_ids: list[int]) -> None:
    """Make a group of some ranks."""
    _asked("group")
    if group == WORLD or group in _groups or rank_num != len(rank_ids) or set(rank_ids) - set(range(size())):
        raise ValueError(
            f"create group {group} error: it exists, or its ranks {rank_ids} are no {rank_num} ranks of this job"
        )
    _groups[group] = list(rank_ids)


def destroy_group(group: str) -> None:
    """Take a group away again."""
    if group not in _groups:
        raise ValueError(f"destroy group {group} error: there is no such group")
    del _groups[group]


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank in the job of a rank of a group."""
    return _members(group)[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in a group of a rank of the job."""
    return _members(group).index(world_rank_id)


def set_split_strategy_by_idx(idxList: list[int], group: str = WORLD) -> None:  # noqa: N803 - as there
    """How gradients are fused: recorded, it does not change what is computed."""
    journal.note("split_strategy", by="index", values=list(idxList))


def set_split_strategy_by_size(dataSizeList: list[float], group: str = WORLD) -> None:  # noqa: N803 - as there
    """As :func:`set_split_strategy_by_idx`."""
    journal.note("split_strategy", by="size", values=list(dataSizeList))


def _members(group: str) -> list[int]:
    if group == WORLD:
        return list(range(size()))
    if group not in _groups:
        raise ValueError(f"there is no group {group}; create_group() makes one")
    return _groups[group]


class _Link:
    """The connection to the hub, on which several threads wait for answers."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._sending = threading.Lock()
        self._waiting: dict[int, list[Any]] = {}
        self._changed = threading.Condition()
        self._number = 0
        self._ended = False
        self._send({"hello": journal.rank(), "size": size(), "pid": os.getpid()}, b"")
        threading.Thread(target=self._read, daemon=True).start()

    def _send(self, head: dict[str, Any], body: bytes) -> None:
        text = json.dumps(head).encode()
        with self._sending:
            self._socket.sendall(_HEAD.pack(len(text), len(body)) + text + body)

    def _exactly(self, number: int) -> bytes:
        parts = []
        while number:
            part = self._socket.recv(min(number, 1 << 20))
            if not part:
                raise ConnectionError
            parts.append(part)
            number -= len(part)
        return b"".join(parts)

    def _read(self) -> None:
        try:
            while True:
                head_size, body_size = _HEAD.unpack(self._exactly(_HEAD.size))
                head = json.loads(self._exactly(head_size))
                body = self._exactly(body_size)
                with self._changed:
                    self._waiting[head["answer"]] = [head, body]
                    self._changed.notify_all()
        except (OSError, ValueError):
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def ask(self, head: dict[str, Any], body: bytes) -> list[bytes]:
        """Post a part of a collective, and wait for all parts.

        Raises:
            CollectiveError: the others do something else, or are gone.
        """
        with self._changed:
            self._number += 1
            number = self._number
        self._send({**head, "ask": number}, body)
        with self._changed:
            while number not in self._waiting and not self._ended:
                self._changed.wait(1.0)
            if number not in self._waiting:
                raise CollectiveError("npuify simulate has ended")
            answer, parts = self._waiting.pop(number)
        if "error" in answer:
            raise CollectiveError(answer["error"])
        found, start_ = [], 0
        for length in answer["lengths"]:
            found.append(parts[start_ : start_ + length])
            start_ += length
        return found


_link: _Link | None = None
_linking = threading.Lock()


def exchange(key: str, what: dict[str, Any], body: bytes, group: str, root: int | None = None) -> list[bytes]:
    """What every rank of a group posts for a collective, in the order of ranks.

    Args:
        key: names the collective; the same on all ranks.
        what: has to be the same on all ranks: the operation, types and shapes.
        body: this rank's part.
        group: who takes part.
        root: the rank, in the group, whose part alone is wanted.

    Raises:
        CollectiveError: the ranks do not do the same.
    """
    global _link
    members = _members(group)
    if len(members) == 1:
        return [body]
    if not os.environ.get(HUB):
        raise CollectiveError("several ranks have to be started below one npuify simulate, which connects them")
    with _linking:
        if _link is None:
            _link = _Link(os.environ[HUB])
    return _link.ask({"key": key, "what": what, "members": members, "root": root}, body)
