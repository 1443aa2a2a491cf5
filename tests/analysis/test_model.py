"""The questions that the rest of npuify asks: callers and callees, loops, classes, what is reached; and their cost."""

from __future__ import annotations

import ast
import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from npuify.analysis.model import Kind, ProgramModel, Reach
from npuify.source.python import PythonSource

from .harness import index_of, marked, said, words

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel

TRAIN = """import torch
from lib import Trainer, build

def main():
    model = build(3)
    loader = torch.utils.data.DataLoader([1])
    Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1)).fit(loader)

if __name__ == "__main__":
    main()
"""
LIB = """import torch
from torch import nn
from tqdm import tqdm

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc(x)

def build(width):
    return Net(width)

class Base:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

class Trainer(Base):
    def fit(self, loader):
        for step, batch in enumerate(tqdm(loader)):
            self.step(ASK(batch))

    def step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        ASK(self.model)
        ASK(self.optimizer)
        ASK(loss)
"""


@pytest.fixture
def model() -> ProgramModel:
    return ProgramModel(index_of({"main.py": TRAIN, "lib.py": LIB}), Reach.PROGRAM)


def definition(file: FileModel, name: str) -> ast.FunctionDef:
    file.source.visit(range(1, len(file.source.text.line_starts) + 1), lambda node: None)
    return next(node for node in ast.walk(file.source.tree) if isinstance(node, ast.FunctionDef) and node.name == name)


def test_a_program_of_two_files(model: ProgramModel) -> None:
    found = [said(model.values(node, file)) for node, file in marked(model, "lib.py")]
    assert found == ["batch", "nn.Module lib.Net", "optimizer torch.optim.SGD", "unknown"]


def test_callers_and_callees(model: ProgramModel) -> None:
    lib, main = model.file("lib.py"), model.file("main.py")
    assert lib is not None
    assert main is not None
    build, fit, step = (definition(lib, name) for name in ("build", "fit", "step"))
    assert [(file.relative, call.lineno) for file, call in model.calls_of(build, lib)] == [("main.py", 5)]
    assert [(file.relative, call.lineno) for file, call in model.calls_of(fit, lib)] == [("main.py", 7)]
    assert [(file.relative, call.lineno) for file, call in model.calls_of(step, lib)] == [("lib.py", 24)]
    (forward,) = (one for one in ast.walk(lib.source.tree) if getattr(one, "name", "") == "forward")
    assert isinstance(forward, ast.FunctionDef)
    assert [(file.relative, call.lineno) for file, call in model.calls_of(forward, lib)] == [("lib.py", 27)]
    names = [
        function.name for _, function in model.reached([(main, definition(main, "main"))]) if hasattr(function, "name")
    ]
    assert sorted(names) == ["__init__", "__init__", "build", "fit", "forward", "step"]


def test_a_batch_names_its_loader(model: ProgramModel) -> None:
    (node, lib), *_ = marked(model, "lib.py")
    (batch,) = model.values(node, lib)
    assert batch.of is not None
    assert batch.of.kind is Kind.LOADER
    assert str(batch.of.place) == "main.py:6"
    made = model.node(batch.of.place)
    assert made is not None
    assert isinstance(made[1], ast.Call)


def test_classes(model: ProgramModel) -> None:
    lib = model.file("lib.py")
    assert lib is not None
    net, trainer = lib.source.definition("Net"), lib.source.definition("Trainer")
    assert isinstance(net, ast.ClassDef)
    assert isinstance(trainer, ast.ClassDef)
    assert model.kind_of_class(net, lib) is Kind.MODEL
    assert model.kind_of_class(trainer, lib) is Kind.INSTANCE
    assert [node.name for _, node in model.lineage(trainer, lib)] == ["Trainer", "Base"]
    assert model.method(trainer, "__init__", lib) is not None
    assert model.method(trainer, "nothing", lib) is None


def test_assignments_to_an_attribute_of_an_object() -> None:
    lib = "class Base:\n    def __init__(self, x):\n        self.x, self.y = x, 1\n\n\nclass Kept(Base):\n    def use(self):\n        ASK(self.x)\n"
    main = "from lib import Base, Kept\nkept, other = Kept(2), unknown()\nkept.x = 3\nother.x = 4\nASK(kept.x)\nASK(other.x)\n"
    model = ProgramModel(index_of({"main.py": main, "lib.py": lib}), Reach.PROGRAM)

    def said_of(relative: str) -> list[list[str]]:
        found = []
        for node, file in marked(model, relative):
            assert isinstance(node, ast.Attribute)
            found.append(
                [home.code(bound.source) for home, bound in model.assignments(node, file) if bound.source is not None]
            )
        return found

    assert said_of("lib.py") == [["3", "x"]]
    assert said_of("main.py") == [["3", "x"], []]


def test_what_a_call_makes_may_count_once_for_each_call() -> None:
    text = "from torch import nn\ndef make():\n    return nn.Linear(1, 1)\na = make()\nb = make()\nASK(a)\nASK(b)\n"
    index = index_of({"main.py": text})
    for apart, expected in ((False, {3}), (True, {4, 5})):
        model = ProgramModel(index, Reach.PROGRAM, tells_calls_apart=apart)
        places = [value.place for node, file in marked(model, "main.py") for value in model.values(node, file)]
        assert {place.line for place in places if place is not None} == expected


# --- what was looked at ---


