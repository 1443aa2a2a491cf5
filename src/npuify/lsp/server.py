"""The server: which request is answered with what. It talks over standard input and output."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import FeatureRequestError, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from npuify.editor.fixes import fix_all, fixes
from npuify.editor.hints import hover, lens
from npuify.language import ENGLISH, VARIABLE, of_locale, phrase, plural, speak, spoken
from npuify.lsp import convert
from npuify.lsp.documents import Documents, encoding_of, opened
from npuify.lsp.workspace_scan import Cancelled, scan_folder
from npuify.model import NpuifyError
from npuify.version import __version__

if TYPE_CHECKING:
    from npuify.lsp.document import Document
    from npuify.lsp.workspace_scan import Found
    from npuify.model import FileError, Finding

PATIENCE = 0.05
"""Seconds without a change after which a document is looked at."""
SCAN = "npuify.scanWorkspace"
FIX_ALL = "npuify.fixAll"
_FIX_ALL_KIND = "source.fixAll.npuify"

_NOTEBOOKS = [
    types.NotebookDocumentFilterWithNotebook(
        types.NotebookDocumentFilterScheme("file"), [types.NotebookCellLanguage("python")]
    )
]
"""Cells in Python of all notebooks that are files."""


class Server(LanguageServer):
    """The language server of npuify."""

    def __init__(self) -> None:
        # The whole text with each change: what ends a line is not the same for all clients.
        super().__init__(
            "npuify",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=types.NotebookDocumentSyncOptions(_NOTEBOOKS, save=True),
        )
        self.documents = Documents()
        self.said = ""
        self.options: dict[str, Any] = {}
        self.language_was_said = False
        """Whether the command line names a language."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Tell of an error of the server's own; of one in telling, which no client hears, the log does."""
        # pygls tells that an error could not be told, without end, once the client has gone.
        if source not in (FeatureRequestError, JsonRpcInternalError):
            said = phrase("npuify: error in the server: {error}", error=error)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, said))

    async def look(self, uri: str) -> Document | None:
        """What is found in a document now; wrong settings are told once."""
        try:
            found = await self.documents.look(self.workspace, uri)
        except NpuifyError as error:
            if str(error) != self.said:
                self.said = str(error)
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"npuify: {error}"))
            return None
        return found

    async def publish(self, uri: str) -> None:
        """Show what is found in a document, unless it has changed meanwhile."""
        found = await self.look(uri)
        if found is not None:
            for part, shown in found.diagnostics().items():
                one = found.part(part)
                version = one.version if one is not None else None
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part, shown, version))

    @property
    def versioned(self) -> bool:
        """Whether the client takes edits for one version of a document."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)


server = Server()


@server.feature(types.INITIALIZED)
async def initialized(ls: Server, params: types.InitializedParams) -> None:
    """Scan the workspace, unless the client said ``{"scan": false}``."""
    if ls.options.get("scan", True):
        await scan_workspace(ls)


@server.feature(types.INITIALIZE)
def initialize(ls: Server, params: types.InitializeParams) -> None:
    """Keep the client's own options, and speak Chinese where it does and nothing else was asked for."""
    options: Any = params.initialization_options
    ls.options = options if isinstance(options, dict) else {}
    if params.locale and not ls.language_was_said and VARIABLE not in os.environ:
        told = of_locale(params.locale)
        # An editor in English says nothing of what its user reads elsewhere: the locale does.
        speak(told if told != ENGLISH else spoken())


@server.feature(types.SHUTDOWN)
def shutdown(ls: Server, params: None) -> None:
    """The client goes: a scan that runs ends, and tells nothing more."""
    ls.documents.closed = True


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
async def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    """Look at a document at once."""
    await ls.publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Look at a document once nothing more is typed."""
    uri, version = params.text_document.uri, params.text_document.version
    await asyncio.sleep(PATIENCE)
    document = opened(ls.workspace, uri)
    if document is not None and document.version == version:
        await ls.publish(uri)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
async def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """Other files may mean something else now."""
    await _anew(ls)


@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def did_change_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    """The same for what others have changed."""
    await _anew(ls)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
async def did_open_notebook(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    """Look at a notebook at once."""
    await ls.publish(params.notebook_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
async def did_change_notebook(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    """Look at a notebook once nothing more is typed; nothing is shown of cells that are gone."""
    cells = params.change.cells
    closed = cells.structure.did_close if cells is not None and cells.structure is not None else None
    for cell in closed or ():
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(cell.uri, []))
    uri, version = params.notebook_document.uri, params.notebook_document.version
    await asyncio.sleep(PATIENCE)
    notebook = ls.workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None and notebook.version == version:
        await ls.publish(uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
async def did_save_notebook(ls: Server, params: types.DidSaveNotebookDocumentParams) -> None:
    """As for other files."""
    await _anew(ls)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
def did_close_notebook(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    """Nothing is shown of a notebook that is closed."""
    ls.documents.forget(params.notebook_document.uri)
    for cell in params.cell_text_documents:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(cell.uri, []))


async def _anew(ls: Server) -> None:
    ls.said = ""
    await ls.documents.changed_on_disk()
    notebooks = list(ls.workspace.notebook_documents.values())
    cells = {cell.document for notebook in notebooks for cell in notebook.cells}
    files = [one.uri for one in ls.workspace.text_documents.values() if one.uri not in cells]
    for uri in (*files, *(one.uri for one in notebooks)):
        await ls.publish(uri)
    workspace = ls.client_capabilities.workspace
    if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
        # A document that has not changed keeps its lens, else.
        ls.workspace_code_lens_refresh(None)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """Nothing is shown of a document that is closed."""
    uri = params.text_document.uri
    ls.documents.forget(uri)
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, _FIX_ALL_KIND]),
)
async def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes at a place, and all safe ones."""
    found = await ls.look(params.text_document.uri)
    if found is None:
        return []
    only = params.context.only
    wanted = found.at(params.text_document.uri, params.range)
    actions = []
    if _asked(types.CodeActionKind.QuickFix.value, only):
        for fix in await ls.documents.call(lambda: list(fixes(found.session, found.seen, wanted))):
            about = [found.diagnostic(fix.finding)[1]] if fix.finding is not None else None
            actions.append(_action(ls, found, fix, types.CodeActionKind.QuickFix, about))
    if _asked(_FIX_ALL_KIND, only):
        every = await ls.documents.call(fix_all, found.session, found.seen)
        if every is not None:
            actions.append(_action(ls, found, every, _FIX_ALL_KIND, None))
    return actions


