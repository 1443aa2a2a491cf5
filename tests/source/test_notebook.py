"""Places in a notebook's JSON, and what of a cell is Python."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuify.rewrite.edits import apply_edits
from npuify.source.notebook.cells import CellText, read_notebook
from npuify.source.notebook.magics import mask, without_automagic
from npuify.source.pip_command import as_argument, pip_commands
from npuify.source.text import UnreadableText


def _notebook(sources: list[object], **layout: object) -> bytes:
    cells = [{"cell_type": "code", "outputs": [{"text": ['[{"x": 1}']}], "source": source} for source in sources]
    cells.insert(1, {"cell_type": "markdown", "source": ["not *code* {\n"]})
    return json.dumps({"metadata": {"a": '"]}'}, "cells": cells, "nbformat": 4}, **layout).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{"nbformat": 4}', b'{"cells": [}', b"\xff", b'{"cells": ' + b"[" * 9999]
)
def test_what_is_no_notebook_is_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableText):
        read_notebook(raw)


@pytest.mark.parametrize("raw", [b'{"cells": 3}', b'{"cells": [1, null]}', b'{"cells": [{"cell_type": "code"}]}'])
def test_strange_notebooks_have_no_cells(raw: bytes) -> None:
    assert read_notebook(raw).cells == ()


def test_cells_are_counted_with_those_that_are_not_code() -> None:
    notebook = read_notebook(_notebook([["a\n", "b"], "c"]))
    assert [cell.number for cell in notebook.cells] == [1, 3]
    assert [CellText(notebook, cell).text for cell in notebook.cells] == [b"a\nb", b"c"]


def test_format_3() -> None:
    raw = b'{"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"], "language": "python"}]}]}'
    notebook = read_notebook(raw)
    assert CellText(notebook, notebook.cells[0]).text == b"x = 1"


@pytest.mark.parametrize(
    ("metadata", "is_python"),
    [
        ({}, True),
        ({"language_info": {"name": "python"}}, True),
        ({"language_info": {"name": "R"}}, False),
        ({"kernelspec": {"language": "julia"}}, False),
        ({"kernelspec": "odd"}, True),
    ],
)
def test_language(metadata: object, is_python: bool) -> None:
    assert read_notebook(json.dumps({"metadata": metadata, "cells": []}).encode()).is_python is is_python


def _edited(raw: bytes, start: int, end: int, after: str) -> bytes:
    notebook = read_notebook(raw)
    edit = CellText(notebook, notebook.cells[0]).edit(start, end, after)
    assert edit is not None
    return apply_edits(raw, [edit])


def _source(raw: bytes) -> object:
    return json.loads(raw)["cells"][0]["source"]


def test_a_line_put_between_lines_becomes_a_string_of_its_own() -> None:
    raw = _notebook([["import torch\n", "x = 1"]], indent=1)
    after = _edited(raw, 13, 13, "import torch_npu\n")
    assert _source(after) == ["import torch\n", "import torch_npu\n", "x = 1"]
    assert len(after.splitlines()) == len(raw.splitlines()) + 1


def test_a_line_put_at_the_end() -> None:
    raw = _notebook([["import torch"]], indent=1)
    assert _source(_edited(raw, 12, 12, "\nimport torch_npu")) == ["import torch\n", "import torch_npu"]
    assert (
        _source(_edited(_notebook(["import torch"]), 12, 12, "\nimport torch_npu")) == "import torch\nimport torch_npu"
    )


def test_an_edit_over_several_lines() -> None:
    raw = _notebook([["f(\n", "  a,\n", "  b)\n", "g()"]], indent=2)
    assert _source(_edited(raw, 0, 12, "h(\n c)")) == ["h(\n", " c)\n", "g()"]


def test_escapes_and_characters_beyond_ascii() -> None:
    raw = b'{"cells": [{"cell_type": "code", "source": ["s = \\"\\ud83d\\ude00 \\u00e9\\"; d = \\"cuda\\"\\n"]}]}'
    notebook = read_notebook(raw)
    cell = CellText(notebook, notebook.cells[0])
    at = cell.text.index(b"cuda")
    edit = cell.edit(at, at + 4, "npu é")
    assert edit is not None
    assert apply_edits(raw, [edit]) == raw.replace(b"cuda", b"npu \\u00e9")
    whole = cell.edit(0, len(cell.text), "x")
    assert whole is not None
    assert whole.before == raw[raw.index(b"s = ") : raw.index(b'"]')].decode()


def test_a_lone_surrogate_is_left_alone() -> None:
    raw = b'{"cells": [{"cell_type": "code", "source": "a = \'\\ud800\'; b = 1"}]}'
    notebook = read_notebook(raw)
    cell = CellText(notebook, notebook.cells[0])
    assert cell.text == b"a = '???'; b = 1"
    assert cell.edit(0, len(cell.text), "x") is None
    assert cell.edit(14, 15, "2") is not None


_LINES = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=8).map(lambda line: line.replace("\r", "")), max_size=6
)


@settings(max_examples=300, deadline=None)
@given(_LINES, st.booleans(), st.booleans(), st.sampled_from([None, 1, "\t"]), st.data())
def test_an_edit_of_the_source_is_that_edit_of_the_json(
    lines: list[str], as_list: bool, ascii_only: bool, indent: object, data: st.DataObject
) -> None:
    text = "\n".join(lines)
    source: object = text.splitlines(keepends=True) if as_list else text
    raw = _notebook([source], indent=indent, ensure_ascii=ascii_only)
    notebook = read_notebook(raw)
    numbers = [cell.number for cell in notebook.cells]
    if 1 not in numbers:
        assert source == []
        return
    cell = CellText(notebook, notebook.cells[0])
    assert cell.text.decode() == text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = data.draw(st.sampled_from(["", "x", "é\n", "a\nb", '"\\\n']))
    edit = cell.edit(len(text[:start].encode()), len(text[:end].encode()), new)
    assert edit is not None
    after = json.loads(apply_edits(raw, [edit]))
    got = after["cells"][0].pop("source")
    assert "".join(got) == text[:start] + new + text[end:]
    before = json.loads(raw)
    del before["cells"][0]["source"]
    assert after == before


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\nprint('%d' % x)",
        "y = (a\n  % b)",
        's = """\n!not a command\n%nor this\n"""',
        "a = b \\\n  % c",
        "f(x)  # what?",
    ],
)
def test_plain_python_stays(cell: str) -> None:
    assert mask(cell.encode()).text == cell.encode()


@pytest.mark.parametrize(
    ("cell", "shell"),
    [
        ("%matplotlib inline\nimport torch", []),
        ("!ls -l\nx = 1", ["ls -l"]),
        ("if a:\n    !pip install b \\\n       c\nelse:\n    pass", ["pip install b \\\n       c"]),
        ("files = !ls *.py\nprint(files)", ["ls *.py"]),
        ("%time model.cuda()", []),
        ("%%time\nmodel.cuda()", []),
        ("torch.nn?\n?x\nlen??", []),
        ("%pip install torch", ["pip install torch"]),
        ("%load_ext autoreload\n%autoreload 2", []),
        ("!", [""]),
        ("!é\nx", ["é"]),
        ("x = %env HOME", []),
    ],
)
def test_magics_are_overwritten_in_place(cell: str, shell: list[str]) -> None:
    raw = cell.encode()
    masked = mask(raw)
    assert len(masked.text) == len(raw)
    assert masked.text.count(b"\n") == raw.count(b"\n")
    ast.parse(masked.text)
    assert [raw[start:end].decode() for start, end in masked.shell] == shell


def test_code_behind_a_timing_magic_is_code() -> None:
    assert b"model.cuda()" in mask(b"%time model.cuda()").text
    assert mask(b"%%timeit -n 3\nmodel.cuda()").text.endswith(b"\nmodel.cuda()")


def test_cells_in_other_languages_are_no_python() -> None:
    masked = mask(b"%%bash\nnvidia-smi")
    assert (masked.text, masked.shell, masked.writes) == (b"", ((7, 17),), None)
    assert mask(b"%%html\n<b>x</b>").text == b""
    assert mask(b"%%writefile -a a.py\nimport torch").writes == ("a.py", 20, True)
    assert mask(b"%env A=b\n%set_env C d\n%env").environment == ((5, 8), (18, 21))


def test_commands_without_a_sign() -> None:
    masked = without_automagic(mask(b"pip install torch\nx = 1"))
    assert ast.parse(masked.text)
    assert masked.shell == ((0, 17),)
    assert without_automagic(mask(b"cd = 3\nls = [1]")).text == b"cd = 3\nls = [1]"


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("!%?x=\n \\'\"#(){}é"), max_size=30))
def test_masking_keeps_length_and_lines(text: str) -> None:
    raw = text.encode()
    masked = mask(raw)
    assert len(masked.text) in (0, len(raw))
    if masked.text:
        assert masked.text.count(b"\n") == raw.count(b"\n")


@pytest.mark.parametrize(
    ("command", "requirements"),
    [
        ("pip install torch==1.7 -q", ["torch==1.7"]),
        ("pip install 'torch>=1.7' \"x[y]\" && pip3 install z", ["torch>=1.7", "x[y]", "z"]),
        ("python -m pip install -r req.txt numpy", ["numpy"]),
        ("pip install -f https://x/whl torch ; echo torchvision", ["torch"]),
        ("pip list", []),
        ("echo pip", []),
    ],
)
def test_requirements_of_a_command(command: str, requirements: list[str]) -> None:
    raw = command.encode()
    found = []
    for one in pip_commands(raw, 0, len(raw)):
        assert len(one.text) <= len(raw) - one.start
        found += [raw[start:end].decode().strip("'\"") for start, end in one.arguments]
    assert found == requirements


def test_signs_of_the_shell_are_quoted() -> None:
    assert as_argument("torch>=2") == '"torch>=2"'
    assert as_argument("torch==2.1") == "torch==2.1"
