"""Which lines of a project have changed since a revision, as git tells it. Nothing of the project is run."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# A repository's own settings may name programs for git to start; none of them is.
_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=true")
_DIFF = (
    *("diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all"),
    *("--relative", "--src-prefix=a/", "--dst-prefix=b/"),
)


class ChangedLines(NamedTuple):
    """The lines that a working tree has and a revision has not.

    Attributes:
        since: the revision, as it was named.
        lines: by file, relative to the project's root, spans of lines, from 1, both ends in; None for a new file.
    """

    since: str
    lines: Mapping[str, list[tuple[int, int]] | None]

    def has(self, file: str) -> bool:
        """Whether any line of ``file`` has changed."""
        return file in self.lines

    def touch(self, file: str, first: int, last: int) -> bool:
        """Whether one of the lines ``first`` to ``last`` of ``file`` has changed."""
        if file not in self.lines:
            return False
        spans = self.lines[file]
        return spans is None or any(start <= last and first <= end for start, end in spans)


def changed_lines(root: Path, revision: str) -> ChangedLines:
    """What has changed in the folder ``root`` since its branch left ``revision``, committed or not.

    Args:
        root: the project's root, a folder of a git work tree.
        revision: as git takes it: ``main``, ``origin/main``, ``HEAD~3``, a commit.

    Raises:
        NpuifyError: git is not there, ``root`` lies in no work tree, or has no such revision.
    """
    if shutil.which("git") is None:
        raise NpuifyError("git was not found", advice="changed lines are asked of git; install it, or use --baseline")
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    if inside is None or inside.strip() != b"true":
        raise NpuifyError("is not in a git work tree", file=str(root), advice="--baseline FILE needs no git")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise NpuifyError(
            phrase("git knows no revision {revision!r} here", revision=revision),
            file=str(root),
            advice="in a shallow clone, fetch it first (actions/checkout: fetch-depth: 0; GitLab: GIT_DEPTH: 0)",
        )
    base = (_git(root, "merge-base", commit.decode().strip(), "HEAD") or commit).decode().strip()
    diff = _git(root, *_DIFF, base, "--")
    untracked = _git(root, "ls-files", "-z", "--others", "--exclude-standard")
    if diff is None or untracked is None:
        raise NpuifyError(
            "git could not compare the work tree",
            file=str(root),
            advice=phrase("try: git diff {revision}", revision=revision),
        )
    new = {os.fsdecode(name): None for name in untracked.split(b"\0") if name}
    return ChangedLines(revision, {**_spans(diff), **new})


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git answers; None where it fails."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", *_QUIET, *arguments], cwd=root, env=environment, capture_output=True, stdin=subprocess.DEVNULL
    )
    return done.stdout if done.returncode == 0 else None


def _spans(diff: bytes) -> dict[str, list[tuple[int, int]] | None]:
    """The new lines of each file of a patch without context."""
    spans: dict[str, list[tuple[int, int]] | None] = {}
    here: list[tuple[int, int]] = []
    lines = iter(diff.split(b"\n"))
    for line in lines:
        if line.startswith(b"+++ "):
            here = []
            spans[_name(line[4:])] = here
        elif hunk := _HUNK.match(line):
            gone, start, count = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            if count:
                here.append((start, start + count - 1))
            _skip(lines, gone + count)
    spans.pop("/dev/null", None)
    return spans


def _skip(lines: Iterator[bytes], count: int) -> None:
    """Pass over the lines of a hunk, which may look like anything; remarks on a missing line end do not count."""
    while count:
        if not next(lines, b"").startswith(b"\\"):
            count -= 1


def _name(written: bytes) -> str:
    """The path in ``+++ b/path``: quoted as in C where it holds odd characters, with a tab after one with spaces."""
    if written.startswith(b'"'):
        raw: bytes = ast.literal_eval(f"b{written.decode('ascii')}")
    else:
        raw = written.removesuffix(b"\t")
    return os.fsdecode(raw.removeprefix(b"b/"))
