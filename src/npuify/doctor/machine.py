"""How probes see a machine: text files, folders, devices and answers of commands, whether live or captured.

A probe asks only these questions, so that a machine that was captured elsewhere, or written down for a test, answers as
the real one did.
"""

from __future__ import annotations

import os
import posixpath
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LARGEST: Final = 1 << 20
"""Bytes of a file that are read; version files and rank tables are far smaller."""

PATIENCE: Final = 30.0
"""Seconds that a command may take. ``npu-smi`` on a broken driver may never answer."""

TIMED_OUT: Final = 124
NOT_FOUND: Final = 127


class Answer(msgspec.Struct, frozen=True):
    """What a command said. ``code`` is 127 where there is no such command and 124 where it took too long."""

    code: int
    stdout: str = ""
    stderr: str = ""

    @property
    def text(self) -> str:
        """Both streams, the ordinary one first."""
        return self.stdout + self.stderr

    @property
    def missing(self) -> bool:
        """Whether there is no such command."""
        return self.code == NOT_FOUND


class Node(msgspec.Struct, frozen=True):
    """What is known of one path without reading it."""

    kind: str
    """``file``, ``folder``, ``device`` or ``other``."""
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"


class Sight(Protocol):
    """The questions that a probe may ask. Paths are absolute, with forward slashes."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of the shell to judge."""

    @property
    def has_files(self) -> bool:
        """Whether it holds anything of a file system: where it does not, that a file is missing says nothing."""

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none, or it may not be read."""

    def entries(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder, in order; None where there is none."""

    def node(self, path: str) -> Node | None:
        """What ``path`` is, links followed; None where nothing is there."""

    def real(self, path: str) -> str:
        """``path`` with all links followed; unchanged where nothing is there."""

    def run(self, name: str, command: Sequence[str]) -> Answer:
        """What ``command`` answers. ``name`` is how a capture keeps the answer: the command as a person writes it."""


class Here:
    """This machine, or another one's file system below ``root``.

    Args:
        root: the folder that stands for ``/``. Commands run only where it is ``/``, since they would answer for the
            wrong machine.
        environment: of the shell to judge.
        patience: seconds a command may take.
    """

    def __init__(
        self, root: Path | str = "/", environment: Mapping[str, str] | None = None, patience: float = PATIENCE
    ) -> None:
        self.root = Path(root)
        self.environment = dict(os.environ if environment is None else environment)
        self._patience = patience

    def _below(self, path: str) -> Path:
        """``path`` below the root. A link that leads to an absolute path stays below the root, as in a chroot."""
        if self.root == Path("/"):
            return Path(path)
        return self.root / self._resolved(path).lstrip("/")

    def _resolved(self, path: str, depth: int = 0) -> str:
        done = "/"
        parts = [part for part in posixpath.normpath(path).split("/") if part]
        for index, part in enumerate(parts):
            done = posixpath.join(done, part)
            place = self.root / done.lstrip("/")
            if place.is_symlink() and depth < 40:
                target = posixpath.join(posixpath.dirname(done), str(place.readlink()))
                return self._resolved(posixpath.join(target, *parts[index + 1 :]), depth + 1)
        return posixpath.normpath(done)

    @property
    def has_files(self) -> bool:
        """Always: what is not in a file system is not there."""
        return True

    def read(self, path: str) -> str | None:
        """The first ``LARGEST`` bytes of a regular file, as UTF-8 with what is not text replaced."""
        place = self._below(path)
        try:
            if not place.is_file():
                return None
            with place.open("rb") as file:
                return file.read(LARGEST).decode("utf-8", "replace")
        except OSError:
            return None

    def entries(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder."""
        try:
            return tuple(sorted(entry.name for entry in self._below(path).iterdir()))
        except OSError:
            return None

    def node(self, path: str) -> Node | None:
        """Kind, mode, and names (numbers where they have none) of owner and group."""
        try:
            found = self._below(path).stat()
        except OSError:
            return None
        kind = "other"
        if stat.S_ISREG(found.st_mode):
            kind = "file"
        elif stat.S_ISDIR(found.st_mode):
            kind = "folder"
        elif stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
            kind = "device"
        return Node(kind, stat.S_IMODE(found.st_mode), _user(found.st_uid), _group(found.st_gid))

    def real(self, path: str) -> str:
        """``path`` with links followed."""
        return os.path.realpath(path) if self.root == Path("/") else self._resolved(path)

    def run(self, name: str, command: Sequence[str]) -> Answer:
        """Run a command that only asks, with no input and a time limit."""
        if self.root != Path("/"):
            return Answer(NOT_FOUND)
        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._patience,
                env=dict(self.environment),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(TIMED_OUT)
        except OSError:
            return Answer(NOT_FOUND)
        return Answer(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


class Captured:
    """A machine that was written down: see :class:`npuify.doctor.capture.Capture` for the form."""

    def __init__(
        self,
        *,
        files: Mapping[str, str],
        folders: Mapping[str, Sequence[str]],
        nodes: Mapping[str, Node],
        links: Mapping[str, str],
        commands: Mapping[str, Answer],
        environment: Mapping[str, str],
    ) -> None:
        self.environment = dict(environment)
        self._links = dict(links)
        self._files = dict(files)
        self._nodes = dict(nodes)
        self._commands = dict(commands)
        self._folders: dict[str, set[str]] = {path: set(names) for path, names in folders.items()}
        # What lies in a folder is also known from the paths themselves.
        for path in (*files, *nodes, *folders, *links):
            while path not in ("", "/"):
                above, name = posixpath.split(path)
                self._folders.setdefault(above, set()).add(name)
                path = above

    @property
    def has_files(self) -> bool:
        """Whether it holds anything of the file system: where it does not, that a file is missing says nothing."""
        return bool(self._folders)

    def real(self, path: str) -> str:
        """``path`` with links followed."""
        for _ in range(40):
            for link, target in self._links.items():
                if path == link or path.startswith(link + "/"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])
                    break
            else:
                return path
        return path

    def read(self, path: str) -> str | None:
        """The file's text, if it was captured."""
        return self._files.get(self.real(path))

    def entries(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder, as far as they were captured."""
        found = self._folders.get(self.real(path))
        return None if found is None else tuple(sorted(found))

    def node(self, path: str) -> Node | None:
        """What was captured of ``path``."""
        real = self.real(path)
        if real in self._nodes:
            return self._nodes[real]
        if real in self._files:
            return Node("file")
        return Node("folder", 0o755) if real in self._folders else None

    def run(self, name: str, command: Sequence[str]) -> Answer:
        """The answer that was captured under ``name``."""
        return self._commands.get(name, Answer(NOT_FOUND))


def _user(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return str(number)


def _group(number: int) -> str:
    try:
        import grp

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError):
        return str(number)
