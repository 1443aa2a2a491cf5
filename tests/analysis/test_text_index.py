"""Which files hold a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.analysis.texts.index import TextIndex

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "a.py": "import torch\nself.rate = args.rate\n# of cuda_rate\n",
    "b.py": "args.rate = 1\nx = cuda_rates\n",
    "c.py": "grösse = 1\nparser.add_argument('--learning-rate')\n",
    "empty.py": "",
}


@pytest.fixture
def index(tmp_path: Path) -> TextIndex:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return TextIndex(tmp_path, list(FILES))


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("rate", ["a.py", "b.py", "c.py"]),
        ("cuda_rate", ["a.py"]),
        ("cuda", []),
        (".rate", ["a.py", "b.py"]),
        (".rat", []),
        ("args.rate", ["a.py", "b.py"]),
        ("rate.args", []),
        ("import torch", ["a.py"]),
        ("grösse", ["c.py"]),
        ("größe", []),
        ("--", ["c.py"]),
    ],
)
def test_files_with(index: TextIndex, text: str, files: list[str]) -> None:
    assert index.files_with(text.encode()) == files


def test_files_that_name_attributes_and_options(index: TextIndex) -> None:
    assert index.files_storing(b"rate") == ["a.py", "b.py"]
    assert index.files_overwriting(b"rate") == ["b.py"]
    assert index.files_declaring(b"learning_rate") == ["c.py"]
    assert index.files_declaring(b"rate") == []


def test_a_file_that_cannot_be_read_may_hold_anything(tmp_path: Path) -> None:
    index = TextIndex(tmp_path, ["gone.py"])
    assert index.files_with(b"x") == index.files_with(b".x") == ["gone.py"]
    assert index.files_storing(b"x") == index.files_declaring(b"x") == ["gone.py"]
    assert TextIndex(tmp_path, ["gone.py"]).files_declaring(b"x") == ["gone.py"]


def test_files_that_take_names_as_text(tmp_path: Path) -> None:
    files = {
        "by_getattr.py": "from lib import nets\nf = getattr(nets, name)\n",
        "by_path.py": "f = getattr(lib.nets, name)\n",
        "by_vars.py": "f = vars(nets)[name]\n",
        "by_dict.py": "f = nets.__dict__[name]\n",
        "of_another.py": "f = getattr(other, nets)\nsubnets.__dict__\ngetattr(subnets, name)\nnets.f()\n",
        "getattr.py": "getattr(x, 'nets')\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    index = TextIndex(tmp_path, [*files, "gone.py"])
    assert index.files_taking_from("lib/nets.py") == [
        "by_getattr.py",
        "by_path.py",
        "by_vars.py",
        "by_dict.py",
        "gone.py",
    ]
