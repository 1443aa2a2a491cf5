"""The lines on which words and identifiers stand, however they are counted."""

from __future__ import annotations

import pytest

from npuify.source.python import PythonSource
from npuify.words import words_of

ROWS = [
    "import torch",
    "",
    "x = torch.cuda",
    "y = 'é'; z = cuda",
    "",
    "def f(a1, a2):",
    "    return CUDA + a1",
    "a1a2 = 3",
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "cuda = 1", "cuda = 1\n"])
def test_lines_with_words(end: str, last: str) -> None:
    rows = [*ROWS, last.rstrip()]
    source = PythonSource("a.py", "a", end.join([*ROWS, last]).encode())
    assert source.lines_with_words(words_of(b"cuda")) == {
        number for number, row in enumerate(rows, start=1) if "cuda" in row.lower()
    }
    assert source.lines_with_words(words_of(b"nowhere")) == set()


def test_lines_with_many_names_are_those_with_each() -> None:
    names = [f"a{number}" for number in range(100)]
    text = "".join(f"b{name} = {name} + a{number}.{name}x\nx.{name}{name} = 0\n" for number, name in enumerate(names))
    source = PythonSource("a.py", "a", text.encode())
    one_by_one = set().union(*(source.lines_with_names([name]) for name in names))
    assert source.lines_with_names(names) == one_by_one == set(range(1, 200, 2))
