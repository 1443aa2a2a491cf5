"""What is known of a project's files, and which of them an answer rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.analysis.project import ProjectIndex

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
