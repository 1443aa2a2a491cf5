"""The documents that are open: which project each belongs to, and what was last found in it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import uris

from npuify.editor.cells import CellText, NotebookText
from npuify.editor.session import Session
from npuify.lsp.convert import Lines
from npuify.lsp.document import Document, Part
from npuify.project.kinds import kind_of_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pygls.workspace import TextDocument, Workspace

T = TypeVar("T")


class Documents:
    """Looks at open documents, one at a time, in a thread of its own: the client is answered meanwhile."""

    def __init__(self) -> None:
        self._sessions: dict[Path, Session] = {}
        self._known: dict[str, Document] = {}
        self.closed = False
        """Whether the client has gone."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="npuify")

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """``function`` in the thread that all sessions are used by."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def look(self, workspace: Workspace, uri: str) -> Document | None:
        """What is found in the newest version of a document; None where it is none of ours, or changed meanwhile.

        Raises:
            NpuifyError: the project's settings are wrong.
        """
        notebook = workspace.get_notebook_document(cell_uri=uri) or workspace.get_notebook_document(notebook_uri=uri)
        held = _notebook(workspace, notebook) if notebook is not None else _file(workspace, uri)
        path = _path(held.uri) if held is not None else None
        if held is None or path is None or kind_of_path(path.name) == "other":
            return None
        session = self.session(workspace, path)
        known = self._known.get(held.uri)
        if known is not None and _versions(known.parts) == _versions(held.parts) and known.session is session:
            return known

        def is_newest() -> bool:
            now = _notebook(workspace, notebook) if notebook is not None else _file(workspace, uri)
            return now is not None and _versions(now.parts) == _versions(held.parts)

        def newest() -> Document | None:
            # It may have waited for another; what has changed since is looked at by those who changed it.
            if not is_newest():
                return None
            seen = session.look(path, held.content)
            lines = Lines(held.content, encoding_of(workspace))
            return Document(held.uri, held.version, session, seen, lines, held.parts, held.notebook)

        found = await self.call(newest)
        if found is None or not is_newest():
            return None
        self._known[held.uri] = found
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
        self.closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)


def opened(workspace: Workspace, uri: str) -> TextDocument | None:
    """A document that is open in the editor; None where it is not."""
    # pygls keeps them under their addresses with nothing escaped.
    return workspace.text_documents.get(unquote(uri))


def encoding_of(workspace: Workspace) -> str:
    """What the client counts columns in."""
    return str(getattr(workspace.position_encoding, "value", workspace.position_encoding))


class _Held(NamedTuple):
    """What the client holds now, before it is looked at."""

    uri: str
    version: int | None
    content: str
    parts: Sequence[Part]
    notebook: NotebookText | None = None


def _file(workspace: Workspace, uri: str) -> _Held | None:
    document = opened(workspace, uri)
    if document is None:
        return None
    content = document.source
    part = Part(uri, document.version, Lines(content, encoding_of(workspace)))
    return _Held(uri, document.version, content, (part,))


def _notebook(workspace: Workspace, notebook: types.NotebookDocument) -> _Held | None:
    """A notebook with its cells; those that the client does not tell of, as they hold no Python, are empty."""
    parts: list[Part] = []
    cells: list[CellText] = []
    for cell in notebook.cells:
        document = opened(workspace, cell.document)
        text = document.source if document is not None else ""
        cells.append(CellText(cell.kind == types.NotebookCellKind.Code and document is not None, text))
        version = document.version if document is not None else None
        parts.append(Part(cell.document, version, Lines(text, encoding_of(workspace))))
    if not parts:
        return None
    written = NotebookText(cells)
    return _Held(notebook.uri, notebook.version, written.text, parts, written)


def _versions(parts: Sequence[Part]) -> list[tuple[str, int | None]]:
    return [(part.uri, part.version) for part in parts]


def _path(uri: str) -> Path | None:
    if urlsplit(uri).scheme != "file":
        return None
    path = uris.to_fs_path(uri)
    return Path(path) if path else None