def test_the_files_that_an_answer_came_from_are_told_each_time() -> None:
    """The cache of a scan has to know them, also where the answer is remembered from another file's question."""
    lib = "import torch\nfrom deep import x\ndef make():\n    return x\n"
    index = index_of(
        {"a.py": "from lib import make\nASK(make())\n", "b.py": "from lib import make\nASK(make())\n", "lib.py": lib, "deep.py": "x = 1\n"}
    )  # fmt: skip
    model = ProgramModel(index, Reach.IMPORTS)
    for name in ("a.py", "b.py", "a.py"):
        for node, file in marked(model, name):
            index.dependencies.clear()
            model.values(node, file)
            assert {"lib.py", "deep.py"} <= index.dependencies, name


def test_whoever_asks_for_callers_searches_every_file() -> None:
    index = index_of({"main.py": "def f(x):\n    ASK(x)\n", "other.py": "pass\n"})
    model = ProgramModel(index, Reach.PROGRAM)
    for node, file in marked(model, "main.py"):
        model.values(node, file)
    assert "?" in index.dependencies
    index.dependencies.clear()
    near = ProgramModel(index, Reach.IMPORTS)
    for node, file in marked(near, "main.py"):
        near.values(node, file)
    assert "?" not in index.dependencies


def test_no_ring_keeps_trees_alive() -> None:
    """A scan runs with the garbage collector off."""
    index = index_of({"main.py": TRAIN, "lib.py": LIB})
    model = ProgramModel(index, Reach.PROGRAM)
    gc.disable()
    try:
        file = model.file("lib.py")
        assert file is not None
        for node, home in marked(model, "lib.py"):
            model.values(node, home)
        held = [weakref.ref(file), weakref.ref(file.source)]
        del file, node, home
        model.forget()
        index.forget()
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


def test_few_files_are_remembered() -> None:
    files = {f"m{number}.py": "x = 1\n" for number in range(30)}
    main = "".join(f"from m{number} import x as x{number}\nASK(x{number})\n" for number in range(30))
    model = ProgramModel(index_of({**files, "main.py": main}), Reach.IMPORTS, keep=5)
    for node, file in marked(model, "main.py"):
        assert said(model.values(node, file)) == "number 1"
        assert len(model.files) <= 5


def test_a_file_at_hand_is_read_as_it_is() -> None:
    index = index_of({"main.py": "x = 1\n", "other.py": "from main import x\ny = x\n"})
    model = ProgramModel(index, Reach.IMPORTS)
    file = model.open(PythonSource("main.py", "main", b"from other import y\nx = 'changed'\nz = x\nz, y\n"))
    z, y = file.source.tree.body[-1].value.elts  # type: ignore[attr-defined]
    assert said(model.values(z, file)) == "string 'changed'"
    assert said(model.values(y, file)) == "number 1"
    current = model.open(file.source, current=True)
    assert current is file


# --- what is deep, long or broken ---


@pytest.mark.parametrize(
    "text",
    [
        "x = " + " + ".join(["'a'"] * 800) + "\nASK(x)",
        "import torch\nx = torch.ones(1)\n" + "".join(f"x{n + 1} = x{n or ''}\n" for n in range(400)) + "ASK(x400)",
        "x = y" + ".a()" * 300 + "\nASK(x)",
        "x = " + "[" * 80 + "]" * 80 + "\nASK(x)",
        "".join(f"def f{n}(x):\n    return f{(n + 1) % 300}(x)\n" for n in range(300)) + "ASK(f0(1))",
        "".join(f"class A{n + 1}(A{n}):\n    pass\n" for n in range(200)) + "ASK(A200().x)",
        "class A(A):\n    pass\nASK(A())\nASK(A().x)",
        "class A(B):\n    pass\nclass B(A):\n    pass\nASK(A().x)",
        "".join(f"x = x + x{n}\n" for n in range(200)) + "ASK(x)",
        "def f(a, b):\n    ASK(a)\n    f(b, a)\nf(1, 'x')",
        "d = {}\nfor i in range(9):\n    d[i] = d\nASK(d[0][1][2])",
        "x = [1]\nx.append(x)\nASK(x[0])",
        "import main\nfrom main import *\nASK(main.main.nothing)",
        "f = lambda: f()\nASK(f())",
    ],
)
def test_strange_programs_end(text: str) -> None:
    assert len(words(text)) >= 1


def test_what_is_too_far_is_unknown_and_not_remembered() -> None:
    text = (
        "import torch\nx0 = torch.ones(1)\n"
        + "".join(f"x{n + 1} = x{n}\n" for n in range(400))
        + "ASK(x400)\nASK(x5)\n"
    )
    far, near = words(text)
    assert far == "unknown"
    assert near == "tensor"


def test_order_of_questions_does_not_matter() -> None:
    text = "import torch\na = b\nb = c\nc = a\nc = torch.ones(1)\nASK(a)\nASK(b)\nASK(c)\n"
    assert words(text) == ["tensor", "tensor", "tensor"]
    index = index_of({"main.py": text})
    model = ProgramModel(index, Reach.PROGRAM)
    for node, file in reversed(marked(model, "main.py")):
        assert said(model.values(node, file)) == "tensor"


def test_how_deep_the_stack_is_changes_no_answer() -> None:
    lines = [f"x{number} = [x{number + 1}][0]" for number in range(90)]
    index = index_of({"main.py": "\n".join([*reversed(lines), "ASK(x0)"]).replace("= [x90]", "= ['end']", 1)})

    def asked(depth: int) -> list[object]:
        if depth:
            return asked(depth - 1)
        model = ProgramModel(index, Reach.IMPORTS)
        return [[*model.values(node, file)] for node, file in marked(model, "main.py")]

    assert asked(0) == asked(700)


def test_names_that_modules_import_from_each_other_stand_for_themselves() -> None:
    index = index_of({"a.py": "from b import x\nfrom b import *\n", "b.py": "from a import x\nfrom a import *\n"})
    assert index.reexport("a.x") in (None, "a.x", "b.x")
    assert type(index.view()) is type(index)
