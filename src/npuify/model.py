"""The types that every room speaks.

They are plain, immutable values: a rule makes them, ``rewrite`` applies them and ``report`` prints them.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from npuify.language import ENGLISH, phrase


class Severity(str, Enum):
    """What happens on an NPU when the finding is ignored."""

    ERROR = "error"
    """The program will not run."""
    WARNING = "warning"
    """It may run wrong, or slowly."""
    INFO = "info"
    """Worth knowing; nothing breaks."""


class Safety(str, Enum):
    """How far an edit can be trusted."""

    SAFE = "safe"
    """Same meaning on the NPU, by proof; applied without asking."""
    REVIEW = "review"
    """Right in the usual case; the finding says when it is not. Applied with ``--unsafe``."""
    MANUAL = "manual"
    """No edit: the finding says what a person has to do."""


class Evidence(str, Enum):
    """How a fact is known, from the strongest to the weakest."""

    HARDWARE = "hardware"
    """Seen on an NPU by ``npuify selftest``; the source names chip and versions."""
    LIVE = "live"
    """Asked of the real torch_npu package, imported."""
    PACKAGE = "package"
    """Read from the files of the released package."""
    DOCUMENTED = "documented"
    """Stated by the vendor's or the framework's documentation."""
    REPORTED = "reported"
    """An issue thread or a user says so."""
    ASSUMED = "assumed"
    """Derived by us; nobody has confirmed it."""


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a file. ``line`` counts from 1; ``column`` counts characters from 1, as editors do."""

    line: int
    column: int


class Edit(msgspec.Struct, frozen=True, order=True):
    """Replace one span of a file.

    ``start`` and ``end`` are offsets, in bytes, into the file's text encoded as UTF-8 without a byte order mark
    (for a UTF-8 file: into the file itself). ``before`` is the text that the rule saw there; an edit whose span
    holds anything else is refused.
    """

    start: int
    end: int
    before: str
    after: str


class Finding(msgspec.Struct, frozen=True, omit_defaults=False):
    """One thing that a person should know about one place, with the edits that mend it, if any.

    The edits of one finding are atomic: all are applied, or none. ``needs_torch_npu`` says that the edited code uses
    names that exist only after ``import torch_npu``.
    """

    code: str
    name: str
    severity: Severity
    safety: Safety
    file: str
    """Path relative to the project's root, with forward slashes."""
    start: Position
    end: Position
    message: str
    evidence: Evidence
    source: str = ""
    """Where the fact behind the finding comes from."""
    subject: str = ""
    """The CUDA name, variable or word that it is about, as ``npuify explain`` takes it."""
    advice: str = ""
    """What to do, where no edit does it."""
    edits: tuple[Edit, ...] = ()
    needs_torch_npu: bool = False
    only_with: str = ""
    """The option, variable or constant without which the place does not run; empty where it may run without one."""
    also: tuple[Position, ...] = ()
    """Further places of the file that the same decision settles, and that the edits are of, too."""

    @property
    def places(self) -> tuple[Position, ...]:
        """Where it begins, and the further places."""
        return (self.start, *self.also)


class FileError(msgspec.Struct, frozen=True):
    """A file that could not be treated as it should have been; the run went on without it."""

    file: str
    message: str
    line: int = 0
    advice: str = ""


class State(str, Enum):
    """What became of a place that concerns CUDA."""

    EDITED = "edited"
    """An edit is offered for it."""
    REPORTED = "reported"
    """A finding speaks of it."""
    CLEARED = "cleared"
    """It needs nothing, and the reason is known."""


class LedgerEntry(msgspec.Struct, frozen=True):
    """One place that concerns CUDA, and what became of it."""

    file: str
    line: int
    column: int
    word: str
    """The name, or part of a string, that stands there."""
    state: State
    by: str
    """The code of the finding, or the id of the reason for which the place is cleared."""
    because: str = ""
    """What shows the reason, as the program model tells it; empty where the place itself does."""


class Release(msgspec.Struct, frozen=True):
    """The torch_npu release that is aimed at, and why it was chosen."""

    torch_npu: str
    torch: str
    cann: str
    reason: str


class Mention(msgspec.Struct, frozen=True, order=True):
    """A place that makes a file an entry point."""

    kind: str
    """``main guard``, ``launcher``, ``console script``, ``installed script``, ``documentation``, ``top-level code``,
    or, where nothing else tells what is started, ``usual name``."""
    file: str
    line: int
    text: str = ""
    """The command or declaration, shortened; empty where the file itself tells."""


class EntryPoint(msgspec.Struct, frozen=True, order=True):
    """A file of the project that a person or a launcher starts, and how that is known."""

    file: str
    mentions: tuple[Mention, ...]


class Framework(msgspec.Struct, frozen=True, order=True):
    """A package that decides how hard a move is, as the project's imports and requirements name it."""

    name: str
    """Its import name."""
    files: int
    """Files that import it."""
    first: str
    """The first of them, as ``file:line``."""
    version: str = ""
    """What the project's requirements ask for, such as ``>=2.0``; empty where they do not say."""
    required_by: str = ""
    """The place of that requirement, as ``file:line``."""
    cuda_only: bool = False
    """Whether the package, as published, is made for CUDA."""


