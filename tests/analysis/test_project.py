"""What is known of a project's files, and which of them an answer rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.analysis.project import ProjectIndex
from npuify.distribute.reading.questions import Questions
from npuify.project.import_graph import ImportGraph

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "a.py": "from b import *\nfrom c import own\n",
    "b.py": "from c import *\nimport torch.cuda as cuda\n",
    "c.py": "from torch import *\nfrom a import *\ndef own(): ...\n",
    "broken.py": "def own(:\n",
}


@pytest.fixture
def project(tmp_path: Path) -> ProjectIndex:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return ProjectIndex(tmp_path, list(FILES), [])


@pytest.mark.parametrize(
    ("name", "target", "files"),
    [
        ("a.cuda.Event", "torch.cuda.Event", ("a.py", "b.py")),
        ("a.own", "c.own", ("a.py", "c.py")),
        ("b.own", "c.own", ("b.py", "c.py")),
        ("a.torch", "torch", ("a.py", "b.py", "c.py")),
        ("a.nowhere", None, ("a.py", "b.py", "c.py")),
        ("broken.own", None, ("broken.py",)),
    ],
)
def test_a_name_asked_for_twice_rests_on_the_same_files(
    name: str, target: str | None, files: tuple[str, ...], project: ProjectIndex
) -> None:
    first, second = project.view(), project.view()
    assert (first.reexport(name), second.reexport(name)) == (target, target)
    assert first.dependencies == second.dependencies
    assert first.dependencies <= set(files)


def test_what_is_asked_once_is_noted_each_time(project: ProjectIndex) -> None:
    asked = []

    def answer(view: ProjectIndex) -> int:
        asked.append(view.load("a.py"))
        return view.once("inner", lambda inner: 1 if inner.load("b.py") else 0)

    views = project.view(), project.view()
    assert [view.once("outer", answer) for view in views] == [1, 1]
    assert len(asked) == 1
    assert all(view.dependencies == {"a.py", "b.py"} for view in views)


def test_files_that_are_let_go_of_are_parsed_again(project: ProjectIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuify.analysis.project._MOST_KEPT", 5000)
    first = project.load("a.py")
    assert project.load("a.py") is first
    project.load("b.py")
    again = project.load("a.py")
    assert again is not None
    assert again is not first


def test_a_file_of_a_folder_is_not_taken_for_a_library(tmp_path: Path) -> None:
    """In ParlAI, ``import torch`` was taken for ``parlai/utils/torch.py``; a script's own module is still found."""
    files = ["own/utils/torch.py", "own/utils/models.py", "tools/train.py", "horovod/torch/__init__.py"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import torch\n")
    project = ProjectIndex(tmp_path, files, [])
    assert project.file_of("torch") is None and not project.holds("torch.cuda")
    assert project.file_of("utils.torch") == "own/utils/torch.py" and project.file_of("models") == files[1]
    assert ProjectIndex(tmp_path, ["torch/__init__.py"], []).holds("torch.cuda"), "PyTorch itself"
    assert [one.relative for one in Questions(tmp_path, files, {}, "tools/train.py").units] == ["tools/train.py"]
    graph = ImportGraph(files, lambda name: (tmp_path / name).read_bytes(), anywhere=True)
    assert graph.targets("tools/train.py") == ()
