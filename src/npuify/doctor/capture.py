"""A machine written down in one JSON file: everything that the probes asked, and what they were told.

Made by ``npuify doctor --capture FILE`` and judged elsewhere by ``--from FILE``. Secrets, user names and what nobody
needs to know are left out while it is made: see :mod:`npuify.doctor.redact`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from npuify.language import phrase
from npuify.model import NpuifyError

from .machine import Answer, Captured, Node, Sight
from .redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT: Final = "npuify-machine"


class Capture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a capture file holds. Paths are absolute."""

    format: Literal["npuify-machine"] = "npuify-machine"
    version: Literal[1] = 1
    tool: str = ""
    """The version of npuify that made it; empty where a person wrote it."""
    taken: str = ""
    """When, in UTC, as ISO 8601."""
    description: str = ""
    origin: str = ""
    """Where the answers come from: a real machine, or which parts are reconstructed, and after what."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Names in folders, where they do not follow from the other paths."""
    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    """Devices, and what else was asked for without being read."""
    links: dict[str, str] = msgspec.field(default_factory=dict)
    commands: dict[str, Answer] = msgspec.field(default_factory=dict)
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    def machine(self) -> Captured:
        """The machine, to ask again."""
        return Captured(
            files=self.files,
            folders=self.folders,
            nodes=self.nodes,
            links=self.links,
            commands=self.commands,
            environment=self.environment,
        )


def read_capture(path: Path) -> Capture:
    """The capture in ``path``.

    Raises:
        NpuifyError: it cannot be read, or is not a capture.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(path)) from error
    try:
        return msgspec.json.decode(data, type=Capture, strict=False)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise NpuifyError(
            phrase("is not a capture of a machine: {error}", error=error),
            file=str(path),
            advice="create one on the machine itself with: npuify doctor --capture FILE",
        ) from error


def encode_capture(capture: Capture) -> bytes:
    """``capture`` as it is written to a file: JSON that a person can read before sending it."""
    return msgspec.json.format(msgspec.json.encode(capture), indent=1) + b"\n"


ASKED: Final = (
    "ASCEND",
    "ATB_",
    "CANN",
    "CUDA_",
    "HCCL_",
    "HOME",
    "HOSTNAME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LOCAL_RANK",
    "MASTER_",
    "NPU_",
    "CM_",
    "PATH",
    "PYTHONPATH",
    "PYTORCH_",
    "RANK",
    "TASK_QUEUE_ENABLE",
    "TBE_",
    "TOOLCHAIN_HOME",
    "TORCH_",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "WORLD_SIZE",
    "GLOO_",
)
"""Beginnings of the environment variables that a check looks at; no other leaves the machine."""


def _file(clean: Redactor, path: str, text: str) -> str:
    return clean.names_of_hosts(text) if path in {"/etc/hostname", "/etc/hosts"} else clean.text(text)


class Recorder:
    """Passes questions on to ``machine`` and writes the answers down."""

    def __init__(self, machine: Sight) -> None:
        self.environment: Mapping[str, str] = machine.environment
        self._machine = machine
        self._files: dict[str, str] = {}
        self._folders: dict[str, tuple[str, ...]] = {}
        self._nodes: dict[str, Node] = {}
        self._links: dict[str, str] = {}
        self._commands: dict[str, Answer] = {}

    @property
    def has_files(self) -> bool:
        """As the machine."""
        return self._machine.has_files

    def _follow(self, path: str) -> str:
        real = self._machine.real(path)
        if real != path:
            self._links[path] = real
        return real

    def read(self, path: str) -> str | None:
        """As the machine; kept under the real path."""
        text = self._machine.read(path)
        if text is not None:
            self._files[self._follow(path)] = text
        return text

    def entries(self, path: str) -> tuple[str, ...] | None:
        """As the machine."""
        names = self._machine.entries(path)
        if names is not None:
            self._folders[self._follow(path)] = names
        return names

    def node(self, path: str) -> Node | None:
        """As the machine."""
        node = self._machine.node(path)
        if node is not None:
            self._nodes[self._follow(path)] = node
        return node

    def real(self, path: str) -> str:
        """As the machine."""
        return self._follow(path)

    def run(self, name: str, command: Sequence[str]) -> Answer:
        """As the machine."""
        answer = self._machine.run(name, command)
        if not answer.missing:
            self._commands[name] = answer
        return answer

    def capture(self, *, tool: str, taken: str) -> Capture:
        """Everything that was asked so far, with secrets and names taken out."""
        clean = Redactor(self.environment, self._files.get("/etc/hostname", "").strip())
        kept = {name: value for name, value in self.environment.items() if name.startswith(ASKED)}
        return Capture(
            tool=tool,
            taken=taken,
            files={clean.text(path): _file(clean, path, text) for path, text in self._files.items()},
            folders={clean.text(path): tuple(map(clean.text, names)) for path, names in self._folders.items()},
            nodes={
                clean.text(path): msgspec.structs.replace(
                    node, owner=clean.account(node.owner), group=clean.account(node.group)
                )
                for path, node in self._nodes.items()
            },
            links={clean.text(path): clean.text(target) for path, target in self._links.items()},
            commands={
                name: Answer(answer.code, clean.answer(name, answer.stdout), clean.answer(name, answer.stderr))
                for name, answer in self._commands.items()
            },
            environment={name: clean.variable(name, value) for name, value in kept.items()},
        )