def _asked(kind: str, only: Any) -> bool:
    """Whether the client wants actions of a kind: it may name one that stands above it."""
    names = [str(getattr(one, "value", one)) for one in only or ()]
    return not names or any(kind == name or kind.startswith(f"{name}.") for name in names)


def _action(
    ls: Server, found: Document, fix: Any, kind: types.CodeActionKind | str, about: list[types.Diagnostic] | None
) -> types.CodeAction:
    edit = found.edit(fix, versioned=ls.versioned)
    return types.CodeAction(fix.title, kind=kind, diagnostics=about, is_preferred=fix.is_preferred or None, edit=edit)


@server.feature(types.TEXT_DOCUMENT_HOVER)
async def on_hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """What is known of a place."""
    uri = params.text_document.uri
    found = await ls.look(uri)
    part = found.part(uri) if found is not None else None
    if found is None or part is None:
        return None
    here = found.at(uri, types.Range(params.position, params.position))
    line, column = part.lines.line(params.position.line), part.lines.column(params.position)
    text = await ls.documents.call(hover, found.session, found.seen, here, line, column)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


@server.feature(types.TEXT_DOCUMENT_CODE_LENS)
async def code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    """How much is left, above the first line of a file or a cell."""
    uri = params.text_document.uri
    found = await ls.look(uri)
    title = lens(found.of_part(uri)) if found is not None else ""
    if found is None or not title:
        return []
    top = types.Position(0, 0)
    return [types.CodeLens(types.Range(top, top), types.Command(title=title, command=FIX_ALL, arguments=[found.uri]))]


@server.command(FIX_ALL)
async def fix_document(ls: Server, uri: str) -> None:
    """Make all safe edits in a document."""
    found = await ls.look(uri)
    every = await ls.documents.call(fix_all, found.session, found.seen) if found is not None else None
    if found is None or every is None:
        said = phrase("npuify: there is nothing to edit here")
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))
        return
    edit = found.edit(every, versioned=ls.versioned)
    await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, every.title))


# --- the workspace ---


@server.command(SCAN)
async def scan_workspace(ls: Server) -> None:
    """Scan all folders of the workspace, and show what is found in files that are not open."""
    for uri in list(ls.workspace.folders):
        folder = uris.to_fs_path(uri)
        if folder:
            await _scan(ls, Path(folder))


async def _scan(ls: Server, folder: Path) -> None:
    window = ls.client_capabilities.window
    token: str | None = None
    if window is not None and window.work_done_progress:
        token = f"npuify-{uuid.uuid4()}"
        await ls.work_done_progress.create_async(token)
        begin = types.WorkDoneProgressBegin(phrase("npuify: scanning"), cancellable=True, percentage=0)
        ls.work_done_progress.begin(token, begin)
    loop = asyncio.get_running_loop()

    def tell(report: types.WorkDoneProgressReport) -> None:
        if token is not None and not ls.documents.closed:
            ls.work_done_progress.report(token, report)

    def show(done: int, total: int) -> None:
        if token is not None:
            report = types.WorkDoneProgressReport(
                message=phrase("{done} of {total} files", done=done, total=total),
                percentage=100 * done // max(total, 1),
            )
            loop.call_soon_threadsafe(tell, report)

    def is_cancelled() -> bool:
        return ls.documents.closed or (token is not None and ls.work_done_progress.tokens[token].cancelled())

    message = ""
    try:
        found = await loop.run_in_executor(None, scan_folder, folder, show, is_cancelled)
        message = plural("{count} place", "{count} places", len(found.findings))
        _show(ls, folder, found)
    except Cancelled:
        message = phrase("cancelled")
    except NpuifyError as error:
        message = phrase("failed")
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"npuify: {error}"))
    if token is not None and not ls.documents.closed:
        ls.work_done_progress.end(token, types.WorkDoneProgressEnd(message=message))


def _show(ls: Server, folder: Path, found: Found) -> None:
    by_file: dict[str, tuple[list[Finding], list[FileError]]] = {}
    for finding in found.findings:
        by_file.setdefault(finding.file, ([], []))[0].append(finding)
    for error in found.errors:
        by_file.setdefault(error.file, ([], []))[1].append(error)
    for relative, (findings, errors) in by_file.items():
        path = folder / relative
        uri = path.as_uri()
        if opened(ls.workspace, uri) is not None or ls.workspace.get_notebook_document(notebook_uri=uri) is not None:
            continue
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        lines = convert.Lines(text, encoding_of(ls.workspace))
        shown = [convert.diagnostic(one, place) for one in findings for place in convert.spans(one, lines)]
        shown += [convert.failure(one, lines.position(max(one.line, 1), 1)) for one in errors]
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown))


def start(*, language_was_said: bool = False) -> None:
    """Serve one client over standard input and output, until it goes.

    Args:
        language_was_said: on the command line; else an editor in Chinese is spoken to in Chinese.
    """
    server.language_was_said = language_was_said
    try:
        server.start_io()
    finally:
        server.documents.close()
