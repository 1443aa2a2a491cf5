"""``--place-on-npu``: programs that name no device are placed on one; the placed programs run with every tensor on it."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import msgspec
import pytest

import npuify
from npuify.engine import worker
from npuify.options import Options
from npuify.rules.placement import program as placement

from ...harness import findings, output
from ...warm import Program

if TYPE_CHECKING:
    from pathlib import Path

    from ...warm import Warm

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x, mask=None):
        x = self.first(x).relu()
        return self.second(x if mask is None else x * mask)


"""
DATA = "data = TensorDataset(torch.randn(8, 8), torch.randint(4, (8,)))\nloader = DataLoader(data, batch_size=4)\n"
PROGRAMS = {
    "plain": DATA
    + """\
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
    "functions": DATA
    + """\


def build():
    net = Net()
    return net


def train(network, batches, optimizer, weights):
    criterion = nn.CrossEntropyLoss(weight=weights)
    for step, (inputs, targets) in enumerate(batches):
        loss = criterion(network(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    net = build()
    train(net, loader, torch.optim.Adam(net.parameters()), torch.ones(4))


if __name__ == "__main__":
    main()
""",
    "dictionary": """\
rows = [{"x": torch.randn(8), "mask": torch.ones(16), "name": "a", "y": 1} for _ in range(4)]
loader = DataLoader(rows, batch_size=2)
model = Net()
for batch in loader:
    out = model(batch["x"], mask=batch["mask"])
    loss = F.cross_entropy(out, batch["y"])
    loss.backward()
    print(batch["name"])
""",
    "keywords": """\
loader = DataLoader([{"x": torch.randn(8), "mask": torch.ones(16)} for _ in range(4)], batch_size=2)
model = Net()
for batch in loader:
    model(**batch).sum().backward()
""",
    "unpacked": DATA
    + """\
model = Net()
for batch in loader:
    x, y = batch
    loss = F.cross_entropy(model(x), y)
    loss.backward()
""",
    "made in the loop": DATA
    + """\
model = Net().train()
scale = torch.ones(4, requires_grad=True)
for x, y in loader:
    noise = torch.randn(4, 8)
    hidden = model(x + noise * 0.1) * scale
    penalty = torch.zeros(1)
    loss = F.cross_entropy(hidden, y) + penalty
    loss.backward()
""",
    "whole data at once": """\
x = torch.linspace(0, 1, 64).view(8, 8)
y = torch.randint(4, (8,))
model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
optimizer = torch.optim.LBFGS(model.parameters())
for _ in range(2):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
""",
    "trainer": DATA
    + """\


class Trainer:
    def __init__(self, model, batches):
        self.model = model
        self.batches = batches
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self):
        for x, y in self.batches:
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()


Trainer(Net(), loader).fit()
""",
    "state made in forward": DATA
    + """\


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 4)

    def forward(self, x):
        state = torch.zeros(x.size(0), 4)
        return self.cell(x, state)


tagger = Tagger()
for x, y in loader:
    F.cross_entropy(tagger(x), y).backward()
""",
    "evaluation": DATA
    + """\
model = Net()
model.eval()
right = 0
for x, y in loader:
    with torch.no_grad():
        out = model(x)
    right += (out.argmax(1) == y).sum()
""",
    "data of functions": """\
def features(x):
    x = x.unsqueeze(1)
    return torch.cat([x**i for i in range(1, 9)], 1)


def batch_of(size):
    numbers = torch.randn(size)
    x = features(numbers)
    y = torch.randint(4, (size,))
    return x, y


model = Net()
for step in range(2):
    x, y = batch_of(4)
    F.cross_entropy(model(x), y).backward()
""",
    "batches handed on": """\
def scores(network, batch):
    return network(batch["x"], mask=batch["mask"])


def losses(network, batch):
    x, y = batch
    return F.cross_entropy(network(x), y)


model = Net()
for batch in DataLoader([{"x": torch.randn(8), "mask": torch.ones(16)} for _ in range(4)], batch_size=2):
    scores(model, batch).sum().backward()
for pair in DataLoader(TensorDataset(torch.randn(8, 8), torch.randint(4, (8,))), batch_size=4):
    losses(model, pair).backward()
""",
    "two loaders at once": DATA
    + """\
other = DataLoader(data, batch_size=4)
model = Net()
for step, ((x, y), (noise, _)) in enumerate(zip(loader, other)):
    F.cross_entropy(model(x) + model(noise), y).backward()
""",
    "a table of models": DATA
    + """\
NETS = {"net": Net}


def make(name):
    return NETS[name]().train()


model = make("net")
for x, y in loader:
    F.cross_entropy(model.second(model.first(x)), y).backward()
""",
}


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_run_changes_nothing(name: str, style: str) -> None:
    once = output(HEAD + PROGRAMS[name], style=style, place=True)
    assert once != HEAD + PROGRAMS[name]
    assert output(once, style=style, place=True) == once


_CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
_RUN_ALL = """\
import contextlib, io, json, sys
said = {}
for name, text in json.load(open("programs.json")).items():
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, name, "exec"), {"__name__": "__main__"})
        said[name] = ""
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


