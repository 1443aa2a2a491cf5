"""A migration as a branch: in a clone of its own, never in the user's checkout, and never pushed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.fleet.git import GitFault, clone, run
from npuify.fleet.model import Fault, Migrated, Outcome
from npuify.fleet.options import options_of
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.fleet.model import Task

_AT_ONCE: Final = 200
"""Files that git is told of in one command."""
_MESSAGE: Final = "Move to Ascend NPUs with npuify (torch_npu {torch_npu})"
_NAMELESS: Final = ("-c", "user.name=npuify", "-c", "user.email=npuify@localhost")


def branched(task: Task, stage: Callable[[], None]) -> Outcome:
    """Migrate a clone of the project at ``task.keep``, on a branch there, with one commit.

    Raises:
        GitFault: it is no repository, or git cannot do it.
        NpuifyError: the project's settings are wrong.
    """
    keep = Path(task.keep)
    source = task.source
    if not source.is_git:
        if not (Path(source.place) / ".git").exists():
            raise GitFault(
                Fault("git", phrase("is no git repository"), phrase("write patches instead: leave out --branch"))
            )
        source = msgspec.structs.replace(source, revision="HEAD")
    commit = clone(source, keep, task.limits)
    stage()

    def git(*arguments: str) -> str:
        return run(arguments, keep, task.limits.seconds)

    git("checkout", "-q", "-b", task.branch)
    from npuify.migration import migrate

    options = options_of(task, keep, is_clone=task.source.is_git)
    result = migrate(keep, None, msgspec.structs.replace(options, cache=False), mode="in-place")
    left = sum(one.severity.value != "info" for one in result.left)
    made = Migrated(len(result.changed_files), len(result.changes), left)
    if result.changed_files:
        git("add", "-A")
        _add(git, result.changed_files)
        git(
            *_identity(git),
            "commit",
            "-q",
            "--no-verify",
            "--no-gpg-sign",
            "-m",
            _MESSAGE.format(torch_npu=result.scan.release.torch_npu),
        )
        made = msgspec.structs.replace(made, commit=git("rev-parse", "HEAD").strip())
        if task.folder_too and not task.source.is_git:
            name = f"refs/heads/{task.branch}"
            fetch = ("fetch", "-q", "--no-tags", "--no-recurse-submodules", "--", str(keep), f"{name}:{name}")
            run(fetch, Path(task.source.place), task.limits.seconds)
    return Outcome(commit, commit, migrated=made)


def _add(git: Callable[..., str], files: Sequence[str]) -> None:
    """Tell git of new files, also where the project ignores their names."""
    for start in range(0, len(files), _AT_ONCE):
        git("add", "-f", "--", *files[start : start + _AT_ONCE])


def _identity(git: Callable[..., str]) -> tuple[str, ...]:
    try:
        git("var", "GIT_AUTHOR_IDENT")
    except GitFault:
        return _NAMELESS
    return ()
