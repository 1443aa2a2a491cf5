"""Where strings go: to a device, a comparison with one, a path, a message or a key."""

from __future__ import annotations

import ast

import pytest

from npuify.analysis.flow.destinations import DEVICE_USES, Use, Uses
from npuify.analysis.model import ProgramModel, Reach

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
    "d = {'cuda': 1, 'amount': 2}",
    "def say(what):\n    print(what)\nsay('cuda')",
    "def say(what):\n    print(what)\ntell = say\ntell(what='cuda')",
    "import re\nre.match('cuda', x)",
    "open('cuda')",
    "getattr(torch, 'cuda')",
    "setattr(thing, 'cuda', True)",
    "def test(monkeypatch):\n    monkeypatch.setattr(torch.version, 'cuda', '13.2')",
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
    for text in (
        "nowhere('cuda')",
        "monkeypatch.setattr('tools.kind', 'cuda')",
        "x == 'cuda'",
        "def f():\n    return 'cuda'",
    ):
        found = uses(text)
        assert not found.reaches_device
        assert not found.is_no_device


def test_a_name_alone_is_no_proof() -> None:
    found = uses("device = 'cuda'")
    (one,) = found.destinations
    assert one.use is Use.CALLED
    assert not one.sure


OWN = [
    "def autocast(device_type='cuda'): yield",
    "def note(device='cuda'):\n    print(device)",
    "class Scaler:\n    def __init__(self, device='cuda'):\n        self.device = device\ndef new(x: torch.Tensor):\n    return torch.ones(1, device=x.device)",
    "class Queue:\n    def to(self, name):\n        print(name)\nQueue().to('cuda')",
    "def note(device):\n    print(device)\ndef run():\n    device = 'cuda'\n    note(device=device)",
]


@pytest.mark.parametrize("text", OWN)
def test_a_name_counts_for_nothing_where_nothing_of_torch_is_given_it(text: str) -> None:
    found = uses(text)
    assert found.is_own or found.is_no_device
    assert not found.reaches_device


NOT_OWN = [
    "def cast(device_type='cuda'):\n    return torch.autocast(device_type)",
    "def cast(device='cuda'):\n    return helper(device)\ndef helper(place):\n    return torch.ones(1, device=place)",
    "def place(device='cuda'):\n    return device\n",
    "def place(device='cuda'):\n    yield device\n",
    "def place(device='cuda'):\n    return device[5:]\n",
    "def place(x, device='cuda'):\n    x.do(device)\n",
    "def place(x, device='cuda'):\n    x.device = device\n",
    "class Scaler:\n    def __init__(self, device='cuda'):\n        self.device = device\n    def new(self):\n        return torch.ones(1, device=self.device)",
    "class Base:\n    def __init__(self, device='cuda'):\n        super().__init__(device)",
    "class Batch:\n    def to(self, device):\n        self.x = self.x.to(device)\nBatch().to('cuda')",
]


@pytest.mark.parametrize("text", NOT_OWN)
def test_a_name_counts_where_not_all_is_known(text: str) -> None:
    found = uses(text)
    assert found.reaches_device
    assert not found.is_own


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


def uses_in_file(text: str, others: dict[str, str] | None = None, word: str = "cuda") -> Uses:
    """What the first string ``word`` is used for, as a rule asks: from what the file itself and its imports say."""
    model = ProgramModel(index_of({"main.py": T + text, **(others or {})}), Reach.IMPORTS)
    file = model.file("main.py")
    assert file is not None
    return model.uses(next(node for node in file.references(word) if isinstance(node, ast.Constant)), file)


def test_what_leaves_the_file_may_become_a_device() -> None:
    """Nobody asked who imports a name, or calls a function; so it is not known to be no device."""
    for text in (
        "NAME = 'cuda'\nprint(NAME)",
        "NAME, OTHER = 'cuda', 1\nprint(NAME)",
        "class A:\n    name = 'cuda'\n    def say(self):\n        print(self.name)",
        "def f():\n    print(g())\ndef g():\n    return 'cuda'",
    ):
        found = uses_in_file(text)
        assert not found.reaches_device, text
        assert not found.is_no_device, text


def test_what_a_function_keeps_for_itself_is_known() -> None:
    for text in ("def f():\n    d = 'cuda'\n    print(d)", "def f(d='cuda'):\n    return open(d)"):
        assert uses_in_file(text).is_no_device, text
        assert not uses_in_file(text).reaches_device, text


BY_NAME = [
    "parser.add_argument('--gpu-type', default='cuda')\nx.to(args.gpu_type)",
    "parser.add_argument('--device', default='cuda')",
    "class Settings:\n    place: str = 'cuda'\ndef go(settings):\n    x.to(settings.place)",
    "config.get('device', 'cuda')",
    "getattr(args, 'device', 'cuda')",
    "setattr(args, 'device', 'cuda')",
    "def place(x, device):\n    return device\nplace(x, 'cuda')",
    "for device in ['cuda', y]:\n    x.go(device)",
    "def get_device():\n    return 'cuda'",
    "device, kind = 'cuda', 1",
    "match device:\n    case 'cuda':\n        pass",
    "str(args.device).startswith('cuda')",
]


