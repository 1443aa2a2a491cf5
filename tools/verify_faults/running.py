"""Captures many small programs in one process that has imported torch once: each runs in a fork of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.model import NpuifyError
from npuify.verify.capture.launch import close
from npuify.verify.capture.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PROGRAMS = Path(__file__).resolve().parent
ROOT = PROGRAMS.parents[1]

_PLAIN = {
    "OMP_NUM_THREADS": "1",
    # Some virtual machines announce AMX and then refuse it, which kills every product of bfloat16.
    "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
}


def capture_all(
    wanted: Mapping[str, Sequence[str]],
    folder: Path,
    settings: Settings | None = None,
    *,
    warm: Sequence[str] = (),
    failures: dict[str, str] | None = None,
    cuda: bool = False,
    run: Callable[..., subprocess.CompletedProcess[str]] | None = None,
) -> dict[str, Path]:
    """Capture each of ``wanted``, a program's file and arguments by name.

    Args:
        warm: modules to import before the first.
        cuda: the programs may see CUDA devices.
        failures: where to put what went wrong, by name; without it, a failure is an error.
        run: what runs the programs instead of :func:`forked`.

    Returns:
        The capture's folder of each.
    """
    settings = settings or Settings(steps=3)
    begun = time.time()
    requests, made = [], {}
    for number, (name, arguments) in enumerate(wanted.items()):
        own = replace(
            settings, folder=str(folder / f"part{number}"), run=uuid.uuid4().hex, root=str(Path(arguments[0]).parent)
        )
        Path(own.folder).mkdir(parents=True)
        mark = folder / f"failed{number}"
        requests.append({"environment": own.environment(), "arguments": list(arguments), "failed": str(mark)})
        made[name] = (own, folder / f"capture{number}", list(arguments), mark)
    done = (run or forked)(requests, warm, cuda=cuda)
    if done.returncode != 0 and failures is None:
        raise RuntimeError(f"{done.stdout}\n{done.stderr}")
    found = {}
    for name, (own, target, arguments, mark) in made.items():
        if mark.exists() and failures is not None:
            failures[name] = done.stderr[-2000:]
            continue
        try:
            close(Path(own.folder), target, own, arguments, device="auto" if cuda else "cpu", begun=begun, code=0)
        except NpuifyError as error:
            if failures is None:
                raise
            failures[name] = f"{error}\n{done.stderr[-2000:]}"
            continue
        found[name] = target
    return found


def forked(
    requests: Sequence[Mapping[str, Any]], warm: Sequence[str] = (), *, cuda: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run programs in forks of one process; ``environment`` and ``arguments`` of each."""
    # A fork cannot use GPUs that its parent has looked for through CUDA; NVML may be asked.
    seen = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"} if cuda else {"CUDA_VISIBLE_DEVICES": ""}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "tools.verify_faults.forks", *warm],
        input=json.dumps(requests),
        text=True,
        capture_output=True,
        env={**os.environ, **_PLAIN, **seen, "PYTHONPATH": path},
        check=False,
    )
