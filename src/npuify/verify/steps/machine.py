"""Which devices the Python that runs the programs has."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from npuify.language import phrase
from npuify.model import NpuifyError

from .model import Devices

_ASK = """
import importlib.metadata as metadata, json
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
told = {"torch": version("torch"), "torch_npu": version("torch-npu"), "cuda": 0, "npu": 0}
if told["torch"]:
    import torch
    try:
        told["cuda"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
    except Exception:
        pass
    if told["torch_npu"]:
        try:
            import torch_npu
            told["npu"] = torch.npu.device_count() if torch.npu.is_available() else 0
        except Exception:
            pass
print("\\n" + json.dumps(told))
"""
_SECONDS = 180


def devices_for(asked: str = "") -> Devices:
    """Ask the Python that runs the programs, as :func:`npuify.process.python.python_for` chooses it.

    Raises:
        NpuifyError: it does not run, or has no torch; where none was asked for, it says so of the one that runs npuify.
    """
    from npuify.process.python import python_for

    python = python_for(asked)
    if asked or Path(python).parent == Path(sys.executable).parent:
        return devices_of(python)
    devices = _asked(python)
    if devices.torch:
        return devices
    # The first on the path was only tried as npuify's own has no torch: what is missing is missing there.
    raise NpuifyError(
        phrase(
            "neither {own}, which runs npuify, nor {python}, the first on the path, "
            "has PyTorch, which the programs need",
            own=sys.executable,
            python=python,
        ),
        advice=phrase(
            "{python} -m pip install torch, or choose another with --python", python=shlex.quote(sys.executable)
        ),
    )


def devices_of(python: str) -> Devices:
    """Ask ``python`` for torch, torch_npu and the devices that they can use.

    Raises:
        NpuifyError: it does not run, or has no torch.
    """
    devices = _asked(python)
    if not devices.torch:
        raise NpuifyError(
            phrase("{python} has no PyTorch, which the programs need", python=python),
            advice=phrase("{python} -m pip install torch, or choose another with --python", python=shlex.quote(python)),
        )
    return devices


def _asked(python: str) -> Devices:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("NPUIFY_SIMULATE", "NPUIFY_CAPTURE"))
    }
    try:
        done = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, check=False, timeout=_SECONDS, env=plain
        )
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        raise NpuifyError(phrase("{python} could not list its devices: {error}", python=python, error=error)) from None
    return Devices(python, told["torch"], told["torch_npu"], told["cuda"], told["npu"])
