"""Converted programs train on two simulated NPUs to the weights of one: nothing that is learnt from is lost or reduced."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import npuify
from npuify.distribute.convert import ConversionOptions, distribute
from npuify.model import Severity
from npuify.options import Options
from npuify.simulator.settings import Settings
from tests.warm import Program

if TYPE_CHECKING:
    from tests.warm import Warm

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SIMULATED = Settings(cpu_random=True, policy="off").environment()
OPTIONS = Options(unsafe=True, jobs=1, cache=False)

HEAD = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm
import nets

torch.manual_seed(3)
mse = nn.functional.mse_loss
data = TensorDataset(torch.randn(32, 4), torch.randn(32, 2))
"""
NETS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 6)
        self.heads = nn.ModuleList([nn.Linear(6, 2) for _ in range(3)])

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return [head(h) for head in self.heads]


def small():
    return Net()


NETS = {"small": small}
"""
PLAIN = """
outs = model(x.cuda())
loss = mse(outs[0], y.cuda()) + mse(outs[1], y.cuda()) + mse(outs[2], y.cuda())
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def program(
    step: str = PLAIN,
    *,
    before: str = "",
    model: str = "nets.Net()",
    loader: str = "DataLoader(data, batch_size=8)",
    loop: str = "for number, (x, y) in enumerate(loader):",
    after: str = "",
) -> str:
    """A training program whose weights after three epochs say whether the gradients were right."""
    parts = (before, step, after)
    before, step, after = (textwrap.dedent(part).strip() for part in parts)
    return f"""{HEAD}
{before}


def main():
    loader = {loader}
    model = {model}.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        running = 0.0
        {loop}
{textwrap.indent(step, " " * 12)}
{textwrap.indent(after, " " * 8)}
        print(epoch, running)


if __name__ == "__main__":
    main()
"""


STEP = "\noptimizer.zero_grad()\nloss.backward()\noptimizer.step()\n"
OUTS = "outs = model(x.cuda())\ny = y.cuda()\n"
PROGRAMS = {
    "heads": program(f"{OUTS}loss = 0\nfor out in outs:\n    loss += mse(out, y)\nloss /= len(outs)\n{STEP}"),
    "penalty": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\npenalty = model.body.weight.pow(2).sum()\nloss += 0.4 * penalty\n{STEP}"
        "running += loss.item()"
    ),
    "listed": program(
        f"{OUTS}losses = []\nfor out in outs:\n    losses.append(mse(out, y))\nloss = sum(losses)\n{STEP}"
    ),
    "stacked": program(f"{OUTS}loss = torch.stack([mse(out, y) for out in outs]).mean()\n{STEP}running += loss.item()"),
    "by_name": program(
        f"{OUTS}parts = {{}}\nfor at, out in enumerate(outs):\n    parts[str(at)] = mse(out, y)\n"
        f"loss = sum(parts.values())\nparts['all'] = loss\n{STEP}"
        "running += parts['all'].item()"
    ),
    "in_a_function": program(
        f"loss, shown = whole(model, x, y)\n{STEP}running += shown",
        before="""
        def whole(model, x, y):
            total = 0
            for out in model(x.cuda()):
                total = total + mse(out, y.cuda())
            return total / 3, total.item()
        """,
    ),
    "of_an_object": program(
        "keeper.add(model, x, y)\noptimizer.zero_grad()\nkeeper.loss.backward()\noptimizer.step()",
        before="""
        class Keeper:
            def add(self, model, x, y):
                self.loss = 0
                for out in model(x.cuda()):
                    self.loss += mse(out, y.cuda())


        keeper = Keeper()
        """,
    ),
    "in_place": program(f"{OUTS}loss = mse(outs[0] + outs[1], y)\nloss *= 0.5\nloss += mse(outs[2], y)\n{STEP}"),
    "without_reduction": program(
        f"{OUTS}each = mse(outs[0] + outs[1] + outs[2], y, reduction='none').mean(1)\nloss = each.mean()\n{STEP}"
        "running += each.mean().item()"
    ),
    "shown_and_learnt": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\n{STEP}running = 0.9 * running + 0.1 * loss.detach()"
    ),
    "accumulated": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y) / 2\nloss.backward()\n"
        "if (number + 1) % 2 == 0:\n    optimizer.step()\n    optimizer.zero_grad()"
    ),
    "clipped": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\noptimizer.zero_grad()\nloss.backward()\n"
        "nn.utils.clip_grad_norm_(model.parameters(), 0.1)\noptimizer.step()"
    ),
    "closure": program(
        """
        def closure():
            optimizer.zero_grad()
            loss = 0
            for out in model(x.cuda()):
                loss += mse(out, y.cuda())
            loss.backward()
            return loss

        running += optimizer.step(closure).item()
        """
    ),
    "running_tensor": program(f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\n{STEP}running = running + loss"),
    "after_the_loop": program(
        f"{OUTS}running = running + mse(outs[0] + outs[1] + outs[2], y)",
        after="optimizer.zero_grad()\nrunning.backward()\noptimizer.step()",
    ),
    "generated": program(
        f"losses = heads_of(model, x, y)\nloss = sum(one for one in losses.values())\n{STEP}"
        "running += sum(losses.values()).item()",
        before="""
        def heads_of(model, x, y):
            return {str(at): mse(out, y.cuda()) for at, out in enumerate(model(x.cuda()))}
        """,
    ),
    "penalty_on_gradients": program(
        f"x = x.cuda().requires_grad_()\n{OUTS.replace('x.cuda()', 'x')}loss = mse(outs[0] + outs[1] + outs[2], y)\n"
        "(slope,) = torch.autograd.grad(outs[0].sum(), x, create_graph=True)\nloss = loss + slope.pow(2).sum(1).mean()\n"
        f"{STEP}"
    ),
    "plateau": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\n{STEP}running += loss.item()",
        model="nets.Net()",
        after="""
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
        scheduler.step(running)
        """,
    ),
    "weighted_by_loss": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\nloss = loss * 0.5 + loss.detach() * 0\n{STEP}"
    ),
    "two_optimizers": program(
        f"{OUTS}loss = mse(outs[0] + outs[1] + outs[2], y)\noptimizer.zero_grad()\nsecond.zero_grad()\nloss.backward()\n"
        "optimizer.step()\nsecond.step()\nif loss.item() < best:\n    best = loss.item()",
        loop="second = torch.optim.SGD(model.heads.parameters(), lr=0.01)\n        best = 9.0\n"
        "        for number, (x, y) in enumerate(loader):",
    ),
    "by_getattr": program(model="getattr(nets, 'small')()"),
    "by_dictionary": program(model="nets.__dict__['Net']()"),
    "by_table": program(model="nets.NETS['small']()"),
    "behind_a_bar": program(loop="bar = tqdm(loader)\n        for x, y in bar:"),
    "numbered_bar": program(loop="for number, (x, y) in tqdm(enumerate(loader)):"),
    "phases": program(
        loader="{name: DataLoader(data, batch_size=8) for name in ('train', 'more')}",
        loop="for x, y in loader['train']:",
    ),
    "phases_in_turn": program(
        loader="{name: DataLoader(data, batch_size=8) for name in ('train', 'more')}",
        loop="for phase in loader:\n          for x, y in loader[phase]:",
    ),
}


