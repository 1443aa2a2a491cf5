"""Make a live table: import the real torch_npu with stand-ins for CANN, and write down what it answers.

The work is done by the development tool ``tools/real_torch_npu`` in processes of its own; an installed npuify has no
such tool, and no user's run needs one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from npuify.knowledge.release.imported import read_live_file
from npuify.language import phrase
from npuify.model import NpuifyError

_TOOL = "tools.real_torch_npu"


def generate_live(torch_npu: str, *, wheels: Path | None = None, output: Path) -> Path:
    """Write ``output/live/<torch_npu>.json`` and return its path. It takes some minutes; progress is told on stderr.

    Args:
        torch_npu: the exact version of the release, with its post number.
        wheels: a folder that holds both wheels for this Python on this machine; what is missing is downloaded into it.
            Without it, a cache folder of the tool.
        output: the folder to write to; made if it is not there.

    Raises:
        NpuifyError: this is no checkout of npuify, a package cannot be had, there is no compiler, or the package
            cannot be imported.
    """
    checkout = Path(__file__).resolve().parents[4]
    if not checkout.joinpath(*_TOOL.split("."), "__main__.py").is_file():
        raise NpuifyError(
            "live tables can be made from a checkout of npuify only",
            advice="clone the repository, install its dependency group 'test', and run the command there",
        )
    folder = output.resolve() / "live"
    command = [sys.executable, "-m", _TOOL, "--torch-npu", torch_npu]
    if wheels is not None:
        command += ["--wheels", str(wheels.resolve())]
    command += ["record", "--output", str(folder)]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, stderr=None, text=True, check=False)
    path = folder / f"{torch_npu}.json"
    if done.returncode != 0 or not path.is_file():
        raise NpuifyError(
            phrase("torch_npu {torch_npu} could not be asked", torch_npu=torch_npu),
            advice="What went wrong stands above, on the error stream.",
        )
    read_live_file(path)
    return path
