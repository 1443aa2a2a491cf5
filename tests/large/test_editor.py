"""``npuify lsp`` on large projects: a scan of the workspace, a long file that is typed in, its edits; and Neovim."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pytest

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from lsprotocol import types

import npuify
from npuify.editor.session import options_for
from npuify.options import Options

from ..lsp import test_neovim, test_server
from .projects import PROJECTS, Measured, copied, cpu_of, memory_of

if TYPE_CHECKING:
    from ..lsp.test_server import Editor

pytestmark = [pytest.mark.thorough, pytest.mark.slow]
LINES = 1000
TIMES = 15
MOST = 0.1
"""CPU seconds of the server for a change of a file of 1,000 lines, in the median: it is CPU, so no other work counts."""


def _longest(project: Path, found: set[str]) -> Path:
    """The file with findings whose length is nearest to 1,000 lines."""
    every = (project / name for name in found if name.endswith(".py"))
    return min(every, key=lambda path: abs(path.read_bytes().count(b"\n") - LINES))


@PROJECTS
def test_a_large_workspace(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = copied(checkout, tmp_path / checkout.name)
    expected = npuify.scan([project], Options(cache=False)).findings
    monkeypatch.setattr(test_server, "SECONDS", 300)

    async def steps(editor: Editor) -> None:
        server: Any = editor._server
        told = Measured("lsp", project, lambda: cpu_of(server.pid))
        await editor.until(lambda: "end" in test_server.kinds(editor))
        shown = {
            (Path(unquote(urlparse(uri).path)).relative_to(project).as_posix(), one.range.start.line + 1, one.code)
            for (uri, _), every in editor.shown.items()
            for one in every
            if one.code
        }
        told.step("scan of the workspace", len(shown))
        assert shown == {(one.file, one.start.line, one.code) for one in expected}
        path = _longest(project, {one.file for one in expected})
        text = path.read_text(encoding="utf-8")
        uri = editor.open(path)
        seen = await editor.diagnostics(uri)
        told.step(f"open {path.name}, {len(text.splitlines())} lines", len(seen))
        taken = []
        for version in range(2, 2 + TIMES):
            before = cpu_of(server.pid)
            editor.type(uri, version, text + f"\ntyped_{version} = 1\n")
            await editor.diagnostics(uri, version)
            taken.append(cpu_of(server.pid) - before)
        told.step(f"{TIMES} changes")
        print(f"  a change: median {statistics.median(taken) * 1000:.0f} ms of CPU, worst {max(taken) * 1000:.0f} ms")
        assert statistics.median(taken) <= MOST, taken
        version = 2 + TIMES
        editor.type(uri, version, text)
        seen = await editor.diagnostics(uri, version)
        document = types.TextDocumentIdentifier(uri)
        params = types.CodeActionParams(document, seen[0].range, types.CodeActionContext(seen))
        actions = await editor.text_document_code_action_async(params)
        told.step("quick fixes", len(actions or []))
        hover = await editor.text_document_hover_async(types.HoverParams(document, seen[0].range.start))
        assert hover is not None
        told.step("hover", len(str(hover.contents)))
        # Of a file with notes alone there is none.
        lenses = await editor.text_document_code_lens_async(types.CodeLensParams(document)) or []
        told.step("lens", len(lenses))
        editor.text_document_did_save(types.DidSaveTextDocumentParams(document))
        editor.type(uri, version + 1, text + "\n")
        await editor.diagnostics(uri, version + 1)
        told.step("a save, and a change")
        print(f"  most memory: {memory_of(server.pid)} MiB")

    test_server.edit(project, steps, scan=True)


@PROJECTS
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed")
def test_neovim_in_a_large_project(checkout: Path, tmp_path: Path) -> None:
    project = copied(checkout, tmp_path / checkout.name)
    with (project / "pyproject.toml").open("a", encoding="utf-8") as settings:
        settings.write("\n[tool.npuify]\nunsafe = true\n")
    options = options_for(project, jobs=0)
    plan = npuify.migrate(project, None, options, mode="diff")
    changed = {one.file for one in plan.changes}
    # What is left of a file stays shown: one that is wholly edited shows when the server is done.
    left = {one.file for one in plan.left}
    path = _longest(project, (changed - left) or changed)
    before = path.read_text(encoding="utf-8")
    out = tmp_path / "expected"
    npuify.migrate(project, out, options)
    told = Measured("nvim", project)
    done = test_neovim.edited(path, tmp_path, folder=project)
    told.step(f"{path.name}, {len(before.splitlines())} lines: open, fix all, save")
    assert done["why"] in ("", "diagnostics stay") and done["before"], done
    # Neovim ends the last line of a file.
    after = (out / path.relative_to(project)).read_text(encoding="utf-8").rstrip("\n") + "\n"
    assert path.read_text(encoding="utf-8") == after != before
