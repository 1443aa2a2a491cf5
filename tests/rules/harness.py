"""Run the engine on one text, as a project of one file."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.rewrite.fixpoint import MigratedFile, migrate_file
from npuify.rules.base import Selection
from npuify.rules.project_index import ProjectIndex, may_define_cuda
from npuify.rules.wishes import Wishes
from npuify.rules.worker import Worker

if TYPE_CHECKING:
    from npuify.model import Finding

RELEASE = "2.14.0"
WISHES = Wishes(cpu_fallback=True, replace_unsupported=True)
"""Everything that changes code only where it is asked for, so that its rules are tested like the others."""


def worker(
    root: Path | None = None,
    release: str = RELEASE,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    soc: str = "",
) -> Worker:
    """A worker for the files under ``root``; for no files at all without it."""
    if root is None:
        return _bare(release, select, ignore, soc)
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    own = [name for name in files if may_define_cuda((root / name).read_bytes(), (root / name).read_bytes().lower())]
    return Worker(release, Selection(select, ignore, WISHES), ProjectIndex(root, files, own, soc=soc))


@cache
def _bare(release: str, select: tuple[str, ...], ignore: tuple[str, ...], soc: str) -> Worker:
    return Worker(release, Selection(select, ignore, WISHES), ProjectIndex(Path("/nowhere"), [], [], soc=soc))


def migrated(
    text: str | bytes,
    *,
    unsafe: bool = False,
    root: Path | None = None,
    name: str = "program.py",
    release: str = RELEASE,
) -> MigratedFile:
    """The outcome of migrating ``text``. Errors of the engine fail the test."""
    raw = text if isinstance(text, bytes) else text.encode()
    if root is None and may_define_cuda(raw, raw.lower()):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(raw)
            return migrate_file(name, raw, worker(Path(folder), release), unsafe=unsafe)
    return migrate_file(name, raw, worker(root, release), unsafe=unsafe)


def output(
    text: str, *, unsafe: bool = False, root: Path | None = None, name: str = "program.py", release: str = RELEASE
) -> str:
    """The migrated text."""
    result = migrated(text, unsafe=unsafe, root=root, name=name, release=release)
    assert not result.errors, result.errors
    return text if result.raw is None else result.raw.decode()


def findings(
    text: str | bytes, *, root: Path | None = None, name: str = "program.py", release: str = RELEASE, soc: str = ""
) -> list[Finding]:
    """All findings in ``text``."""
    raw = text if isinstance(text, bytes) else text.encode()
    found, errors = worker(root, release, soc=soc).findings_of_bytes(name, raw)
    assert not errors, errors
    return found


def codes(text: str, *, root: Path | None = None, release: str = RELEASE, soc: str = "") -> list[str]:
    """The codes of all findings, in order of place."""
    return [finding.code for finding in findings(text, root=root, release=release, soc=soc)]
