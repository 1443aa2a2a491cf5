"""Where strings go: to a device, a comparison with one, a path, a message or a key."""

from __future__ import annotations

import ast

import pytest

from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.uses import Use, Uses

from .harness import index_of

T = "import torch\n"


def uses(text: str, others: dict[str, str] | None = None, word: str = "cuda") -> Uses:
    """What the first string ``word`` in ``main.py`` is used for."""
    model = ProgramModel(index_of({"main.py": T + text, **(others or {})}), Reach.PROGRAM)
    file = model.file("main.py")
    assert file is not None
    nodes = [node for node in file.references(word) if isinstance(node, ast.Constant)]
    return model.uses(nodes[0], file)


NOT_DEVICES = [
    "print('cuda')",
    "name = 'cuda'\nprint('on ' + name)",
    "raise ValueError('cuda')",
    "import logging\nlogging.info('cuda')",
    "import os\nos.path.join('cuda', 'x')",
    "from pathlib import Path\nPath('x') / 'cuda'",
    "d = {}\nd['cuda']",
    "d = {'cuda': 1, 'other': 2}",
    "def say(what):\n    print(what)\nsay('cuda')",
    "def say(what):\n    print(what)\ntell = say\ntell(what='cuda')",
    "import re\nre.match('cuda', x)",
    "open('cuda')",
]


@pytest.mark.parametrize("text", NOT_DEVICES)
def test_what_is_no_device(text: str) -> None:
    found = uses(text)
    assert not found.reaches_device, found
    assert found.is_no_device, found


DEVICES = [
    ("torch.device('cuda')", "torch.device()"),
    ("torch.zeros(1, device='cuda')", "device= of torch.zeros()"),
    ("torch.zeros(1).to('cuda')", "torch.Tensor.to()"),
    ("name = 'cuda'\ntorch.device(name)", "torch.device()"),
    ("a = b = 'cuda' if x else 'cpu'\ntorch.device(b)", "torch.device()"),
    ("def place(x, where):\n    return x.to(where)\nplace(y, 'cuda')", ".to()"),
    ("def place(x, where='cuda'):\n    return x.to(where)\nplace(y)", ".to()"),
    ("class A:\n    def __init__(self, where):\n        self.where = where\n    def go(self):\n        torch.device(self.where)\nA('cuda')",
     "torch.device()"),
    ("def choose():\n    return 'cuda'\ntorch.device(choose())", "torch.device()"),
    ("d = {'a': 'cuda'}\ntorch.device(d['a'])", "torch.device()"),
    ("for one in ['cuda', 'x']:\n    torch.device(one)", "torch.device()"),
    ("torch.device('cuda:{}'.format(i))", None),
    ("x = torch.zeros(1)\nx.device.type == 'cuda'", "compared with x.device.type"),
    ("x in ('cuda', 'cpu')\ndevice = 'cuda'", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what"), DEVICES)
def test_what_is_a_device(text: str, what: str | None) -> None:
    found = uses(text, word="cuda" if what is not None or "format" not in text else "cuda:{}")
    if what is None and "format" not in text:
        return
    assert found.reaches_device, found
    assert what is None or what in [one.what for one in found.destinations]


def test_unknown_uses() -> None:
    for text in ("nowhere('cuda')", "x == 'cuda'", "def f():\n    return 'cuda'"):
        found = uses(text)
        assert not found.reaches_device
        assert not found.is_no_device


def test_a_name_alone_is_no_proof() -> None:
    found = uses("device = 'cuda'")
    (one,) = found.destinations
    assert one.use is Use.DEVICE
    assert not one.sure


def test_through_other_files() -> None:
    others = {
        "lib.py": "def place(x, where):\n    return x.to(where)\ndef show(x, where):\n    print(where)\n",
        "run.py": "from main import PLACE, TITLE\nfrom lib import place, show\nplace(1, PLACE)\nshow(1, TITLE)\n",
    }
    assert uses("PLACE = 'cuda'\n", others).reaches_device
    assert uses("TITLE = 'cuda'\n", others).is_no_device
    found = uses("PLACE = 'cuda'\n", others).destinations[0]
    assert [str(step) for step in (f"{one.place}: {one.text}" for one in found.steps)] == [
        "main.py:2: written here",
        "main.py:2: assigned to PLACE",
        "lib.py:1: given to place() as where",
    ]
