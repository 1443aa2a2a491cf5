"""Line ends of Windows in programs that have to run on Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.run import Result
from npuify.rules.text_file import TextFile, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.job import Job
    from npuify.source.text import Text

NORMALIZED = frozenset(("python", "shell"))
"""Kinds of files that ``--normalize-newlines`` mends."""


@listed(
    "NPU740",
    "windows-line-ends",
    Safety.MANUAL,
    Severity.ERROR,
    evidence=Evidence.DOCUMENTED,
    source="Linux, execve(2): the interpreter's name extends to the end of the line",
)
def RULE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A script has Windows line endings: the carriage return becomes part of the interpreter's name, or of each
    command.

    ``npuify migrate --normalize-newlines`` gives all shell and Python files Unix line endings.
    """
    raise NotImplementedError


_HEAD = 300
"""Bytes in which the first line has to end: this is asked of every Python file."""


class _LineEnds:
    """Looks at the first line of the files of one kind: of Python those that can be started by their own name."""

    def __init__(self, kind: str) -> None:
        self.kinds = (kind,)

    def takes(self, relative: str, kind: str) -> bool:
        return kind in self.kinds

    def may_concern(self, lower: bytes) -> bool:
        first = lower.find(b"\n", 0, _HEAD)
        return lower[first - 1 : first] == b"\r" and (lower.startswith(b"#!") or "shell" in self.kinds)

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        data = text.data
        end = data.find(b"\r\n")
        if end < 0 or b"\n" in data[:end]:
            return Result([])
        starts = data.startswith(b"#!") and not text.has_bom
        if not starts and kind != "shell":
            return Result([])
        file = TextFile(relative, kind, text, job)
        if starts:
            program = data[2:end].decode("utf-8", "replace").strip()
            message = phrase(
                "when executed directly, this looks up a program called {program!r} with a carriage return in its name",
                program=program,
            )
        else:
            message = "a shell treats the carriage return at the end of each line as part of the command"
        file.report(
            RULE,
            (0, end),
            message,
            severity=Severity.ERROR if kind == "shell" else Severity.WARNING,
            subject="line ends",
            advice="npuify migrate --normalize-newlines writes it with Unix line endings",
        )
        return Result(file.findings)

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        return True


ANALYSERS = (_LineEnds("shell"), _LineEnds("python"))


def normalized(raw: bytes) -> bytes:
    """A file's bytes with the line ends of Linux; a carriage return that stands alone stays."""
    return raw.replace(b"\r\n", b"\n")
