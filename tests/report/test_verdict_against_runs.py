"""What the verdict says of a program is held against a run of what was migrated on the simulated NPU, in each direction.

"Runs" ends well; "blocked" and "needs work" stop; of what "needs review" and stops, a finding names the very line.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from npuify.model import Severity
from npuify.options import STYLES, Options
from npuify.report.verdicts.verdict import Level, judge
from npuify.rewrite.plan import plan
from npuify.simulator.launch import environment as simulated
from npuify.simulator.settings import Settings

from ..simulator.conftest import environment
from ..warm import ROOT, Program, warm

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import MigrationResult

    from ..warm import Done, Warm

OPTIONS = """
import argparse
import torch
p = argparse.ArgumentParser()
p.add_argument("--fast", action="store_true")
p.add_argument("--backend", default="torch", choices=["torch", "cupy"])
args = p.parse_args()
x = torch.ones(2).cuda()
"""
END = 'if __name__ == "__main__":\n    print("done")\n'
HELPERS = "import pycuda.driver as driver\n\n\ndef fast(x):\n    return driver.run(x)\n"

CASES: dict[str, tuple[Level, dict[str, str]]] = {
    # --- nothing stops it ---
    "plain": (Level.RUNS, {"main.py": "import torch\nx = torch.ones(2).cuda()\nprint(x.sum().item())\n" + END}),
    "horovod, where it is there": (
        Level.RUNS,
        {
            "main.py": "import torch\nimport backend\nx = backend.spread(torch.ones(2).cuda())\n" + END,
            "backend.py": "try:\n    import horovod.torch as hvd\n\n    has_hvd = True\nexcept ImportError:\n    has_hvd = False\n\n\n"
            "def spread(x):\n    if has_hvd:\n        import horovod.torch as hvd\n\n        x = hvd.allreduce(x)\n    return x\n",
        },
    ),
    "behind an option": (
        Level.RUNS,
        {
            "main.py": OPTIONS + "if args.fast:\n    import helpers\n    x = helpers.fast(x)\n" + END,
            "helpers.py": HELPERS,
        },
    ),
    "in a function called behind an option": (
        Level.RUNS,
        {
            "main.py": OPTIONS + "def fast(x):\n    import pycuda.driver as driver\n    return driver.run(x)\n\n\n"
            "def faster(x):\n    return fast(x)\n\n\nif args.fast:\n    x = faster(x)\n" + END
        },
    ),
    "a class made behind a choice": (
        Level.RUNS,
        {
            "main.py": OPTIONS
            + "class Kernels:\n    def __init__(self):\n        self.handle = torch.cuda.cudart()\n\n\n"
            "if args.backend == 'cupy':\n    Kernels()\n" + END
        },
    ),
    "a function of another file behind an option": (
        Level.RUNS,
        {
            "main.py": "from tools import start, wrap\n" + OPTIONS + "if args.fast:\n    x = wrap(x)\nstart()\n" + END,
            "tools.py": "import torch\n\n\ndef start():\n    pass\n\n\ndef wrap(x):\n    return torch.cuda.cudart()\n",
        },
    ),
    "in try and except": (
        Level.RUNS,
        {
            "main.py": "import torch\ntry:\n    import pycuda.driver as driver\nexcept ImportError:\n    driver = None\n"
            "x = torch.ones(2).cuda()\n" + END
        },
    ),
    "what another program needs": (
        Level.RUNS,
        {"main.py": "import torch\nx = torch.ones(2).cuda()\n" + END, "other.py": "import pycuda.driver\n" + END},
    ),
    "a number that is made on the CPU": (
        Level.RUNS,
        {
            "main.py": "import torch\nx = torch.ones(2).cuda()\nx = torch.where(x > 0, x, torch.tensor(0.0))\n"
            "x = x.clamp(min=torch.tensor(0.0)) ** torch.tensor(2.0)\nx[x > 0] = torch.tensor(1.0)\n" + END
        },
    ),
    # --- it stops, and nothing replaces what it needs ---
    "a package": (Level.BLOCKED, {"main.py": "import torch\nimport pycuda.driver as driver\ndriver.init()\n" + END}),
    "a package of a file that it imports": (
        Level.BLOCKED,
        {"main.py": "import torch\nfrom helpers import fast\nx = torch.ones(2).cuda()\n" + END, "helpers.py": HELPERS},
    ),
    "a package where the option is on by default": (
        Level.BLOCKED,
        {
            "main.py": OPTIONS.replace('default="torch"', 'default="cupy"')
            + "if args.backend == 'cupy':\n    import pycuda.driver as driver\n    driver.init()\n"
            + END
        },
    ),
    "a package where a setting asks for it that nobody knows": (
        Level.REVIEW,
        {
            "main.py": "import json\nimport torch\nuse_cupy = json.loads('{\"cupy\": true}')['cupy']\n"
            "if use_cupy:\n    import cupy\n" + END
        },
    ),
    "a file that is imported where a setting says so": (
        Level.REVIEW,
        {
            "main.py": "import json\nimport torch\nif json.loads('{\"fast\": true}')['fast']:\n    import helpers\n"
            "    helpers.fast(torch.ones(2))\n" + END,
            "helpers.py": "import pycuda.driver as driver\n" + HELPERS,
        },
    ),
    "a file that a function imports which may be called": (
        Level.REVIEW,
        {
            "main.py": "import torch\n\n\ndef first():\n    import helpers\n\n\ndef second():\n    pass\n\n\n"
            "chosen = {'1': first, '2': second}[torch.__version__[0]]\nchosen()\n" + END,
            "helpers.py": "import pycuda.driver as driver\n" + HELPERS,
        },
    ),
    "a file whose name is put together": (
        Level.REVIEW,
        {
            "main.py": "import importlib\nimport torch\nname = 'fast'\nimportlib.import_module('parts.' + name)\n"
            + END,
            "parts/fast.py": "import pycuda.driver as driver\n" + HELPERS,
        },
    ),
    # --- it stops until somebody changes it ---
    "a name that is not there": (
        Level.WORK,
        {"main.py": "import torch\ntorch.cuda.cudart().cudaProfilerStart()\n" + END},
    ),
    "the version of CUDA": (
        Level.WORK,
        {"main.py": "import torch\nmajor = torch.version.cuda.split('.')[0]\n" + END},
    ),
    # --- a person has to look; where it stops, the place is named ---
    "a name that is missing, in a function that is never called": (
        Level.REVIEW,
        {
            "main.py": "import torch\nimport tools\nprint(tools.double(torch.ones(2).cuda()).sum().item())\n" + END,
            "tools.py": "import torch\n\n\ndef double(x):\n    return 2 * x\n\n\n"
            "def profiled(x):\n    torch.cuda.cudart().cudaProfilerStart()\n    return double(x)\n",
        },
    ),
    "a name that is missing, in a method that is called": (
        Level.REVIEW,
        {
            "main.py": "import torch\n\n\nclass Trainer:\n    def fit(self):\n"
            "        torch.cuda.cudart().cudaProfilerStart()\n\n\nTrainer().fit()\n" + END
        },
    ),
    "apex in a step of a library that another mode asks for": (
        Level.REVIEW,
        {
            "main.py": "import torch\nimport engine\nstep = engine.make(torch.nn.Linear(2, 1).cuda())\n"
            "step(torch.ones(1, 2).cuda())\n" + END,
            "engine.py": "def apex_step(model, optimizer=None):\n    try:\n        from apex import amp as apex_amp\n"
            "    except ModuleNotFoundError:\n        raise ModuleNotFoundError('install apex')\n\n"
            "    def step(x):\n        with apex_amp.scale_loss(model(x).sum(), optimizer) as loss:\n"
            "            loss.backward()\n    return step\n\n\n"
            "def plain_step(model):\n    return lambda x: model(x).sum().backward()\n\n\n"
            "def mode_of(given):\n    return given or 'plain'\n\n\n"
            "def make(model, amp_mode=None):\n    if mode_of(amp_mode) == 'apex':\n        return apex_step(model)\n"
            "    return plain_step(model)\n",
        },
    ),
    "a package in a function that is called behind an option and without one": (
        Level.BLOCKED,
        {
            "main.py": OPTIONS + "def fast(x):\n    import pycuda.driver as driver\n    return driver.run(x)\n\n\n"
            "if args.fast:\n    x = fast(x)\nx = fast(x)\n" + END
        },
    ),
    "a package in a method that is called by default": (
        Level.REVIEW,
        {
            "main.py": OPTIONS + "class Net(torch.nn.Module):\n    def forward(self, x):\n"
            "        import pycuda.driver as driver\n        return driver.run(x)\n\n\nNet()(x)\n" + END
        },
    ),
    "a number that is made on the CPU beside what a function gives": (
        Level.REVIEW,
        {
            "main.py": "import torch\nx = torch.ones(2).cuda()\nfind = torch.isfinite\n"
            "x = torch.where(find(x), x, torch.tensor(0.0))\n" + END
        },
    ),
    "a capability that chooses": (
        Level.RUNS,
        {"main.py": "import torch\nif torch.cuda.get_device_capability() >= (8, 0):\n    print('new')\n" + END},
    ),
    "a capability handed on": (
        Level.REVIEW,
        {
            "main.py": "import functools\nimport torch\n"
            "ask = functools.partial(torch.cuda.get_device_capability, 0)\nnew = ask()[0] >= 8\n" + END
        },
    ),
    "a module that is chosen": (
        Level.REVIEW,
        {
            "main.py": "import importlib, sys\nimport torch\nname = 'torch.cuda.amp'\nimportlib.import_module(name)\n"
            + END
        },
    ),
}
"""What the verdict on ``main.py`` is, in the style npu, and the files of a project."""


def _migrated(files: dict[str, str], style: str, folder: Path) -> tuple[MigrationResult, Path]:
    source, target = folder / "before", folder / style
    for name, text in files.items():
        for place in (source, target):
            (place / name).parent.mkdir(exist_ok=True, parents=True)
            (place / name).write_text(text, encoding="utf-8")
    result, contents = plan(source, Options(style=style, jobs=1, cache=False, torch_npu="2.13.0"))
    for name, raw in contents.items():
        (target / name).write_bytes(raw)
    return result, target


def _run(machine: Warm, folder: Path) -> Done:
    (done,) = machine.run(Program([str(folder / "main.py")], folder))
    return done


def _level(result: MigrationResult) -> Level:
    return next(one.level for one in judge(result).programs if one.file == "main.py")


def test_what_runs_runs_and_what_is_blocked_stops(tmp_path: Path) -> None:
    base = environment()
    base["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
    device = simulated(Settings(cpu_random=True), base)
    wrong = []
    with warm({**device, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, ["tests.fuzz.npu"]) as machine:
        for number, (case, (level, files)) in enumerate(CASES.items()):
            for style in STYLES:
                result, folder = _migrated(files, style, tmp_path / str(number))
                if style == "npu" and _level(result) is not level:
                    wrong.append(f"{case}: the verdict is {_level(result)}, and should be {level}")
                if said := _disagrees(_run(machine, folder), result, folder):
                    wrong.append(f"{case} in style {style}: {said}")
    assert not wrong, "\n".join(wrong)


def _disagrees(done: Done, result: MigrationResult, folder: Path) -> str:
    """In what a run is not as the verdict says; empty where it is."""
    level = _level(result)
    how = f"the verdict is {level}, and it ended with {done.returncode}: {done.stderr[-800:]}"
    if (level is Level.RUNS) and (done.returncode or "done" not in done.stdout):
        return how
    if level in (Level.BLOCKED, Level.WORK) and not done.returncode:
        return how
    told = [one for one in result.left if one.severity is not Severity.INFO or one.code == "NPU191"]
    lines = {(one.file, line) for one in told for line in (one.start.line, *_uses(one.subject, folder))}
    if done.returncode and not any(f'{folder}{os.sep}{file}", line {line},' in done.stderr for file, line in lines):
        return f"no finding names the place; {how}"
    return ""


def _uses(subject: str, folder: Path) -> list[int]:
    """Where what was handed on is called: a finding names the place where that is done."""
    if not subject.endswith("get_device_capability"):
        return []
    lines = (folder / "main.py").read_text("utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if "ask()" in line]
