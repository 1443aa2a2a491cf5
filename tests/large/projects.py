"""The large projects: checkouts that ``NPUIFY_PROJECTS`` names (with colons between), or one that is generated.

    NPUIFY_TESTS=all NPUIFY_PROJECTS=detectron2:timm pytest -s tests/large

prints what each step took: seconds by the clock, CPU of the server or program, and how long answers are. A project is
copied, and given two small programs of ours, so that the steps that run code need no data of anybody's.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUTS = tuple(Path(one) for one in os.environ.get("NPUIFY_PROJECTS", "").split(os.pathsep) if one)
GENERATED = Path("generated")
PROJECTS = pytest.mark.parametrize("checkout", CHECKOUTS or (GENERATED,), ids=lambda path: path.name)

TRAIN = """import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device)
    data = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for rows, wanted in DataLoader(data, batch_size=4, shuffle=True):
            loss = (model(rows.to(device)) - wanted.to(device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
    torch.cuda.synchronize() if device.type == "cuda" else None


if __name__ == "__main__":
    main()
"""
NAME = "own_train.py"
LOG = """Traceback (most recent call last):
  File "own_train.py", line 12, in main
    dist.init_process_group("nccl")
RuntimeError: Distributed package doesn't have NCCL built in
"""

_BLOCK = '''
class Block{n}(nn.Module):
    """Generated."""

    def __init__(self, width: int = {w}):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)
        self.scale = torch.ones(width, device="cuda")

    def forward(self, x, mask=None):
        with torch.cuda.amp.autocast(enabled=x.is_cuda):
            y = self.outer(torch.relu(self.inner(x)))
        if mask is not None:
            y = y.masked_fill(mask.cuda(), 0.0)
        return x + y * self.scale


def run{n}(model, loader, steps):
    """Generated."""
    total = 0.0
    for number, (rows, wanted) in zip(range(steps), loader):
        rows, wanted = rows.cuda(non_blocking=True), wanted.to("cuda:0")
        loss = torch.nn.functional.mse_loss(model(rows), wanted)
        loss.backward()
        if number % 10 == {r}:
            torch.cuda.synchronize()
            total += loss.item()
    return total
'''
_REST = '''

def read{n}(rows, limit={w}):
    """Generated; what most of a project is."""
    kept = []
    for number, row in enumerate(rows):
        if not row or number > limit:
            continue
        values = {{}}
        for place, word in enumerate(row.split(",")):
            key, _, value = word.strip().partition("=")
            if not value:
                values[place] = key
            elif value.isdigit():
                values[key] = int(value)
            else:
                values[key] = value
        if values:
            kept.append(values)
    return kept
'''


def lines_of(folder: Path) -> int:
    """Lines of Python below a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py") if path.is_file())


def generated(folder: Path) -> None:
    """A project of about 12,000 lines in 60 modules, with what a project has beside them."""
    (folder / "net").mkdir(parents=True)
    (folder / "net" / "__init__.py").write_text("")
    for number in range(60):
        # One is as long as the files that an editor must keep up with.
        rest = "".join(_REST.format(n=one, w=9 + one) for one in range(8 if number else 46))
        blocks = _BLOCK.format(n=f"{number}_0", w=8, r=number % 10) + rest
        (folder / "net" / f"part{number}.py").write_text(f"import torch\nfrom torch import nn\n{blocks}")
    every = "".join(f"from net.part{number} import Block{number}_0\n" for number in range(60))
    (folder / "train.py").write_text(
        f"import torch\nimport torch.distributed as dist\n{every}\n\n"
        "def main():\n    dist.init_process_group('nccl')\n    model = Block0_0().cuda()\n"
        "    print(model(torch.ones(2, 8, device='cuda')).sum())\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    (folder / "run.sh").write_text(
        "#!/bin/sh\nexport NCCL_DEBUG=INFO\nnvidia-smi\ntorchrun --nproc_per_node 8 train.py\n"
    )
    (folder / "requirements.txt").write_text("torch==2.7.1\nflash-attn>=2.5\n")
    (folder / "config.yaml").write_text("device: cuda\nbackend: nccl\n")


def copied(checkout: Path, folder: Path) -> Path:
    """A copy to work with, of more than 10,000 lines."""
    if checkout == GENERATED:
        generated(folder)
    else:
        shutil.copytree(checkout, folder, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    (folder / NAME).write_text(TRAIN)
    (folder / "own_failed.log").write_text(LOG)
    assert lines_of(folder) > 10_000, "a large project is wanted"
    return folder


class Measured:
    """What steps took, printed."""

    def __init__(self, face: str, project: Path, cpu: Callable[[], float] = time.process_time) -> None:
        self._cpu, self._at = cpu, (time.monotonic(), cpu())
        print(f"\n{face}, {project.name}: {lines_of(project)} lines of Python", flush=True)

    def step(self, name: str, length: int | None = None) -> None:
        """Tell of what was done since the last call."""
        now = time.monotonic(), self._cpu()
        size = "" if length is None else f"  {length:>10,} characters"
        print(f"  {name:<28} {now[0] - self._at[0]:7.2f} s  CPU {now[1] - self._at[1]:6.2f} s{size}", flush=True)
        self._at = now


def cpu_of(process: int) -> float:
    """CPU seconds that a process and its ended children took; 0.0 where that is not known."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> int:
    """The most memory that a process had, in MiB; 0 where that is not known."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0)