def _run(folder: Path, copies: dict[str, Path], cards: int, on_npus: Warm) -> dict[str, list[dict[str, Any]]]:
    folder.mkdir()
    (folder / "tqdm.py").write_text("def tqdm(iterable, **_):\n    return iter(iterable)\n")
    jobs = [
        {"program": str(copy / "train.py"), "log": str(folder / name), "path": str(folder)}
        for name, copy in copies.items()
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    driver = Program([str(ROOT / "tools" / "many_cards" / "driver.py"), str(folder / "jobs.json")], folder, SIMULATED)
    for done in on_npus.ranks(cards, driver) if cards > 1 else on_npus.run(driver):
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return {
        name: [json.loads((folder / f"{name}.{rank}.json").read_text()) for rank in range(cards)] for name in copies
    }


def test_two_cards_learn_what_one_learns(tmp_path: Path, on_npus: Warm) -> None:
    alone, converted, not_shared = {}, {}, set()
    for name, text in PROGRAMS.items():
        source = tmp_path / name
        source.mkdir()
        (source / "train.py").write_text(text)
        (source / "nets.py").write_text(NETS)
        alone[name], converted[name] = tmp_path / f"{name}.one", tmp_path / f"{name}.two"
        npuify.migrate(source, alone[name], OPTIONS)
        conversion = ConversionOptions(entry="train.py", keep_global_batch=True)
        result = distribute(source, converted[name], conversion, OPTIONS)
        if any(one.code == "NPU353" and one.severity is Severity.ERROR for one in result.left):
            not_shared.add(name)
    one = _run(tmp_path / "logs1", alone, 1, on_npus)
    two = _run(tmp_path / "logs2", converted, 2, on_npus)
    wrong = []
    for name in PROGRAMS:
        first, second = (rank["last"] for rank in two[name])
        (last,) = (rank["last"] for rank in one[name])
        (seen,) = (rank["samples"]["32"] for rank in one[name])
        parts = [rank["samples"]["32"] for rank in two[name]]
        is_shared = len(parts[0]) == len(parts[1]) and Counter(seen) == Counter(parts[0] + parts[1])
        if is_shared == (name in not_shared):
            wrong.append(f"{name}: samples are shared out: {is_shared}")
        elif first != second or not first:
            wrong.append(f"{name}: the ranks differ")
        elif any(values != pytest.approx(last[size], abs=1e-5) for size, values in first.items()):
            wrong.append(f"{name}: {first} instead of {last}")
    assert not wrong, "\n".join(wrong)
