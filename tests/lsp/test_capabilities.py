"""The language server, asked by pytest-lsp as editors that say what they can do; what it answers has to keep to that."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")

from lsprotocol import types  # noqa: E402

import npuify  # noqa: E402

SECONDS = 60
TRAIN = "import torch\n\nname = '😀'; model = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"


@pytest.mark.parametrize("editor", ["visual-studio-code", "neovim@0.6", "neovim@0.8", "neovim@0.11", "emacs"])
def test_answers_are_what_the_editor_takes(editor: str, tmp_path: Path) -> None:
    folder = tmp_path / "a project"
    folder.mkdir()
    file = folder / "train.py"
    file.write_text(TRAIN, encoding="utf-8")
    source = os.pathsep.join([str(Path(npuify.__file__).parents[1]), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": source, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    async def session() -> None:
        client: Any = pytest_lsp.make_test_lsp_client()
        await client.start_io(sys.executable, "-m", "npuify", "lsp", env=environment)
        capabilities = pytest_lsp.client_capabilities(editor)
        folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)]
        await client.initialize_session(
            types.InitializeParams(capabilities, workspace_folders=folders, root_uri=folder.as_uri())
        )
        try:
            uri = file.as_uri()
            document = types.TextDocumentIdentifier(uri)
            opened = types.TextDocumentItem(uri, "python", 1, TRAIN)
            client.text_document_did_open(types.DidOpenTextDocumentParams(opened))
            while not client.diagnostics.get(uri):
                await client.wait_for_notification("textDocument/publishDiagnostics")
            shown = client.diagnostics[uri]
            assert [one.code for one in shown] == ["NPU110", "NPU101"]
            context = types.CodeActionContext(shown)
            whole = types.Range(types.Position(0, 0), types.Position(4, 0))
            actions = await client.text_document_code_action_async(types.CodeActionParams(document, whole, context))
            every = next(one for one in actions if one.kind == "source.fixAll.npuify")
            # Without versions of documents an editor is given plain edits.
            edit = capabilities.workspace.workspace_edit if capabilities.workspace else None
            assert bool(every.edit.document_changes) == bool(edit and edit.document_changes)
            assert bool(every.edit.changes) != bool(every.edit.document_changes)
            hover = await client.text_document_hover_async(types.HoverParams(document, shown[1].range.start))
            assert "torch.npu.synchronize" in hover.contents.value
            (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document))
            assert lens.command.title.startswith("npuify: 2 places left")
        finally:
            await client.shutdown_session()

    with warnings.catch_warnings():
        warnings.simplefilter("error", pytest_lsp.LspSpecificationWarning)
        asyncio.run(asyncio.wait_for(session(), SECONDS))
