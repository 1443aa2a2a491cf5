"""What a file's text says it imports, and derives from, covers what its syntax tree says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from npuify.analysis.texts.class_bases import names_of_bases
from npuify.analysis.texts.imported_names import imported_names

ROOT = Path(__file__).parents[2]
IMPORTS = (
    "import nets",
    "import nets.blocks as b, other",
    "from nets import Net",
    "from . import nets",
    "from .nets import (\n    Net,  # one\n    Other as O,\n)",
    "from ..nets \\\n    import Net, \\\n    Other",
    "import a; import nets; from b import c",
    "if True: from nets import Net",
    "def f():\n    from nets import Net",
    "try:\n    import nets\nexcept ImportError: import other",
)
CLASSES = (
    "class A(Base): pass",
    "class A(nets.Base, Other): pass",
    "class A(Base[int], metaclass=M): pass",
    "class A(\n    Base,  # one\n    Other,\n): pass",
    "class A(make(x), Base): pass",
    "class A(Base if (flag) else Other): pass",
    "def f():\n    class A(Base): x = 1",
)


def imported(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [one.name for one in node.names] + [getattr(node, "module", None) or ""]
            found |= {part for name in names for part in name.split(".") if part not in ("", "*")}
    return found


def bases(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            for one in ast.walk(base):
                if isinstance(one, (ast.Name, ast.Attribute)):
                    found.add(one.id if isinstance(one, ast.Name) else one.attr)
    return found


@pytest.mark.parametrize("text", IMPORTS)
def test_imports(text: str) -> None:
    said = imported_names(text.encode())
    assert said is not None
    assert {name.encode() for name in imported(text)} <= said


@pytest.mark.parametrize("text", CLASSES)
def test_bases(text: str) -> None:
    wanted = bases(text)
    assert "Base" in wanted
    assert {name.encode() for name in wanted} <= names_of_bases(text.encode())


@pytest.mark.parametrize("folder", ["src", "tools", "benchmarks"])
def test_real_files(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text("utf-8")
        said = imported_names(text.encode())
        assert said is None or {name.encode() for name in imported(text)} <= said, path
        assert {name.encode() for name in bases(text)} <= names_of_bases(text.encode()), path


def test_what_is_only_mentioned_is_left_out() -> None:
    text = b"from nets import Net\nx = train(Net)\n# taken from other.py\nclass A(Net):\n    y = Other\n"
    assert imported_names(text) == {b"from", b"nets", b"import", b"Net"}
    assert names_of_bases(text) == {b"Net"}


def test_names_that_are_known_only_when_it_runs() -> None:
    assert imported_names(b"import importlib\nm = importlib.import_module(name)\n") is None