def _variants(name: str) -> dict[str, str]:
    """A placed program as it is, on ``meta``, and there with only the models moved."""
    placed = output(HEAD + PROGRAMS[name], style="auto", place=True)
    placed = "\n".join(line for line in placed.splitlines() if "torch_npu" not in line)
    on_meta = placed.replace(_CHOICE, 'torch.device("meta")')
    assert on_meta != placed
    found = {f"{name}, placed": placed, f"{name}, on meta": on_meta}
    broken = re.sub(r"^( +).* = .*\.to\(device\).*\.to\(device\)$", r"\1pass", on_meta, flags=re.MULTILINE)
    return found | ({f"{name}, broken": broken} if broken != on_meta else {})


@pytest.mark.slow
def test_every_tensor_is_on_the_device(tmp_path: Path, on_cpu: Warm) -> None:
    """torch refuses to mix devices; on ``meta``, which every torch has, nothing is computed and all is checked."""
    programs = {key: text for name in PROGRAMS for key, text in _variants(name).items()}
    (tmp_path / "programs.json").write_text(json.dumps(programs))
    (tmp_path / "run.py").write_text(_RUN_ALL)
    (done,) = on_cpu.run(Program(["run.py"], tmp_path))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {key: text for key, text in said.items() if text and not key.endswith("broken")} == {}
    # The check can fail: with the models alone on the device it does.
    broken = [text for key, text in said.items() if key.endswith("broken")]
    assert len(broken) >= 4
    assert all("device" in text for text in broken)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "model = Net()\nfrom other import batches\nfor x in batches:\n    model(x).sum().backward()\n",
            "may not be a DataLoader",
        ),
        ("model = Net()\nfrom other import x\nmodel(x)\n", "comes from another file"),
        (
            "def run(x):\n    return Net()(x)\n\n\ndef other(x):\n    model = Net()\n    return model(x)\n",
            "no call in this file",
        ),
        ("import other\nmodel = Net()\nx = other.load()\nmodel(x)\n", "it is unclear whether load() gives a tensor"),
    ],
)
def test_what_cannot_be_followed_is_said_and_left(program: str, reason: str) -> None:
    assert output(HEAD + program, place=True) == HEAD + program
    (found,) = [item for item in findings(HEAD + program, place=True) if item.code == "NPU125"]
    assert not found.edits
    assert reason in found.message


@pytest.mark.parametrize(
    "line",
    [
        "device = torch.device('cpu')",
        "x = torch.ones(2, device='cpu')",
        "import lightning",
        "from accelerate import Accelerator",
    ],
)
def test_programs_that_place_themselves_are_left(line: str) -> None:
    text = f"{HEAD}{line}\n{DATA}model = Net()\nfor x, y in loader:\n    model(x).sum().backward()\n"
    assert output(text, place=True) == text


def test_nothing_is_placed_without_being_asked_for() -> None:
    text = HEAD + PROGRAMS["plain"]
    assert output(text) == text


def test_what_numpy_gets_comes_back() -> None:
    text = HEAD + DATA + "model = Net()\nfor x, y in loader:\n    print(model(x).detach().numpy())\n"
    assert "print(model(x).detach().cpu().numpy())" in output(text, place=True)


def test_classes_of_other_files_are_known(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HEAD + "def build() -> nn.Module:\n    return Net()\n")
    (tmp_path / "data.py").write_text(
        "from torch.utils.data import DataLoader\n\n\ndef load():\n    return DataLoader([])\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom data import load\nfrom net import Net, build\n\nfirst, second = Net(), build()\nloader = load()\n"
        "for x in loader:\n    (first(x) + second(x)).sum().backward()\n"
    )
    options = Options(place_on_npu=True, torch_npu="2.14.0", jobs=1, cache=False)
    result = npuify.migrate(tmp_path, None, options, mode="in-place")
    assert result.changed_files == ("train.py",)
    text = (tmp_path / "train.py").read_text()
    assert "    x = x.to(device)\n" in text
    assert npuify.migrate(tmp_path, None, options, mode="check").changed_files == ()


