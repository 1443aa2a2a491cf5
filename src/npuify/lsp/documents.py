"""The documents that are open: which project each belongs to, and what was last found in it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from pygls import uris

from npuify.editor.session import Seen, Session
from npuify.lsp.convert import Lines
from npuify.project.kinds import kind_of_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.workspace import TextDocument, Workspace

T = TypeVar("T")


class Document(NamedTuple):
    """One version of an open document, and what is found in it."""

    uri: str
    version: int | None
    session: Session
    seen: Seen
    lines: Lines


class Documents:
    """Looks at open documents, one at a time, in a thread of its own: the client is answered meanwhile."""

    def __init__(self) -> None:
        self._sessions: dict[Path, Session] = {}
        self._known: dict[str, Document] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="npuify")

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """``function`` in the thread that all sessions are used by."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def look(self, workspace: Workspace, uri: str) -> Document | None:
        """What is found in the newest version of a document; None where it is none of ours, or changed meanwhile.

        Raises:
            NpuifyError: the project's settings are wrong.
        """
        path = _path(uri)
        document = opened(workspace, uri)
        if path is None or document is None or kind_of_path(path.name) == "other":
            return None
        version, content = document.version, document.source
        session = self.session(workspace, path)
        known = self._known.get(uri)
        if known is not None and known.version == version and known.session is session:
            return known

        def is_newest() -> bool:
            now = opened(workspace, uri)
            return now is not None and now.version == version

        def newest() -> Document | None:
            # It may have waited for another; what has changed since is looked at by those who changed it.
            if not is_newest():
                return None
            lines = Lines(content, str(getattr(workspace.position_encoding, "value", workspace.position_encoding)))
            return Document(uri, version, session, session.look(path, content), lines)

        found = await self.call(newest)
        if found is None or not is_newest():
            return None
        self._known[uri] = found
        return found

    def session(self, workspace: Workspace, path: Path) -> Session:
        """The session of the project that holds a file: the innermost folder of the workspace, else its own folder."""
        folders = [folder for uri in workspace.folders if (folder := _path(uri)) is not None]
        around = [folder for folder in folders if path.is_relative_to(folder)]
        root = max(around, key=lambda folder: len(folder.parts), default=path.parent)
        return self._sessions.setdefault(root, Session(root))

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._known.pop(uri, None)

    async def changed_on_disk(self) -> None:
        """Files were saved, made or removed: everything is looked at anew."""
        for session in list(self._sessions.values()):
            await self.call(session.changed_on_disk)
        self._known.clear()

    def close(self) -> None:
        """Wait for nothing that is still to be done."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def opened(workspace: Workspace, uri: str) -> TextDocument | None:
    """A document that is open in the editor; None where it is not."""
    # pygls keeps them under their addresses with nothing escaped.
    return workspace.text_documents.get(unquote(uri))


def _path(uri: str) -> Path | None:
    if urlsplit(uri).scheme != "file":
        return None
    path = uris.to_fs_path(uri)
    return Path(path) if path else None
