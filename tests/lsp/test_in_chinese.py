"""What an editor shows is in the user's language: findings, fixes, hover, lens, progress, messages. A lens is no older
than the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from lsprotocol import types

from ..language.test_all_in_chinese import english_lines
from .test_server import TRAIN, Editor, edit

if TYPE_CHECKING:
    from pathlib import Path

CODE = (
    "import os\nimport apex\nimport flash_attn\nimport torch\nimport torch.distributed as dist\n\n"
    "os.environ['NCCL_DEBUG'] = 'INFO'\n"
    "dist.init_process_group('nccl')\nx = torch.ones(2).cuda()\nprint(torch.cuda.get_device_capability())\n"
    "print(flash_attn.flash_attn_func(x, x, x), apex, torch.cuda.nvtx.range_push('a'), torch.cuda.amp.GradScaler())\n"
    "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.cuda.synchronize()\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "train.py").write_text(CODE, encoding="utf-8")
    (folder / "broken.py").write_text("import torch\ntorch.cuda.(\n", encoding="utf-8")
    (folder / "run.sh").write_text("export CUDA_VISIBLE_DEVICES=0 NCCL_DEBUG=INFO\nnvidia-smi\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("said", [{"LANG": "zh_CN.UTF-8"}, {"LANG": "C", "editor": "zh-cn"}], ids=["locale", "editor"])
def test_an_editor_in_chinese(project: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, str]) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "NPUIFY_LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", said["LANG"])
    told: list[str] = []

    async def steps(editor: Editor) -> None:
        await editor.until(lambda: bool(editor.progress) and editor.progress[-1]["kind"] == "end")
        told.extend(one[key] for one in editor.progress for key in ("title", "message") if one.get(key))
        uri = editor.open(project / "train.py")
        document = types.TextDocumentIdentifier(uri)
        shown = await editor.diagnostics(uri)
        assert len(shown) > 8
        for _, ones in editor.shown.items():
            told.extend(one.message for one in ones)
        assert (project / "broken.py").as_uri() in {name for name, _ in editor.shown}
        for one in shown:
            hover = await editor.text_document_hover_async(types.HoverParams(document, one.range.start))
            assert hover is not None and isinstance(hover.contents, types.MarkupContent)
            # A source is quoted as it is called.
            told.append(hover.contents.value.replace("\\", "").partition("来源")[0])
        name = types.Position(9, CODE.splitlines()[9].index("get_device"))
        hover = await editor.text_document_hover_async(types.HoverParams(document, name))
        assert hover is not None
        everywhere = types.Range(types.Position(0, 0), types.Position(20, 0))
        actions = await editor.text_document_code_action_async(
            types.CodeActionParams(document, everywhere, types.CodeActionContext(shown))
        )
        assert actions
        told.extend(one.title for one in actions)
        (lens,) = await editor.text_document_code_lens_async(types.CodeLensParams(document))
        assert lens.command is not None
        told.append(lens.command.title)
        empty = editor.open(project / "empty.py", "print()\n")
        await editor.diagnostics(empty)
        await editor.workspace_execute_command_async(types.ExecuteCommandParams(lens.command.command, [empty]))
        await editor.until(lambda: bool(editor.messages))
        (project / "pyproject.toml").write_text("[tool.npuify]\nstyle = 'nice'\n")
        editor.text_document_did_save(types.DidSaveTextDocumentParams(document))
        await editor.until(lambda: len(editor.messages) > 1)
        told.extend(editor.messages)

    edit(project, steps, scan=True, locale=said.get("editor"))
    assert "npuify：正在扫描" in told
    wrong = [line for text in told for line in english_lines(text, code=CODE)]
    assert not wrong, "\n".join(wrong)
    assert not [text for text in told if text.isascii() and " " in text]


def test_a_lens_is_asked_for_again_once_files_have_changed(project: Path) -> None:
    async def steps(editor: Editor) -> None:
        uri = editor.open(project / "train.py", TRAIN)
        await editor.diagnostics(uri)
        (project / "pyproject.toml").write_text("[tool.npuify]\nignore = ['NPU1']\n")
        change = types.FileEvent((project / "pyproject.toml").as_uri(), types.FileChangeType.Created)
        editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
        await editor.until(lambda: editor.refreshed > 0)
        document = types.TextDocumentIdentifier(uri)
        assert not await editor.text_document_code_lens_async(types.CodeLensParams(document))

    edit(project, steps)


def test_a_client_that_goes_while_its_folder_is_scanned(project: Path) -> None:
    """Reports of progress were still sent, failed, and pygls told without end that telling failed: it never ended."""
    for number in range(200):
        (project / f"part{number}.py").write_text(CODE, encoding="utf-8")

    async def steps(editor: Editor) -> None:
        await editor.until(lambda: bool(editor.progress))

    edit(project, steps, scan=True)
