"""The language server, asked by pygls' own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

import npuify
from npuify.options import Options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

SECONDS = 60
TRAIN = "import torch\n\nname = '😀'; model = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"
SCRIPT = "#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=0\nnvidia-smi\n"


class Editor(LanguageClient):
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.shown: dict[tuple[str, int | None], list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.refreshed = 0
        self.progress: list[Any] = []
        self.token: int | str = ""
        self.edits: list[types.WorkspaceEdit] = []
        self.changed = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def shown(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri, params.version] = list(params.diagnostics)
            self.changed.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def said(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self.changed.set()

        @self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            return None

        @self.feature(types.PROGRESS)
        def went_on(params: types.ProgressParams) -> None:
            self.progress.append(params.value)
            self.token = params.token
            self.changed.set()

        @self.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh(params: None) -> None:
            self.refreshed += 1
            self.changed.set()

        @self.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

    async def until(self, told: Callable[[], bool]) -> None:
        """Wait for what the server tells."""
        while not told():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), SECONDS)

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        await self.until(lambda: (uri, version) in self.shown)
        return self.shown[uri, version]

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        content = path.read_text(encoding="utf-8") if text is None else text
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, content)))
        return uri

    def type(self, uri: str, version: int, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(version=version, uri=uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


def edit(
    root: Path,
    steps: Callable[[Editor], Awaitable[None]],
    *,
    scan: bool = False,
    locale: str | None = None,
    **general: Any,
) -> None:
    """Start a server, do what an editor does, and end it."""

    async def session() -> None:
        editor = Editor()
        source = Path(npuify.__file__).parents[1]
        path = os.pathsep.join([str(source), *filter(None, sys.path)])
        environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(root.parent / "cache")}
        await editor.start_io(sys.executable, "-m", "npuify", "lsp", env=environment)
        workspace = types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        )
        capabilities = types.ClientCapabilities(
            workspace=workspace,
            window=types.WindowClientCapabilities(work_done_progress=True),
            general=types.GeneralClientCapabilities(**general) if general else None,
        )
        await editor.initialize_async(
            types.InitializeParams(
                capabilities=capabilities,
                locale=locale,
                workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
                initialization_options={"scan": scan},
            )
        )
        editor.initialized(types.InitializedParams())
        try:
            await steps(editor)
        finally:
            await editor.shutdown_async(None)
            editor.exit(None)
            await asyncio.wait_for(editor.stop(), SECONDS)

    def run(session: Coroutine[Any, Any, None]) -> None:
        asyncio.run(asyncio.wait_for(session, SECONDS))

    run(session())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "run.sh").write_text(SCRIPT)
    return folder


def whole(actions: Any, title: str) -> types.CodeAction:
    return next(one for one in actions if title in one.title)


def applied(text: str, edit: types.WorkspaceEdit | None) -> str:
    """The text with an edit of ASCII lines, or of whole lines."""
    assert edit is not None and edit.document_changes
    (change,) = edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    lines = text.splitlines(keepends=True)
    for one in reversed(change.edits):
        assert isinstance(one, types.TextEdit) and one.range.start.character == 0
        lines[one.range.start.line : one.range.end.line] = one.new_text.splitlines(keepends=True)
    return "".join(lines)


def place(diagnostic: types.Diagnostic) -> tuple[int, int, int]:
    return diagnostic.range.start.line, diagnostic.range.start.character, diagnostic.range.end.character


def test_from_the_first_diagnostic_to_the_last_fix(project: Path) -> None:
    async def steps(editor: Editor) -> None:
        uri = editor.open(project / "train.py")
        shown = await editor.diagnostics(uri)
        cuda, synchronize = shown
        assert (cuda.code, cuda.source, cuda.severity) == ("NPU110", "npuify", types.DiagnosticSeverity.Error)
        # The picture before it takes two units of UTF-16.
        line = TRAIN.splitlines()[2]
        begin = line.index("torch") + 1
        assert place(cuda) == (2, begin, len(line) - 1)

        document = types.TextDocumentIdentifier(uri)
        context = types.CodeActionContext(shown)
        actions = await editor.text_document_code_action_async(types.CodeActionParams(document, cuda.range, context))
        fix = whole(actions, "cuda → npu")
        assert fix.is_preferred and fix.kind == types.CodeActionKind.QuickFix
        made = applied(TRAIN, fix.edit)
        assert ".npu()" in made and "import torch_npu" in made and "torch.cuda.synchronize" in made
        ignored = applied(TRAIN, whole(actions, "ignore").edit)
        assert "Linear(2, 2).cuda()  # npuify: ignore[NPU110]\n" in ignored
        every = whole(actions, "make all safe edits")
        assert every.kind == "source.fixAll.npuify"
        result = applied(TRAIN, every.edit)
        done = npuify.migrate(project, None, Options(cache=False, jobs=1), mode="diff")
        assert set(result.splitlines()) - set(TRAIN.splitlines()) == {
            line[1:] for line in done.diff.partition("--- a/train.py")[2].splitlines()
            if line.startswith("+") and not line.startswith("+++")
        }  # fmt: skip

        hover = await editor.text_document_hover_async(types.HoverParams(document, synchronize.range.start))
        assert hover is not None and isinstance(hover.contents, types.MarkupContent)
        assert all(word in hover.contents.value for word in (synchronize.code, "Known: ", "Source: ", "torch_npu 2."))
        (lens,) = await editor.text_document_code_lens_async(types.CodeLensParams(document))
        assert lens.command is not None and lens.command.title == "npuify: 2 places left, 2 with an edit"
        await editor.workspace_execute_command_async(
            types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
        )
        assert applied(TRAIN, editor.edits[-1]) == result

        editor.type(uri, 2, result)
        assert await editor.diagnostics(uri, 2) == []
        editor.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert await editor.diagnostics(uri, None) == []

    edit(project, steps)


def test_only_the_newest_version_is_looked_at(project: Path) -> None:
    async def steps(editor: Editor) -> None:
        uri = editor.open(project / "train.py")
        for version in range(2, 40):
            editor.type(uri, version, TRAIN + "x = 1\n" * version)
        editor.type(uri, 40, TRAIN + "y = torch.cuda.device_count()\n")
        assert len(await editor.diagnostics(uri, 40)) == 3
        assert len({version for one, version in editor.shown if one == uri}) < 20
        # A broken text does not end it.
        editor.type(uri, 41, "def f(:\n torch.cuda.x(\n")
        assert await editor.diagnostics(uri, 41)

    edit(project, steps)


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("run.sh", SCRIPT, {"NPU708"}),
        (
            "a.ipynb",
            json.dumps(
                {
                    "cells": [
                        {
                            "cell_type": "code",
                            "source": ["import torch\n", "torch.ones(1).cuda()"],
                            "metadata": {},
                            "outputs": [],
                            "execution_count": None,
                        }
                    ],
                    "metadata": {},
                    "nbformat": 4,
                    "nbformat_minor": 5,
                },
                indent=1,
            ),
            {"NPU110"},
        ),
        ("config.yaml", "device: cuda\nbackend: nccl\n", set()),
        ("notes.md", "x.cuda()\n", set()),
    ],
)
def test_kinds_of_files(project: Path, name: str, text: str, codes: set[str]) -> None:
    (project / name).write_text(text)

    async def steps(editor: Editor) -> None:
        shown = await editor.diagnostics(editor.open(project / name))
        assert codes <= {str(one.code) for one in shown}
        result = npuify.scan([project], Options(cache=False, jobs=1))
        expected = [(one.code, one.start.line - 1) for one in result.findings if one.file == name]
        assert [(one.code, one.range.start.line) for one in shown] == expected, "all faces say the same"

    edit(project, steps)


def test_settings_count_and_wrong_ones_are_told_once(project: Path) -> None:
    settings = project / "pyproject.toml"
    settings.write_text('[tool.npuify]\nignore = ["NPU110"]\n')

    async def steps(editor: Editor) -> None:
        uri = editor.open(project / "train.py")
        assert [one.code for one in await editor.diagnostics(uri)] == ["NPU101"]
        editor.shown.clear()
        settings.write_text("[tool.npuify]\nignored = 1\n")
        saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(settings.as_uri()))
        editor.text_document_did_save(saved)
        await editor.until(lambda: bool(editor.messages))
        editor.type(uri, 2, TRAIN)
        settings.write_text("")
        editor.text_document_did_save(saved)
        assert len(await editor.diagnostics(uri, 2)) == 2
        assert len(editor.messages) == 1 and "ignored" in editor.messages[0]

    edit(project, steps)


def kinds(editor: Editor) -> list[str]:
    return [one["kind"] for one in editor.progress]


def test_the_workspace_is_scanned_with_progress(project: Path) -> None:
    (project / "gone.py").write_text(TRAIN, encoding="utf-8")

    async def steps(editor: Editor) -> None:
        uri = (project / "gone.py").as_uri()
        assert [one.range.start.line for one in await editor.diagnostics(uri, None)] == [2, 3]
        await editor.until(lambda: "end" in kinds(editor))
        assert kinds(editor)[0] == "begin" and editor.progress[0]["cancellable"] and "report" in kinds(editor)
        assert not editor.messages

    edit(project, steps, scan=True)


def test_a_scan_can_be_cancelled(project: Path) -> None:
    for number in range(200):
        (project / f"file{number}.py").write_text(TRAIN, encoding="utf-8")

    async def steps(editor: Editor) -> None:
        await editor.until(lambda: "begin" in kinds(editor))
        editor.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(editor.token))
        await editor.until(lambda: "end" in kinds(editor))
        assert editor.progress[-1]["message"] == "cancelled" and not editor.shown
        # The server goes on.
        assert await editor.diagnostics(editor.open(project / "train.py"))

    edit(project, steps, scan=True)


@pytest.mark.parametrize("encoding", [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf32])
def test_columns_in_the_units_of_the_client(project: Path, encoding: types.PositionEncodingKind) -> None:
    async def steps(editor: Editor) -> None:
        shown = await editor.diagnostics(editor.open(project / "train.py"))
        before = TRAIN.splitlines()[2].partition("torch")[0]
        units = len(before.encode()) if encoding is types.PositionEncodingKind.Utf8 else len(before)
        assert shown[0].range.start.character == units

    edit(project, steps, position_encodings=[encoding])


def test_without_pygls_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from npuify.cli.app import app

    monkeypatch.setitem(sys.modules, "pygls", None)
    done = CliRunner().invoke(app, ["lsp"])
    assert done.exit_code == 2 and "pip install 'npuify[lsp]'" in done.output
