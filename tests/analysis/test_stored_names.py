"""What a file's text says it assigns to covers every assignment to an attribute in it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from npuify.analysis.texts.stored_names import stored_names

ROOT = Path(__file__).parents[2]
FORMS = (
    "a.x = 1",
    "a.x=1",
    "a.x += 1",
    "a.x //= 2",
    "a.x >>= 2",
    "a.x: int = 1",
    "a.x, b.y = f()",
    "(a.x, b.y) = f()",
    "[a.x, b.y] = f()",
    "a.x, (b.y, *c.z) = f()",
    "(\n    a.x,\n    b.y,\n) = f()",
    "a[0].x = b.y = 1",
    "for a.x in c: pass",
    "for i, a.x in c: pass",
    "with f() as a.x: pass",
    "setattr(a, 'x', 1)",
    "setattr(\n    self.get(a(b)),\n    'x', 1)",
    "self.register_buffer('x', f())",
)


def assigned(text: str) -> set[str]:
    """The names of attributes that a text assigns to, by its syntax tree."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "self.register_buffer"):
            found |= {arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)}
    return found


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    wanted = assigned(text)
    assert wanted
    assert {name.encode() for name in wanted} <= stored_names(text.encode()).all


@pytest.mark.parametrize("folder", ["src", "tools", "benchmarks"])
def test_real_files(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text("utf-8")
        assert {name.encode() for name in assigned(text)} <= stored_names(text.encode()).all, path


def test_what_is_only_read_is_left_out() -> None:
    text = b"x = a.b\nif a.c == 1 or a.d <= 2: f(a.e, a.g)\nfor i in a.h: a.j()\n"
    assert not stored_names(text).all


def test_arguments_of_a_call_are_left_out() -> None:
    assert not stored_names(b"state = State(apply=net.forward, params=net.weights, tx=1)\n").all
    assert stored_names(b"f(x).a, b.c = g(1)\n").all == {b"a", b"c"}


def test_what_an_object_sets_of_itself_overwrites_no_option() -> None:
    text = b"self.amp = args.amp\nargs.lr = 1\nself.config.depth = 2\nmyself.kind += 1\nsetattr(args, 'seed', 3)\n"
    assert stored_names(text).overwritten == {b"lr", b"depth", b"kind"}
