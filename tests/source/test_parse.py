"""Long texts are parsed piece by piece; what comes out is what the parser makes of the whole."""

from __future__ import annotations

import ast

import pytest

from npuify.source.python import parse as module

PIECES = '''"""A text
that begins at the margin
and goes on."""
from os import (
path,
sep)
value = [
a for
a in range(3)]
@decorator

def function(a,
b=1):
    if a:
        return """
no = statement
"""
if value:
    x = 1
elif sep:
    x = 2
else:
    x = 3
try:
    y = 1
except ValueError:
    y = 2
finally:
    z = 1
w = 1 + \\
x
class C:
    def f(self): pass

q = "ü"
'''


@pytest.mark.parametrize("length", range(2, 80, 3))
def test_pieces_of_any_length_give_the_same_tree(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(module, "_LONG", length)
    found = module.parse(PIECES)
    assert ast.dump(found, include_attributes=True) == ast.dump(ast.parse(PIECES), include_attributes=True)


def test_an_error_is_told_as_for_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONG", 10)
    with pytest.raises(SyntaxError) as raised:
        module.parse(PIECES + "x = = 1\nlast = 1\n")
    assert raised.value.lineno == PIECES.count("\n") + 1
