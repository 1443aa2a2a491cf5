"""A thousand projects by ``npuify fleet scan``: cold, warm, and as two runs of half the size; time, CPU and memory.

    python benchmarks/fleet.py [--projects 1000] [--files 10] [--jobs 2]

The projects are made, from a fixed seed: training scripts, models, data, settings, shell scripts and requirements; some
need apex or pynvml. Nothing is cached at first. For comparison, the same projects are scanned one after the other in
one process, without reports, store and limits. Memory is the most that the command, and that each of its processes,
had. The goals for a thousand projects of ten files on two idle cores: three minutes cold, 20 s warm; with half as many
projects half the CPU time, and the same memory.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import npuify
from npuify.options import Options

TRAIN = """\
import argparse
import os

import torch
import torch.distributed as dist
{extra}
from model import Net{n}
from data import loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default={lr})
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    dist.init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = torch.nn.parallel.DistributedDataParallel(Net{n}().cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scaler = torch.cuda.amp.GradScaler()
    for epoch in range({n}):
        for x, y in loader():
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            with torch.cuda.amp.autocast():
                loss = torch.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        print(epoch, loss.item(), torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    main()
"""
MODEL = """\
import torch


class Net{n}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear({width}, {width}) for _ in range({n})])
        self.head = torch.nn.Linear({width}, 10)

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x))
        return self.head(x.to("cuda" if torch.cuda.is_available() else "cpu"))
"""
PLAIN = """\
import math


def schedule_{n}(step, total):
    \"\"\"Half a cosine.\"\"\"
    return 0.5 * (1 + math.cos(math.pi * step / max(total, {n})))


class Meter{n}:
    def __init__(self):
        self.total = self.count = 0

    def update(self, value, count=1):
        self.total += value * count
        self.count += count
"""


def make(folder: Path, projects: int, files: int) -> None:
    """Projects of ``files`` files each."""
    random_ = random.Random(21)
    for number in range(projects):
        place = folder / f"project-{number:04d}"
        place.mkdir(parents=True)
        n = random_.randrange(2, 40)
        extra = random_.choices(["", "from apex import amp", "import pynvml", "import jax"], [80, 12, 5, 3])[0]
        contents = {
            "train.py": TRAIN.format(n=n, lr=random_.random(), extra=extra),
            "model.py": MODEL.format(n=n, width=random_.choice((64, 256, 1024))),
            "data.py": "import torch\n\n\ndef loader():\n    return torch.utils.data.DataLoader([], pin_memory=True)\n",
            "run.sh": "export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc_per_node=2 train.py\n",
            "requirements.txt": f"torch==2.{random_.randrange(1, 8)}.0\nnumpy\n",
            "config.yaml": "device: cuda\nbatch_size: 32\n",
        }
        for one in range(max(0, files - len(contents))):
            contents[f"part_{one}.py"] = PLAIN.format(n=one)
        for name, text in list(contents.items())[:files]:
            (place / name).write_text(text, encoding="utf-8")


class Taken(NamedTuple):
    """What a command took."""

    seconds: float
    cpu: float
    memory: float
    """MiB of the command itself, at most."""
    children: float
    """MiB of the largest of its processes, at most."""


def measured(arguments: list[str], environment: dict[str, str]) -> Taken:
    """Run ``npuify`` with these arguments; memory is looked at ten times a second."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    program = [sys.executable, "-c", "from npuify.cli import main; main()", *arguments]
    running = subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL)
    peaks = {"own": 0.0, "children": 0.0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            peaks["own"] = max(peaks["own"], memory(running.pid))
            peaks["children"] = max([peaks["children"], *(memory(one) for one in children(running.pid))])

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = running.wait()
    done.set()
    watcher.join()
    assert code in (0, 1), code
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(time.perf_counter() - start, cpu, peaks["own"], peaks["children"])


def memory(process: int) -> float:
    """MiB that a process has now; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def children(process: int) -> list[int]:
    """The processes that a process has started, as Linux tells."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, task.read_text(encoding="ascii").split())
        except OSError:
            continue
    return found


def alone(folder: Path) -> float:
    """CPU seconds of scanning the projects one after the other in this process, and nothing else."""
    options = Options(jobs=1, cache=False)
    start = time.process_time()
    for place in sorted(folder.iterdir()):
        npuify.scan([place], options)
    return time.process_time() - start


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=1000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="npuify-benchmark-") as name:
        root = Path(name)
        environment = {**os.environ, "NPUIFY_CACHE_DIR": str(root / "cache")}
        print(f"{'':<28}{'s':>8}{'CPU s':>8}{'MiB':>7}{'MiB of a process':>18}")
        taken = {}
        for what, count in (("half, cold", arguments.projects // 2), ("whole, cold", arguments.projects)):
            shutil.rmtree(root / "projects", ignore_errors=True)
            make(root / "projects", count, arguments.files)
            out = root / what.partition(",")[0]
            command = ["fleet", "scan", str(root / "projects"), "-o", str(out), "--jobs", str(arguments.jobs)]
            taken[what] = show(f"{count} projects, cold", measured(command, environment))
        taken["warm"] = show(f"{arguments.projects} projects, warm", measured(command, environment))
        plain = alone(root / "projects")
        print(f"{'one process, scan alone':<28}{'':>8}{plain:>8.1f}")
    cold, half, warm = taken["whole, cold"], taken["half, cold"], taken["warm"]
    print(f"CPU, whole against half: {cold.cpu / half.cpu:.2f} (2 is linear); memory: {cold.memory / half.memory:.2f}")
    print(f"CPU, cold against scan alone: {cold.cpu / plain:.2f}; warm against cold: {warm.cpu / cold.cpu:.3f}")


def show(what: str, taken: Taken) -> Taken:
    """Print a line."""
    print(f"{what:<28}{taken.seconds:>8.1f}{taken.cpu:>8.1f}{taken.memory:>7.0f}{taken.children:>18.0f}", flush=True)
    return taken


if __name__ == "__main__":
    main()
