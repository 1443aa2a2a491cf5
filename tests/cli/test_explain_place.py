"""``npuify explain FILE:LINE[:COLUMN]``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import npuify
from npuify.model import NpuifyError

from ..analysis.test_page import ANSWERS, FILES
from .test_commands import run


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("file", "line", "column", "expected"), ANSWERS)
def test_the_answers_of_the_page(project: Path, file: str, line: str, column: str, expected: str) -> None:
    done = run("explain", f"{file}:{line}:{column}")
    assert (done.exit_code, done.stdout) == (0, expected)


def test_json(project: Path) -> None:
    (row,) = json.loads(run("explain", "train.py:4:9", "--format", "json").stdout)
    assert row["code"] == '"cuda"'
    assert row["values"][0]["value"] == "device string 'cuda'"
    assert row["uses"][0]["value"].startswith("a device: ")


def test_what_cannot_be_explained(project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    (project / "page.md").write_text("text\n")
    for what, said in (
        ("gone.py:1", "gone.py: there is no such file"),
        ("page.md:1", "page.md: only places in Python files can be explained"),
        ("broken.py:1", "broken.py:1: cannot be parsed"),
        ("train.py:3", "train.py:3: there is no expression here"),
        ("train.py:999:7", "train.py:999: there is no expression here"),
    ):
        done = run("explain", what)
        assert done.exit_code == 2
        assert said in done.stderr, what


def test_the_project_is_the_nearest_folder_that_looks_like_one(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "made.py").write_text("import torch\nthing = torch.nn.Linear(1, 1)\n")
    (tmp_path / "scripts").mkdir()
    use = tmp_path / "scripts" / "use.py"
    use.write_text("from made import thing\nthing.cuda()\n")
    rows = {row.code: row for row in npuify.explain_place(use, 2)}
    assert rows["thing"].place == "scripts/use.py:2:1"
    assert rows["thing"].values[0].value == "nn.Module torch.nn.Linear"
    alone = {row.code: row for row in npuify.explain_place(use, 2, project=use.parent)}
    assert alone["thing"].values[0].value != rows["thing"].values[0].value
    with pytest.raises(NpuifyError, match="not in the project"):
        npuify.explain_place(tmp_path / "made.py", 1, project=use.parent)


def test_an_import_is_explained_by_what_it_brings(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "made.py").write_text("device = 'cuda:0'\n")
    use = tmp_path / "use.py"
    use.write_text(
        "import os, torch.nn as nn\nfrom torch import cuda as é, device\nfrom made import device\nfrom os import *\n"
    )
    told = [
        [(row.place, row.code, row.values[0].value) for row in npuify.explain_place(use, line)] for line in (1, 2, 3)
    ]
    assert told == [
        [("use.py:1:8", "os", "name of a package os"), ("use.py:1:12", "nn", "module of torch torch.nn")],
        [("use.py:2:19", "é", "module of torch torch.cuda"), ("use.py:2:30", "device", "name of torch torch.device")],
        [("use.py:3:18", "device", "device string 'cuda:0'")],
    ]
    (row,) = npuify.explain_place(use, 2, 20)
    assert row.code == "é"
    with pytest.raises(NpuifyError, match="no expression"):
        npuify.explain_place(use, 4)