class NativeOperator(msgspec.Struct, frozen=True, order=True):
    """A function of the project's own C++ or CUDA code that Python can call, and what it takes to have it on an NPU."""

    file: str
    """Where it is handed to Python."""
    line: int
    name: str
    module: str
    """The extension's module, or ``torch.ops.library``; empty where it cannot be told."""
    difficulty: str
    """``elementwise``, ``cooperative``, ``library``, ``tensor core``, or ``host`` where no kernel is behind it."""
    kernels: tuple[str, ...] = ()
    """The kernels behind it."""
    uses: tuple[str, ...] = ()
    """What makes it hard: shared memory, warps, libraries of CUDA."""
    has_cpu: bool = False
    """Whether the project has an implementation for the CPU."""
    has_npu: bool = False
    """Whether the project has an implementation for the NPU."""
    calls: tuple[str, ...] = ()
    """Where Python calls it, as ``file:line``."""
    switched: tuple[tuple[str, str], ...] = ()
    """Those of the calls that do not run by default, each with the option, variable or constant that it waits for."""
    equivalent: str = ""
    """What computes the same on an NPU; empty where nothing is known."""
    ways: tuple[str, ...] = ()
    """The ways to have it on an NPU, the least work first."""
    replacement: str = ""
    """The function of ``helpers/replacements`` that is proven to compute the same, as ``family.function``; or empty."""


class Survey(msgspec.Struct, frozen=True):
    """What a project is, as far as that decides how it is moved."""

    entry_points: tuple[EntryPoint, ...] = ()
    frameworks: tuple[Framework, ...] = ()
    kernels: tuple[str, ...] = ()
    """Source files of the project's own CUDA kernels."""
    operators: tuple[NativeOperator, ...] = ()
    """What the project's own C++ and CUDA code hands to Python."""


class Start(msgspec.Struct, frozen=True, order=True):
    """How a program that supports an NPU by itself, or would stay on the CPU, is started on one."""

    say: str
    """An option, or a variable of the environment: ``--device npu``, ``DEVICE=npu``."""
    file: str
    line: int
    default: str = ""
    """Its default, as it is written."""
    without: str = ""
    """What happens where it is not said, as the end of a sentence; empty where the default is an NPU."""


class Program(msgspec.Struct, frozen=True, order=True):
    """An entry point, with those of the files that it imports in which there is anything to say."""

    file: str
    files: tuple[str, ...]
    maybe: tuple[str, ...] = ()
    """Files that it may import besides: by a name that is known only when it runs, under a condition, or in a function,
    of which nobody can tell whether the program comes there. And files of settings that it names."""
    aside: tuple[tuple[str, str], ...] = ()
    """Files that run only where an option asks for them, or an import does not fail that it can do without, each with
    this."""
    supports_npu: bool = False
    """Whether it asks by itself whether it runs on an NPU."""
    starts: tuple[Start, ...] = ()
    """Then: what to say so that it does. Of others: what to say where their own default is the CPU."""
    unsure: tuple[tuple[str, int], ...] = ()
    """Places that stop it where it comes to them, in functions or under conditions of which nobody can tell whether it
    does: file and line."""


class ScanResult(msgspec.Struct, frozen=True):
    """Everything a scan found. ``findings`` are ordered by file and place."""

    root: str
    release: Release
    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...]
    files_seen: int
    """Files looked at: Python, and those of requirements."""
    files_parsed: int
    """Those that could hold something of interest, and were parsed."""
    bytes_seen: int
    survey: Survey = Survey()
    style: str = "npu"
    """How migrated code reads: ``npu``, ``portable`` or ``auto``."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Every place that concerns CUDA, by file and place."""
    programs: tuple[Program, ...] = ()
    """The programs of the project, in the order of the survey's entry points."""
    narrowed: str = ""
    """Which findings and errors are left out on purpose, in a sentence; empty where these are all."""
    tensorflow: str = ""
    """The TensorFlow adapter aimed at, and why, for people; empty where the project has no TensorFlow."""
    tensorflow_line: str = ""
    """The line of TensorFlow, ``1`` or ``2``: as it is asked for, else that of most files; empty where that is open, or
    the project has no TensorFlow."""
    language: str = ENGLISH
    """That of all text for people, a name in :data:`npuify.language.LANGUAGES`."""


class Change(msgspec.Struct, frozen=True):
    """One applied edit, as ``changes.csv`` lists it: lines and text of the original and of the migrated file."""

    file: str
    code: str
    name: str
    start: Position
    end: Position
    before: str
    after: str
    message: str


class MigrationResult(msgspec.Struct, frozen=True):
    """What a migration did and what it left. ``scan.findings`` are those of the input; ``left`` those of the output."""

    scan: ScanResult
    changes: tuple[Change, ...]
    left: tuple[Finding, ...]
    changed_files: tuple[str, ...]
    destination: str = ""
    diff: str = ""


class RuleInfo(msgspec.Struct, frozen=True):
    """A rule, as `npuify rules` lists it."""

    code: str
    name: str
    safety: Safety
    severity: Severity
    summary: str
    documentation: str
    evidence: Evidence
    source: str


class ReleaseRow(msgspec.Struct, frozen=True):
    """What one torch_npu release has of a name."""

    torch_npu: str
    name: str
    """The NPU name, empty where there is none."""
    note: str


class Explanation(msgspec.Struct, frozen=True):
    """An answer to `npuify explain`. ``kind`` is ``rule``, ``cuda name``, ``npu name``,
    ``operator`` or ``environment variable``."""

    title: str
    kind: str
    text: tuple[str, ...]
    releases: tuple[ReleaseRow, ...]
    source: str
    evidence: Evidence


class NpuifyError(Exception):
    """A wrong use or bad input. The message is for a person: what is wrong, where, and what to do."""

    def __init__(self, message: str, *, advice: str = "", file: str = "", line: int = 0) -> None:
        self.message = phrase(message)
        self.advice = phrase(advice)
        super().__init__(self.message)
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.message}" + (f"\n  {self.advice}" if self.advice else "")


def to_builtins(value: Any) -> Any:
    """``value`` as plain dicts, lists and strings, ready for JSON."""
    return msgspec.to_builtins(value)
