"""Small programs on a real card, each in a process of its own with a time limit, so that none can hang the doctor.

They run only on the machine itself, only where ``npu-smi`` shows a card, and only where no check found an error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.model import Evidence
from npuify.report.doctor import Result, Status

if TYPE_CHECKING:
    from .facts import Facts

LIMIT: Final = 120.0
"""Seconds for one program; the first operator may have to be compiled."""

_ONE_OF_TWO: Final = """
import os
import torch, torch_npu
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
x = torch.full((1024,), float(rank + 1), device=f"npu:{rank}")
dist.all_reduce(x)
assert x.sum().item() == 3 * 1024, x.sum().item()
dist.destroy_process_group()
"""
_TWO_CARDS: Final = f"""
import os, subprocess, sys, time

# multiprocessing cannot start what was given with -c.
def start(rank):
    own = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["NPUIFY_PORT"], RANK=str(rank), WORLD_SIZE="2")
    return subprocess.Popen([sys.executable, "-c", {_ONE_OF_TWO!r}], env={{**os.environ, **own}})

ranks = [start(0), start(1)]
while True:
    codes = [rank.poll() for rank in ranks]
    if any(codes) or None not in codes:
        break
    time.sleep(0.1)
for rank in ranks:
    rank.kill()  # one whose peer has failed would wait for it
    rank.wait()
sys.exit(1 if any(codes) else 0)
"""


class Program(NamedTuple):
    """One smoke test."""

    name: str
    what: str
    code: str
    cards: int = 1


PROGRAMS: Final = (
    Program("smoke.import", "import torch_npu", "import torch, torch_npu\nassert torch.npu.is_available()"),
    Program(
        "smoke.allocate",
        "allocate memory on the card and copy it back",
        "import torch, torch_npu\nx = torch.arange(4096, dtype=torch.float32).npu()\nassert x.cpu()[-1] == 4095",
    ),
    Program(
        "smoke.add",
        "add two tensors",
        "import torch, torch_npu\nx = torch.ones(256, 256).npu()\nassert (x + x).sum().item() == 2 * 256 * 256",
    ),
    Program(
        "smoke.matmul",
        "multiply two matrices",
        "import torch, torch_npu\nx = torch.ones(256, 256).npu().half()\nassert (x @ x)[0, 0].item() == 256",
    ),
    Program(
        "smoke.backward",
        "one training step",
        "import torch, torch_npu\n"
        "m = torch.nn.Linear(64, 1).npu()\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
        "x = torch.randn(32, 64).npu()\nm(x).square().mean().backward()\no.step()\n"
        "assert torch.isfinite(m.weight).all().item()",
    ),
    Program(
        "smoke.amp",
        "one mixed-precision step",
        "import torch, torch_npu\n"
        "m = torch.nn.Linear(64, 1).npu()\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
        "s = torch.npu.amp.GradScaler()\nx = torch.randn(32, 64).npu()\n"
        "with torch.autocast('npu', dtype=torch.float16):\n    y = m(x).float().square().mean()\n"
        "s.scale(y).backward()\ns.step(o)\ns.update()",
    ),
    Program("smoke.all-reduce", "sum over two cards with HCCL", _TWO_CARDS, cards=2),
)


def run_smoke(facts: Facts, python: str | None = None, limit: float = LIMIT) -> tuple[Result, ...]:
    """Run the programs one after the other; after one fails, the later ones are skipped.

    Args:
        python: the interpreter to run them with; None for the one that runs npuify.
        limit: seconds for each.
    """
    results: list[Result] = []
    failed = ""
    for program in PROGRAMS:
        if failed:
            results.append(_result(program, Status.SKIPPED, phrase("not tried, since {failed} failed", failed=failed)))
            continue
        if program.cards > len(facts.smi.cards):
            results.append(_result(program, Status.SKIPPED, phrase("needs {cards} cards", cards=program.cards)))
            continue
        started = time.monotonic()
        code, output = run_limited([python or sys.executable, "-c", program.code], limit)
        seconds = time.monotonic() - started
        if code == 0:
            results.append(_result(program, Status.OK, phrase("worked, in {seconds:.1f} s", seconds=seconds)))
            continue
        failed = program.name
        last = next(
            (line for line in reversed(output.splitlines()) if line.strip()), phrase("it exited with {code}", code=code)
        )
        why = (
            phrase("took longer than {limit:.0f} s and was stopped", limit=limit)
            if code == TIMED_OUT
            else last.strip()[:300]
        )
        results.append(
            _result(
                program,
                Status.ERROR,
                phrase("could not {what}: {why}", what=program.what, why=why),
                advice="save its output and run: npuify diagnose FILE",
            )
        )
    return tuple(results)


TIMED_OUT: Final = -9999


def run_limited(command: list[str], limit: float) -> tuple[int, str]:
    """Exit code and last output of ``command``; it and all that it started are stopped after ``limit`` seconds."""
    environment = {**os.environ, "NPUIFY_PORT": str(_free_port()), "PYTHONUNBUFFERED": "1"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=sys.platform != "win32",
        )
    except OSError as error:
        return 127, error.strerror or str(error)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        return TIMED_OUT, ""
    return process.returncode, output[-20000:].decode("utf-8", "replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children, which hold the card as well."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _result(program: Program, status: Status, message: str, advice: str = "") -> Result:
    return Result(
        check=program.name,
        status=status,
        message=message,
        advice=advice,
        evidence=Evidence.LIVE,
        source="run on this machine",
    )