@pytest.mark.parametrize("text", BY_NAME)
def test_a_device_by_its_name(text: str) -> None:
    found = uses_in_file(text)
    assert found.reaches_device, found
    assert not any(one.sure for one in found.destinations if one.use in DEVICE_USES), found


SURELY = [
    "x in ['cuda', 'cpu']",
    "from typing import Literal\ndef f(kind: Literal['cpu', 'mps'] = 'cuda'):\n    pass",
    "torch.load(path, map_location={'cuda': 'cpu'})",
    "torch.device('{}:{}'.format('cuda', 1))",
    "torch.device(options.get('gpu', 'cuda'))",
]


@pytest.mark.parametrize("text", SURELY)
def test_a_device_by_what_takes_it(text: str) -> None:
    assert uses_in_file(text).reaches_device


def test_names_of_registries_are_not_followed() -> None:
    text = "class A:\n    def f(self):\n        self.accelerator = 'cuda'\n    def g(self):\n        return self.accelerator in ('cpu', 'mps')"
    found = uses_in_file(text)
    assert not found.reaches_device
    assert not found.is_no_device


def test_where_it_stands_tells_that_it_is_no_device() -> None:
    """A ``name=`` is a name, also of a function of the project that keeps it; unless that is seen to take a device."""
    keeps = "class A:\n    def __init__(self, name):\n        self.title = name\nA(name='cuda')"
    assert uses_in_file(keeps).is_no_device
    takes = "def place(x, name):\n    return torch.zeros(1, device=name)\nplace(x, name='cuda')"
    assert uses_in_file(takes).reaches_device


def test_an_option_is_read_by_what_is_given_all_of_them() -> None:
    text = "import argparse\nfrom agent import Agent\nparser = argparse.ArgumentParser()\nparser.add_argument('--dvc', default='cuda')\nAgent(**vars(parser.parse_args()))"
    agent = "class Agent:\n    def __init__(self, **options):\n        self.__dict__.update(options)\n        self.x = torch.zeros(1, device=self.dvc)"
    assert uses(text, {"agent.py": T + agent}).is_used_as_device
    # What a class keeps under that name by itself is not the option.
    own = "class Agent:\n    def __init__(self, **options):\n        self.dvc = 'cpu'\n        self.x = torch.zeros(1, device=self.dvc)"
    assert not uses(text, {"agent.py": T + own}).is_used_as_device


def test_what_is_cut_short_is_not_followed_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuify.analysis.engine._WORK_FOR_FILE", 2)
    text = "def say(what):\n    print(what)\ndef tell(what):\n    say(what)\ntell('cuda')\n"
    model = ProgramModel(index_of({"main.py": T + text}), Reach.PROGRAM)
    file = model.file("main.py")
    assert file is not None
    (node,) = [node for node in file.references("cuda") if isinstance(node, ast.Constant)]
    found = model.uses(node, file)
    assert model.is_spent
    assert not found.is_whole and not found.is_no_device
    assert not model.flow(node, file).is_whole
    monkeypatch.undo()
    model.start_file()
    assert model.uses(node, file).is_no_device and model.flow(node, file).is_whole


MEMBERS = {
    "kinds.py": "from enum import Enum\n\n\nclass Kind(Enum):\n    GPU = 'cuda'\n\n\nclass Settings:\n    PLACE = 'cuda'\n",
}


@pytest.mark.parametrize(
    ("line", "text", "use"),
    [
        (5, "from kinds import Kind\ntorch.ones(1, device=Kind.GPU.value)", Use.DEVICE),
        (5, "import kinds\nprint(torch.ones(1).device.type == kinds.Kind.GPU.value)", Use.COMPARED),
        (5, "import kinds\nkinds.Kind(torch.device(x).type)", Use.COMPARED),
        (5, "import kinds\nkinds.Kind(name)", None),
        (5, "from kinds import Kind\nprint(Kind.GPU.value)", None),
        (9, "import kinds\ntorch.ones(1).to(kinds.Settings.PLACE)", Use.DEVICE),
        (9, "class Other:\n    PLACE = 'x'\ntorch.ones(1).to(Other.PLACE)", None),
    ],
)
def test_what_a_class_holds_is_read_in_other_files(line: int, text: str, use: Use | None) -> None:
    model = ProgramModel(index_of({"main.py": T + text + "\n", **MEMBERS}), Reach.PROGRAM)
    file = model.file("kinds.py")
    assert file is not None
    node = next(one for one in file.references("cuda") if isinstance(one, ast.Constant) and one.lineno == line)
    found = {one.use for one in model.uses(node, file).destinations}
    assert (use in found) if use is not None else not (found & DEVICE_USES)