def test_training_with_what_comes_from_elsewhere_is_named() -> None:
    text = "import torch\n\n\ndef train(model, loader):\n    for x, y in loader:\n        model(x).sum().backward()\n"
    (found,) = [item for item in findings(text, place=True) if item.code == "NPU125"]
    assert "this file does not show" in found.message


PROJECT = {
    "models.py": HEAD
    + "def build(size):\n    return Net()\n\n\ndef build_and_scale():\n    net = Net()\n"
    + "    for p in net.parameters():\n        p.data.mul_(0.5)\n    return net\n",
    "losses.py": "import torch\nfrom torch import nn\n\n\nclass Weighted(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.register_buffer('weights', torch.ones(4))\n\n"
    "    def forward(self, out, y):\n        return nn.functional.cross_entropy(out, y, weight=self.weights)\n\n\n"
    "def distance(a):\n    return (a.sum(1) - torch.ones(a.shape[0])).abs().mean()\n",
    "data.py": "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n\ndef loaders():\n"
    "    xs, ys = torch.randn(8, 8), torch.randint(4, (8,))\n"
    "    return DataLoader(TensorDataset(xs, ys), 4), DataLoader(TensorDataset(xs, ys), 2)\n\n\n"
    "def probe():\n    return torch.ones(3, 8)\n",
    "engine/__init__.py": "",
    "engine/loop.py": "import torch\n\n\ndef train(model, loader, criterion, optimizer):\n    for x, y in loader:\n"
    "        loss = criterion(model(x), y)\n        loss.backward()\n        optimizer.step()\n    return loss.item()\n\n\n"
    "class Trainer:\n    def __init__(self, net, loader, criterion):\n"
    "        self.net, self.loader, self.criterion = net, loader, criterion\n\n    def fit(self):\n"
    "        for batch in self.loader:\n            x, y = batch\n            self.criterion(self.net(x), y).backward()\n\n\n"
    "def predict(model, x):\n    return model(x).detach()\n",
    "main.py": "import torch\nfrom data import loaders, probe\nfrom engine.loop import Trainer, predict, train\n"
    "from losses import Weighted, distance\nfrom models import build, build_and_scale\n\n\ndef main():\n"
    "    first, second = loaders()\n    model = build(4)\n    criterion = Weighted()\n"
    "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    train(model, first, criterion, optimizer)\n"
    "    trainer = Trainer(build_and_scale(), second, torch.nn.CrossEntropyLoss())\n    trainer.fit()\n"
    "    scores = predict(model, probe())\n    print(scores.numpy(), distance(scores).item())\n\n\n"
    "if __name__ == '__main__':\n    main()\n",
}


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _placed(folder: Path) -> npuify.MigrationResult:
    return npuify.migrate(
        folder, None, Options(place_on_npu=True, torch_npu="2.14.0", jobs=1, cache=False), mode="in-place"
    )


def test_models_and_data_are_followed_through_the_project(tmp_path: Path) -> None:
    project = _written(tmp_path, PROJECT)
    result = _placed(project)
    assert result.changed_files == ("data.py", "engine/loop.py", "losses.py", "main.py", "models.py")
    text = {name: (project / name).read_text() for name in PROJECT}
    assert "    model = build(4).to(device)\n    criterion = Weighted().to(device)\n" in text["main.py"]
    assert "Trainer(build_and_scale(), second" in text["main.py"], "it is moved where it is made"
    assert "    net = Net().to(device)\n" in text["models.py"]
    assert "def build(size):\n    return Net()\n" in text["models.py"], "its caller moves it"
    assert "    for x, y in loader:\n        x, y = x.to(device), y.to(device)\n" in text["engine/loop.py"]
    assert "            x, y = batch\n            x, y = x.to(device), y.to(device)\n" in text["engine/loop.py"]
    assert "return torch.ones(3, 8, device=device)" in text["data.py"]
    assert "torch.ones(a.shape[0], device=device)" in text["losses.py"]
    assert "scores.cpu().numpy()" in text["main.py"]
    assert _placed(project).changed_files == ()


