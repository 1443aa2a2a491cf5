"""A notebook in an editor that shows cells: each finding stands in its cell, and each edit is one of cells."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from lsprotocol import types

import npuify
from npuify.editor.cells import CellText, NotebookText
from npuify.editor.lines import Replacement
from npuify.options import Options

from .test_server import edit

if TYPE_CHECKING:
    from .test_server import Editor

TEXT = "# Ünïcode 😀"
CELLS = [
    'import torch\n\nname = "a\\t😀"; x = torch.ones(3).cuda()\ntorch.cuda.synchronize()',
    "%time torch.cuda.Event()\n",
]


def written(folder: Path) -> Path:
    path = folder / "a notebook.ipynb"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": TEXT}]
    cells += [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": cell.splitlines(keepends=True)}
        for cell in CELLS
    ]  # fmt: skip
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


def cell_uri(path: Path, number: int) -> str:
    return f"vscode-notebook-cell:{path.as_uri().removeprefix('file:')}#W{number}"


def opened(editor: Editor, path: Path) -> list[str]:
    """Open it as an editor does that was told which cells are wanted: the text is not among them."""
    uris = [cell_uri(path, number) for number in range(3)]
    kinds = [types.NotebookCellKind.Markup, types.NotebookCellKind.Code, types.NotebookCellKind.Code]
    cells = [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, uris, strict=True)]
    notebook = types.NotebookDocument(path.as_uri(), "jupyter-notebook", 1, cells)
    items = [types.TextDocumentItem(uri, "python", 1, cell) for uri, cell in zip(uris[1:], CELLS, strict=True)]
    editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
    return uris


def test_a_notebook_cell_by_cell(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path = written(project)

    async def steps(editor: Editor) -> None:
        _, first, second = opened(editor, path)
        found = [*await editor.diagnostics(first), *await editor.diagnostics(second)]
        places = [(one.code, one.range.start.line, one.range.start.character) for one in found]
        assert places == [("NPU110", 2, len('name = "a\\t😀😀"; x = ')), ("NPU101", 3, 0), ("NPU101", 0, 6)], "UTF-16"
        where = types.TextDocumentIdentifier(second)
        lenses = await editor.text_document_code_lens_async(types.CodeLensParams(where))
        assert lenses and lenses[0].command and lenses[0].command.title == "npuify: 1 place left, 1 with an edit"
        hover = await editor.text_document_hover_async(types.HoverParams(where, types.Position(0, 12)))
        assert hover is not None and "torch.cuda.Event" in str(hover.contents)

        actions = await editor.text_document_code_action_async(
            types.CodeActionParams(where, found[2].range, types.CodeActionContext([]))
        )
        titles = [one.title for one in actions or ()]
        assert titles == ["NPU101: cuda → npu", "NPU101: ignore on this line", "npuify: make all safe edits (4)"]
        silenced, every = [one.edit.document_changes for one in actions[1:]]
        assert [(one.text_document.uri, one.edits[0].new_text) for one in silenced] == [
            (second, "%time torch.cuda.Event()  # npuify: ignore[NPU101]\n")
        ]
        assert [(one.text_document.uri, one.text_document.version) for one in every] == [(first, 1), (second, 1)]

        expected = tmp_path / "expected"
        npuify.migrate(project, expected, Options(cache=False, jobs=1))
        cells = json.loads((expected / path.name).read_text())["cells"]
        after = ["".join(cell["source"]) for cell in cells[1:]]
        assert [applied(text, one.edits) for text, one in zip(CELLS, every, strict=True)] == after

        # The first cell is typed in, and the second one is taken away.
        identifier = types.VersionedTextDocumentIdentifier(version=2, uri=first)
        change = types.TextDocumentContentChangeWholeDocument("import torch\n" * 3 + "torch.cuda.synchronize()")
        cells_change = types.NotebookDocumentCellChanges(
            text_content=[types.NotebookDocumentCellContentChanges(identifier, [change])],
            structure=types.NotebookDocumentCellChangeStructure(
                types.NotebookCellArrayChange(start=2, delete_count=1), did_close=[where]
            ),
        )
        notebook = types.VersionedNotebookDocumentIdentifier(version=2, uri=path.as_uri())
        editor.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(notebook, types.NotebookDocumentChangeEvent(cells=cells_change))
        )
        found = await editor.diagnostics(first, 2)
        assert [(one.code, one.range.start.line) for one in found] == [("NPU101", 3)]
        await editor.until(lambda: editor.shown.get((second, None)) == [])

    edit(project, steps)


def applied(text: str, edits: list[types.TextEdit]) -> str:
    lines = text.splitlines(keepends=True)
    for one in reversed(edits):
        end = one.range.end.line + bool(one.range.end.character)
        lines[one.range.start.line : end] = [one.new_text]
    return "".join(lines)


def test_the_file_holds_the_cells_line_by_line() -> None:
    chance = random.Random(19)
    for _ in range(300):
        texts = [
            "".join(chance.choices('ab"\\\n\t\r😀\u2028é', k=chance.randrange(12))) for _ in range(chance.randrange(5))
        ]
        check([CellText(chance.random() < 0.5, text) for text in texts])


def check(cells: list[CellText]) -> None:
    notebook = NotebookText(cells)
    file = json.loads(notebook.text)
    assert ["".join(cell["source"]) for cell in file["cells"]] == [cell.text for cell in cells]
    assert notebook.replacements([]) == {}
    lines = notebook.text.split("\n")
    for number, line in enumerate(lines, start=1):
        place = notebook.place(number, len(line) + 1)
        if place is not None and line.startswith('"'):
            cell, row, _ = place
            held = json.loads(line.removesuffix(","))
            assert held and held in cells[cell].text, (cell, row)
            assert notebook.place(number, 2) == (cell, row, 1)
            made = notebook.replacements(
                [Replacement(number - 1, number, f"{json.dumps('new ' + held)}{line[len(line.removesuffix(',')) :]}\n")]
            )
            assert list(made) == [cell] and made[cell][0].first == row - 1
