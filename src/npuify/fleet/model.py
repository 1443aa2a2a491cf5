"""What the parts of a fleet's run hand to each other: a source, the task made of it, and what became of it."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec


class Source(msgspec.Struct, frozen=True):
    """One project of the list.

    Attributes:
        key: what it is known by from run to run: the folder, or the address without its revision.
        name: for people; no other project of the list has it.
        place: the folder, absolute, or the address for git.
        revision: the commit, branch or tag to look at; empty takes the remote's own choice. Of an address alone.
        is_git: whether ``place`` is an address.
    """

    key: str
    name: str
    place: str
    revision: str = ""
    is_git: bool = False


class Limits(msgspec.Struct, frozen=True):
    """What one project may take.

    Attributes:
        seconds: to examine it; a clone has as many for itself.
        memory: bytes, of the process that examines it.
        size: bytes of the files that are read, and of a clone.
        files: how many files and folders there may be.
    """

    seconds: float = 600.0
    memory: int = 4 << 30
    size: int = 2 << 30
    files: int = 500_000


class Work(str, Enum):
    """What is to be done with a project."""

    SCAN = "scan"
    PATCH = "patch"
    BRANCH = "branch"


class Task(msgspec.Struct, frozen=True):
    """A project to examine, as it is sent to the process that does it.

    Attributes:
        options: fields of :class:`npuify.options.Options` that count for all projects, whatever they say themselves.
        known: the fingerprint of the result that there is; empty where there is none. One that still holds is not
            made anew.
        clones: the folder for clones, which is removed by whoever sends the task; empty where none is needed.
        branch: the name of the branch to write, for :attr:`Work.BRANCH`, and ``keep``, the folder for its clone.
        folder_too: whether the branch is also put into the user's own repository, where ``source`` is a folder.
    """

    source: Source
    limits: Limits
    options: dict[str, Any] = {}
    language: str = ""
    known: str = ""
    work: Work = Work.SCAN
    clones: str = ""
    branch: str = ""
    keep: str = ""
    folder_too: bool = False


class Fault(msgspec.Struct, frozen=True):
    """Why a project could not be examined.

    ``kind`` is ``missing``, ``time``, ``memory``, ``size``, ``crash``, ``git``, ``settings`` or ``bug``.
    """

    kind: str
    message: str
    advice: str = ""


class Obstacle(msgspec.Struct, frozen=True):
    """One blocker of a project, and the decision that would take it away.

    ``kind`` is ``package``, ``kernels`` (the project's own CUDA code) or ``framework``; ``decision`` is the same for
    all projects in which the same is to be decided.
    """

    kind: str
    decision: str
    what: str
    why: str
    advice: str
    places: int


class Operator(msgspec.Struct, frozen=True):
    """An operator without a kernel in the release, or with limits, and how many places use it."""

    name: str
    places: int


class Findings(msgspec.Struct, frozen=True):
    """What a scan of one project comes to."""

    level: str
    title: str
    summary: str
    hours: tuple[float, float, float]
    """Low, likely, high."""
    files: int
    size: int
    """Bytes of the files looked at."""
    torch_npu: str
    migrated: int
    review: int
    manual: int
    notes: int
    errors: int
    """Files that could not be processed properly."""
    obstacles: tuple[Obstacle, ...] = ()
    operators: tuple[Operator, ...] = ()
    codes: dict[str, int] = {}
    """How often each code was found."""


class Migrated(msgspec.Struct, frozen=True):
    """What a migration of one project comes to."""

    changed_files: int
    changes: int
    left: int
    """Findings that are left, notes not counted."""
    commit: str = ""
    """Of the branch; empty where a patch was made, or nothing changes."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a task: one of ``fault``, ``unchanged``, ``findings`` and ``migrated``."""

    fingerprint: str = ""
    revision: str = ""
    """The commit that was looked at, where git tells it."""
    seconds: float = 0.0
    unchanged: bool = False
    findings: Findings | None = None
    migrated: Migrated | None = None
    fault: Fault | None = None
    page: bytes = b""
    """The project's own report, HTML compressed by zlib; of a migration the patch."""
