"""Parsing only the parts of interest must find what parsing everything finds."""

from __future__ import annotations

import ast

import pytest

from npuify.source.python import PythonSource
from npuify.source.python.outline import Outline
from npuify.words import words_of

from ..harness import worker

PROGRAMS = {
    "decorator at the very start": "@x\ndef f():\n    pass\n\nimport torch\n\ndef g():\n    torch.cuda.init()\n",
    "import behind a function": "def f():\n    pass\n\nimport torch\n\ndef g():\n    torch.cuda.init()\n",
    "import behind a method": "class A:\n    def f(self):\n        pass\n    import torch\n    def g(self):\n        torch.cuda.init()\n    x = torch.cuda.is_available()\n",
    "import behind a class": "class A:\n    def f(self):\n        torch.cuda.init()\n    def g(self):\n        pass\n\nimport torch\n",
    "rebound behind a class": "import torch\nclass A:\n    def f(self):\n        torch.cuda.init()\n    def g(self): pass\n(torch := 1)\ndef h(): pass\n",
    "rebound behind a function": "import torch\ndef f():\n    torch.cuda.init()\n\ndef g():\n    pass\ntorch = None\n",
    "function of the library's name": "import torch\ndef f():\n    torch.cuda.init()\n\ndef torch():\n    pass\n",
    "class of the library's name": "import torch\ndef f():\n    torch.cuda.init()\n\nclass torch:\n    pass\n",
    "global": "torch = None\ndef f():\n    global torch\n    import torch\ndef g():\n    torch.cuda.init()\n",
    "def in a literal": 'import torch\nx = """\ndef torch():\n    pass\n"""\ndef g():\n    torch.cuda.init()\n',
    "literal over a def": "import torch\ndef f():\n    return '''\ndef g():\n    '''\ndef h():\n    torch.cuda.init()\n",
    "quotes in a comment": "import torch\n# it's \"\"\" odd\ndef f():\n    pass\ndef torch(): pass\ndef h():\n    torch.cuda.init()  # '''\n",
    "quotes in a string": "import torch\nq = \"'''\"\ndef torch(): pass\nq = \"'''\"\ndef h():\n    torch.cuda.init()\n",
    "backslash before quotes": "import torch\nx = '''\\'''\ndef torch(): pass\n'''\ndef h():\n    torch.cuda.init()\n",
    "continued string": "import torch\nx = 'a\\\ndef torch():\\\n  pass'\ndef h():\n    torch.cuda.init()\n",
    "matrix product at the margin": "import torch\ny = (a\n@ b)\ndef torch(): pass\ndef h():\n    torch.cuda.init()\n",
    "decorators": "import torch\n@deco\n@other(\n    1\n)\ndef f(): pass\n\n@torch.cuda.amp.autocast()\nasync def g(): pass\n\n@x\nclass A: pass\n",
    "arguments at the margin": "import torch\ndef f():\n    g(\n1,\n)\n    h()\ntorch.cuda.init()\n",
    "class without a body left": "import torch\nclass A:\n    def f(self): pass\n\n\ndef g():\n    torch.cuda.init()\n",
    "one method of many": "import torch\nclass A:\n    '''Doc.'''\n    def f(self): pass\n\n    @property\n    def g(self):\n        return torch.cuda.is_available()\n\n    def h(self): pass\nclass B(A):\n    def i(self): return torch.cuda.current_device()\n",
    "methods of two depths": "import torch\nclass A:\n    if x:\n        def f(self): pass\n        y = 1\n    def g(self): torch.cuda.init()\n    def h(self): pass\n",
    "statement of another depth": "import torch\nclass A:\n    x = torch.cuda.is_available()\n    if x:\n        def f(self): pass\n    torch = None\n",
    "tabs": "import torch\nclass A:\n\tdef f(self):\n\t\tpass\n\tdef g(self):\n\t\ttorch.cuda.init()\n",
    "attribute set elsewhere": "import torch\nclass A:\n    def __init__(self):\n        self.t = torch.zeros(1)\n        self.u = {}\n    def g(self):\n        self.t.cuda(); self.u.cuda()\n",
    "string used elsewhere": "import torch\nwhere = 'cuda'\nother = 'cuda'\ndef f(x):\n    return x.to(where)\ndef g(x):\n    print(other)\n",
    "parameter of another function": "import torch\ndef f(device, name):\n    pass\nf('cuda', 'cuda')\n",
    "class of another part": "import torch\nclass Own:\n    def cuda(self): pass\nclass Sub(Own):\n    pass\nSub().cuda()\n",
    "two of one name": "import torch\ndef f(device): pass\ndef f(name): pass\nf('cuda')\n",
    "alias of a hidden thing": "import torch\ndef f(): pass\nc = f\ndef g(): c.cuda(); torch.cuda.init()\n",
    "two of one name and more": "import torch\ndef f(device): pass\ndef f(name): pass\nf('cuda')\ndef g(): pass\nx = f\n",
    "statement behind the last function": "import torch\ndef f():\n    torch.cuda.init()\ndef g():\n    x = h(\n1, 2)\n    return x\n__all__ = ['f']\ntorch = 1\n",
    "continued at the margin": "import torch\ndef g():\n    x = 1 + \\\n2\ndef f():\n    torch.cuda.init()\n",
    "class with a decorator alone": "import torch\n@torch.cuda.x\nclass A:\n    def f(self): pass\n    def g(self):\n        pass\nclass B:\n    def f(self): torch.cuda.init()\n",
    "class with a branch of methods": "import torch\nclass A:\n    x = torch.cuda.is_available()\n    if x:\n        def f(self): pass\n    else:\n        def g(self): pass\n",
    "quotes in a comment behind a string": "import torch\nq = 'a\\'b'  # \"\"\" x\ndef torch(): pass\ndef h():\n    torch.cuda.init()\n",
    "quotes behind a string": "import torch\nq = ('a', \"\"\"b\ndef torch(): pass\n\"\"\")\ndef h():\n    torch.cuda.init()\n",
    "the word global in prose": "import torch\ndef g():\n    '''\n    The global torch.\n    '''\ndef f():\n    torch.cuda.init()\n",
    "function in a condition": "import torch\nif x:\n    def torch(): pass\nelse:\n    def f(): torch.cuda.init()\n",
    "crlf": "import torch\r\ndef f():\r\n    pass\r\nclass A:\r\n    def g(self):\r\n        torch.cuda.init()\r\n    def h(self):\r\n        pass\r\n",
    "lone returns": "import torch\rdef f():\r    pass\rdef g():\r    torch.cuda.init()\r",
    "form feed": "import torch\n\f\ndef f():\n    pass\n\fdef g():\n    torch.cuda.init()\n",
    "no final newline": "import torch\ndef g():\n    torch.cuda.init()\ndef f():\n    pass",
    "wide characters": "import torch\ndef 训练():\n    '训练'\nclass A:\n    def é(self): return '训', torch.cuda.init()\n",
    "comment at the end": "import torch\ndef g():\n    torch.cuda.init()\n# end\ndef f():\n    pass\n    # cuda\n",
    "f-string of several lines": "import torch\ndef g():\n    return f'''\n{torch.cuda.device_count()}\n'''\ndef f(): pass\n",
    "prose with a hash": "import torch\nx = 'a # b'; torch.cuda.init()\ny = \"#\"; torch.cuda.init()  # cuda\n",
    "nested functions": "import torch\ndef f():\n    def torch(): pass\n    def g():\n        torch.cuda.init()\n    return g\n",
    "walrus in a hidden part": "import torch\ndef f():\n    if (torch := 1): pass\ndef g():\n    torch.cuda.init()\n",
    "lines of one": "import torch\ndef f(): pass\ndef g(): torch.cuda.init()\nclass A: x = torch.cuda.is_available()\nclass B: pass\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_part_and_whole_agree(name: str) -> None:
    text = PROGRAMS[name]
    ast.parse(text)
    raw = text.encode()
    assert worker().analyse("a.py", raw, whole=False) == worker().analyse("a.py", raw, whole=True)


def test_what_holds_no_word_is_not_parsed() -> None:
    text = "import torch\n\n\ndef f():\n    pass\n\n\nclass A:\n    def g(self):\n        torch.cuda.init()\n\n    def h(self):\n        pass\n"
    tree = PythonSource("a.py", "a", text.encode(), words_of(b"cuda")).tree
    assert [type(node) for node in tree.body] == [ast.Import, ast.ClassDef]
    assert [node.name for node in tree.body[1].body] == ["g"]  # type: ignore[attr-defined]
    assert PythonSource("a.py", "a", b"# cuda\nx = 1\n", words_of(b"cuda")).tree.body == []


def test_a_literal_at_the_margin_does_not_end_a_function() -> None:
    text = "import torch\ndef f():\n    return '''\nat the margin\n'''\ndef g():\n    torch.cuda.init()\n"
    tree = PythonSource("a.py", "a", text.encode(), words_of(b"cuda")).tree
    assert [getattr(node, "name", "") for node in tree.body] == ["", "g"]


def test_a_class_is_known_without_parsing_it() -> None:
    text = "x = 'cuda'\nclass A:\n    pass\n\n\ndef f():\n    pass\n\n\nclass B:\n    pass\n\n\nB = None\n"
    source = PythonSource("a.py", "a", text.encode(), words_of(b"cuda"))
    assert [source.defines_class(name) for name in ("A", "f", "B", "C")] == [True, False, False, False]
    assert "A" not in [getattr(node, "name", "") for node in source.tree.body]


def test_hidden_parts_come_when_asked_for() -> None:
    text = "x = 'cuda'\ndef f():\n    pass\n\n\nclass A:\n    def g(self):\n        pass\n"
    source = PythonSource("a.py", "a", text.encode(), words_of(b"cuda"))
    assert [type(node) for node in source.tree.body] == [ast.Assign]
    function = source.definition("f")
    assert isinstance(function, ast.FunctionDef)
    assert (function.lineno, function.end_lineno) == (2, 3)
    assert [type(node) for node in source.tree.body] == [ast.Assign, ast.FunctionDef]
    found: list[ast.AST] = []
    source.visit([8], found.append)
    assert any(isinstance(node, ast.Pass) for node in found)
    assert source.definition("nothing") is None


def test_a_class_ends_where_its_last_method_does_also_when_that_is_parsed_later() -> None:
    text = (
        "class A:\n    def f(self):\n        cuda\n\n    def g(self):\n        return getattr(self, 'key')\n\n\nx = 1\n"
    )
    source = PythonSource("a.py", "a", text.encode(), words_of(b"cuda"))
    node = source.tree.body[0]
    assert isinstance(node, ast.ClassDef)
    assert source.code(node).endswith("cuda")
    source.methods_revealed(node)
    assert source.code(node).endswith("'key')")


@pytest.mark.parametrize(
    ("text", "word", "prose"),
    [
        ("# cuda", "cuda", True),
        ("x = 1  # cuda", "cuda", True),
        ("x = '#cuda'", "cuda", False),
        ("'''\ncuda\n'''", "cuda", True),
        ("x = '''cuda'''", "cuda", False),
        ("f'''\n{cuda}\n'''", "cuda", False),
        ("rF'''\n{cuda}\n'''", "cuda", False),
        ("'''\n''', cuda", "cuda", False),
        ("'''\n''' # cuda", "cuda", True),
        ("x = 1\rcuda", "cuda", False),
        ("\"'''\"\ncuda\n\"'''\"", "cuda", False),
    ],
)
def test_prose(text: str, word: str, prose: bool) -> None:
    assert Outline(text.encode()).is_text(text.index(word)) is prose
