"""Fetching one commit by the user's own git: shallow, within limits of time and size, and never asking anything.

Addresses come from a list and repositories from anywhere: no program that either names is started. Whose credentials
are used is git's own affair.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.fleet.model import Fault
from npuify.fleet.tree import shown_size, size_of
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.fleet.model import Limits, Source

_QUIET: Final = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=false"),
    *("-c", "advice.detachedHead=false"),
)
_COMMANDS: Final = ("add", "checkout", "commit", "fetch", "init", "ls-remote", "rev-parse", "var")
_LOOKS: Final = 0.2
"""Seconds between two looks at the size of a clone."""
_MOST_SAID: Final = 600
"""Characters of git's own words that are passed on."""


class GitFault(Exception):
    """Git could not do what was asked; ``fault`` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def commit_of(source: Source, seconds: float) -> str:
    """The commit that an address stands for now, as its server tells; a whole commit stands for itself.

    Raises:
        GitFault: the server cannot be asked, or has no such revision.
    """
    if is_commit(source.revision):
        return source.revision
    wanted = source.revision or "HEAD"
    said = run(["ls-remote", "--exit-code", "--", source.place, wanted, f"{wanted}^{{}}"], None, seconds)
    lines = [line.split("\t") for line in said.splitlines() if "\t" in line]
    by_name = {name: commit for commit, name in lines}
    ways = (f"refs/tags/{wanted}^{{}}", f"refs/tags/{wanted}", f"refs/heads/{wanted}", wanted)
    return next((by_name[way] for way in ways if way in by_name), "")


def is_commit(revision: str) -> bool:
    """Whether a revision is the whole name of a commit."""
    return len(revision) in (40, 64) and all(one in "0123456789abcdef" for one in revision)


def clone(source: Source, folder: Path, limits: Limits) -> str:
    """Put the files of one commit into ``folder``, and nothing of what was before it.

    Returns:
        The commit.

    Raises:
        GitFault: the server, the limits or the disk do not allow it.
    """
    until = time.monotonic() + limits.seconds

    def git(*arguments: str) -> str:
        return run(arguments, folder, until - time.monotonic(), most=limits.size, limits=limits)

    folder.mkdir(parents=True, exist_ok=True)
    run(["init", "-q", "--template=", "--", str(folder)], None, limits.seconds)
    fetched = source.revision or "HEAD"
    git("fetch", "-q", "--depth", "1", "--no-tags", "--no-recurse-submodules", "--", source.place, fetched)
    git("checkout", "-q", "--detach", "FETCH_HEAD")
    return git("rev-parse", "HEAD").strip()


def run(
    arguments: list[str] | tuple[str, ...],
    folder: Path | None,
    seconds: float,
    *,
    most: int = 0,
    limits: Limits | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What git answers.

    Args:
        arguments: of git, without ``git``.
        folder: where it runs; None where that does not matter.
        seconds: after which it is ended.
        most: bytes that ``folder`` may grow to; 0 for any size.
        limits: named where one of them is met; ``seconds`` may be what is left of them.
        environment: more variables.

    Raises:
        GitFault: it fails, or a limit is met.
    """
    if shutil.which("git") is None:
        raise GitFault(Fault("git", phrase("git was not found"), phrase("install git, or list folders")))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = subprocess.Popen(
            ["git", *_QUIET, *arguments],
            cwd=folder,
            env={**_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=error,
        )
        until = time.monotonic() + max(seconds, 1)
        try:
            while True:
                try:
                    code = process.wait(_LOOKS)
                except subprocess.TimeoutExpired:
                    code = None
                if most and folder is not None and size_of(str(folder), most) > most:
                    raise GitFault(_too_large(most))
                if code is not None:
                    break
                if time.monotonic() > until:
                    raise GitFault(_too_slow(limits.seconds if limits else seconds))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        out.seek(0)
        error.seek(0)
        if code:
            said = " ".join(error.read().decode("utf-8", "replace").split())
            raise GitFault(_refused(said, code, next((one for one in arguments if one in _COMMANDS), "")))
        return out.read().decode("utf-8", "surrogateescape")


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_DIR", "GIT_WORK", "GIT_INDEX"))}
    kept.pop("GIT_ASKPASS", None)
    kept.pop("SSH_ASKPASS", None)
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": "file:https:ssh",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


def _too_large(most: int) -> Fault:
    return Fault(
        "size",
        phrase("is larger than {size} as a clone", size=shown_size(most)),
        phrase("raise --max-size, or list a folder with the files that matter"),
    )


def _too_slow(seconds: float) -> Fault:
    return Fault(
        "time",
        phrase("could not be fetched within {seconds} seconds", seconds=f"{seconds:.0f}"),
        phrase("raise --timeout, or list a folder that has been fetched"),
    )


def _refused(said: str, code: int, command: str) -> Fault:
    message = phrase(
        "git {command} failed: {said}", command=command, said=said[:_MOST_SAID] or phrase("exit code {code}", code=code)
    )
    lower = said.lower()
    if any(one in lower for one in ("authentication", "could not read username", "permission denied", "publickey")):
        advice = phrase(
            "see that git fetches it by itself: git ls-remote ADDRESS, with a credential helper or ssh-agent"
        )
    elif "dubious ownership" in lower:
        advice = phrase("the repository belongs to another user: git config --global --add safe.directory PATH")
    elif "couldn't find remote ref" in lower or "not our ref" in lower or "unadvertised object" in lower:
        advice = phrase("name a branch, a tag, or a whole commit that the server has")
    else:
        advice = phrase("try: git ls-remote ADDRESS")
    return Fault("git", message, advice)