@pytest.mark.slow
def test_the_placed_project_trains_with_every_tensor_on_the_device(tmp_path: Path, on_cpu: Warm) -> None:
    """On ``meta`` nothing is computed; what asks for a number is left out, and what is on the CPU is refused."""
    project = _written(tmp_path, PROJECT)
    _placed(project)
    for name in PROJECT:
        text = (project / name).read_text()
        text = text.replace("import torch_npu  # noqa: F401\n", "")
        text = text.replace('torch.device("npu" if torch.npu.is_available() else "cpu")', 'torch.device("meta")')
        text = text.replace(".item()", "").replace("scores.cpu().numpy()", "scores.device")
        (project / name).write_text(text)
    (done,) = on_cpu.run(Program(["main.py"], project))
    assert done.returncode == 0, done.stderr
    assert "meta" in done.stdout
    text = (project / "engine/loop.py").read_text()
    (project / "engine/loop.py").write_text(text.replace("        x, y = x.to(device), y.to(device)\n", "", 1))
    (done,) = on_cpu.run(Program(["main.py"], project))
    assert done.returncode != 0
    assert "device" in done.stderr


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data.py": "def loaders():\n    return open('a'), open('b')\n\n\ndef probe():\n    return open('c')\n"}, ""),
        ({"extra.py": "import torch\nfrom engine.loop import train\ntrain(*open('x'))\n"}, ""),
        (
            {"other.py": "import torch\nfrom data import probe\nfrom engine.loop import predict\nfrom models import build\n"
             "predict(build(1), probe().to('cuda:0'))\n"},
            "other.py, which belongs to it, names a device",
        ),
    ],
    ids=["data of unknown kind", "arguments that cannot be read", "another program that places itself"],
)  # fmt: skip
def test_all_files_of_a_program_are_placed_or_none(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    result = _placed(_written(tmp_path, {**PROJECT, **changes}))
    assert not {"main.py", "engine/loop.py", "models.py"}.intersection(result.changed_files)
    said = [item for item in result.left if item.code == "NPU125"]
    assert said
    assert all(reason in item.message for item in said)
    assert all("could not be placed on one" in item.message for item in said)


def test_what_only_one_binding_puts_on_the_device_is_followed_for_the_others() -> None:
    """``hidden`` comes from the model in all rounds but the first."""
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Cell(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = nn.Linear(8, 4)\n\n    def forward(self, x, hidden):\n"
        "        out = self.layer(torch.cat((x, hidden), 1))\n        return out, out\n\n    def start(self):\n"
        "        return torch.zeros(1, 4)\n\n\n"
        "cell = Cell()\nhidden = torch.zeros(1, 4)\nfor i in range(3):\n    out, hidden = cell(torch.ones(1, 4), hidden)\n"
    )
    after = output(text, place=True)
    assert "hidden = torch.zeros(1, 4, device=device)\n" in after
    assert "return torch.zeros(1, 4, device=next(self.parameters()).device)" in after


def test_a_function_of_torch_that_is_not_known_is_not_taken_for_a_number() -> None:
    text = HEAD + "model = Net()\nx = torch.hub.load('a', 'b')\nmodel(x)\n"
    (found,) = [item for item in findings(text, place=True) if item.code == "NPU125"]
    assert not found.edits
    assert "it is unclear whether load() gives a tensor" in found.message


def test_a_tensor_that_a_module_makes_and_nothing_places_keeps_the_program_where_it_is() -> None:
    text = (
        HEAD + "class Odd(nn.Module):\n    def forward(self, size):\n        return torch.zeros(size)\n\n\n"
        "odd = Odd()\nmodel = Net()\nfor i in range(3):\n    model(torch.ones(2, 8)) + odd(2)\n"
    )
    assert output(text, place=True) == text
    assert any("nothing in the method says where it is" in item.message for item in findings(text, place=True))


IN_A_MODULE = """\
import torch
from torch import nn


def mask_for(seq):
    return torch.from_numpy(table(seq.size(0))).bool()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, X):
        places = torch.LongTensor([0, 1])
        state = torch.zeros(1, len(X), 4)
        out = self.layer(X.transpose(0, 1)) * mask_for(X)
        return out, out.data.numpy()


model = Tagger()
model(torch.ones(2, 8))
"""


def test_what_a_module_makes_while_it_runs_is_made_where_it_is() -> None:
    after = output(IN_A_MODULE, place=True)
    assert "places = torch.LongTensor([0, 1]).to(X.device)\n" in after
    assert "state = torch.zeros(1, len(X), 4, device=X.device)\n" in after
    assert "return torch.from_numpy(table(seq.size(0))).to(seq.device).bool()\n" in after
    assert "return out, out.data.cpu().numpy()\n" in after
    assert output(after, place=True) == after


def test_what_is_made_for_a_module_in_another_file_keeps_the_program_where_it_is(tmp_path: Path) -> None:
    head, _, rest = IN_A_MODULE.partition("\n\ndef mask_for")
    function, _, rest = rest.partition("\n\n\n")
    _written(
        tmp_path,
        {
            "masks.py": f"import torch\n\n\ndef mask_for{function}\n",
            "main.py": f"{head}\nfrom masks import mask_for\n\n\n{rest}",
        },
    )
    result = _placed(tmp_path)
    assert result.changed_files == ()
    assert any("a module calls mask_for(), which creates a tensor" in item.message for item in result.left)


def test_models_in_a_list_keep_the_program_where_it_is() -> None:
    text = HEAD + DATA + "models = [Net(), Net()]\nmodel = Net()\nfor x, y in loader:\n    model(x)\n"
    assert output(text, place=True) == text
    assert output(text.replace("[Net(), Net()]", "nn.ModuleList([Net(), Net()])"), place=True) != text


def test_methods_of_a_model_get_tensors_on_the_device_too() -> None:
    text = HEAD.replace(
        "    def forward(", "    def encode(self, x):\n        return self.first(x)\n\n    def forward("
    ) + (
        "model = Net()\nx = torch.FloatTensor([1.0] * 8)\nprint(model.forward(x).data.numpy())\n"
        "model.encode(torch.ones(8))\nmodel.load_state_dict(torch.load('x.pt'))\n"
    )
    after = output(text, place=True)
    assert "x = torch.FloatTensor([1.0] * 8).to(device)\nprint(model.forward(x).data.cpu().numpy())\n" in after
    assert "model.encode(torch.ones(8, device=device))\n" in after


def test_random_numbers_stay_those_of_the_program() -> None:
    after = output(HEAD + "torch.manual_seed(0)\nmodel = Net()\nmodel(torch.randn(2, 8))\n", place=True)
    assert "model(torch.randn(2, 8).to(device))\n" in after


def test_of_two_expressions_that_end_together_the_inner_one_is_moved_first() -> None:
    text = HEAD + (
        "x = torch.unsqueeze(torch.linspace(-1, 1, 8), 0)\ny = x.pow(2) + 0.2 * torch.rand(x.size())\n"
        "model, criterion = Net(), nn.MSELoss()\ncriterion(model(x), y).backward()\n"
    )
    after = output(text, place=True)
    assert "y = (x.pow(2) + 0.2 * torch.rand(x.size()).to(device)).to(device)\n" in after


def test_a_library_is_not_followed_through_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MOST_CONNECTED", 3)
    lone = {"lone.py": HEAD + PROGRAMS["plain"]}
    result = _placed(_written(tmp_path, {**PROJECT, **lone}))
    assert result.changed_files == ("lone.py",)
    assert "made-on-cpu-in-a-module" not in {item.name for item in result.changes}
    said = [item for item in result.left if item.code == "NPU125"]
    assert [item.file for item in said] == ["engine/loop.py"]
    assert "connect it with more than 3 files" in said[0].message


def test_a_cached_scan_follows_what_other_files_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    project = _written(tmp_path / "project", PROJECT)
    cached = Options(jobs=1, place_on_npu=True)

    def aged(seconds: int) -> None:
        for path in project.rglob("*.py"):
            if path.stat().st_mtime > 1_750_000_000:
                os.utime(path, (1_700_000_000 + seconds,) * 2)

    def findings(options: Options) -> list[tuple[str, str, int]]:
        return [(one.file, one.message, len(one.edits)) for one in npuify.scan([project], options).findings]

    aged(0)
    before = findings(cached)
    monkeypatch.setattr(worker.Worker, "analyse_file", None)
    assert findings(cached) == before
    monkeypatch.undo()
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    placing = (project / "models.py").read_text(encoding="utf-8") + "\nDEVICE = 'cuda:0'\n"
    (project / "models.py").write_text(placing, encoding="utf-8")
    aged(60)
    assert findings(cached) == findings(msgspec.structs.replace(cached, cache=False)) != before
