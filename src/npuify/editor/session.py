"""One project that is being edited. Only the file that changed is analysed; the rest is known from the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.prepare import prepare
from npuify.engine.scan import project_findings
from npuify.project.config import options_for as options_for
from npuify.source.text import Text, UnreadableText, declared_encoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.engine.worker import Worker
    from npuify.model import FileError, Finding
    from npuify.options import Options


class Seen(NamedTuple):
    """What is found in one version of a file.

    Attributes:
        relative: the file's path in its project.
        raw: its content, as it would be saved.
        text: the same, to place offsets in; None where it is no text in the encoding that it claims.
        findings, errors: as a scan of the file gives them.
    """

    relative: str
    raw: bytes
    text: Text | None
    findings: Sequence[Finding]
    errors: Sequence[FileError]


class _Prepared(NamedTuple):
    """The project as it was on the disk."""

    worker: Worker
    about: Sequence[Finding]
    """Findings about the project as a whole."""
    files: frozenset[str]
    """Those in which anything is sought."""


class Session:
    """A project in an editor.

    Args:
        root: its folder.

    A session is used by one thread at a time.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._options: Options | None = None
        self._prepared: _Prepared | None = None

    @property
    def options(self) -> Options:
        """The project's own settings.

        Raises:
            NpuifyError: they are wrong.
        """
        if self._options is None:
            self._options = options_for(self.root)
        return self._options

    @property
    def worker(self) -> Worker:
        """What analyses files of the project."""
        return self._ready().worker

    def changed_on_disk(self) -> None:
        """A file was saved, made or removed: what is known of the project is asked for anew with the next question."""
        if self._prepared is not None:
            self._prepared.worker.close()
        self._options = self._prepared = None

    def look(self, path: Path, content: str) -> Seen:
        """What is found in a file with this content.

        Raises:
            NpuifyError: the project's settings are wrong.
        """
        relative = Path(os.path.relpath(path, self.root)).as_posix()
        raw = as_saved(content)
        ready = self._ready()
        try:
            text = Text(raw)
        except UnreadableText:
            text = None
        if path.exists() and relative not in ready.files:
            # It is excluded, ignored, or of a kind in which nothing is sought.
            return Seen(relative, raw, text, (), ())
        found, errors, _, _ = ready.worker.analyse(relative, raw, whole=False, keeps_ledger=True)
        about = [finding for finding in ready.about if finding.file == relative]
        findings = sorted([*found, *about], key=lambda one: (one.start, one.end, one.code))
        return Seen(relative, raw, text, findings, errors)

    def _ready(self) -> _Prepared:
        if self._prepared is None:
            prepared = prepare([self.root], self.options)
            self._prepared = _Prepared(
                prepared.worker(),
                project_findings(prepared, self.options),
                frozenset(file.relative for file in prepared.files),
            )
        return self._prepared


def as_saved(content: str) -> bytes:
    """The bytes that an editor writes for a text: in the encoding that it declares, where that holds it."""
    raw = content.encode("utf-8", "surrogatepass")
    try:
        return content.encode(declared_encoding(raw))
    except (UnreadableText, UnicodeEncodeError):
        return raw
