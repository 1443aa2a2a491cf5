"""What ``npuify run`` does: prepares the environment, and becomes the program."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import NpuifyError
from npuify.process.command import become, command
from npuify.process.python import answers, python_for
from npuify.project.frameworks.tensorflow_programs import refuse_tensorflow
from npuify.run.launch_paths import environment
from npuify.run.patches import names
from npuify.run.settings import DEVICES, PREFIX, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASKED = (
    "import importlib.metadata as m, sys\n"
    "def version(name):\n"
    "    try: return m.version(name)\n"
    "    except m.PackageNotFoundError: return ''\n"
    "print(version('torch')); print(version('torch-npu')); print(sys.version_info >= (3, 8))\n"
)
_SHOWN = ("NPUIFY_RUN", "NPUIFY_SIMULATE", "PYTHONPATH", "ASCEND_", "PYTORCH_NPU_", "HCCL_", "TORCH_HCCL_")


def settings_for(device: str, trace: Path | None, disabled: Sequence[str], *, log: bool = False) -> Settings:
    """The settings of a run, from what a user says.

    Raises:
        NpuifyError: no such device or patch, or the trace cannot be written where it is to go.
    """
    if device not in DEVICES:
        raise NpuifyError(
            phrase("there is no device {device!r}", device=device),
            advice=phrase("one of {DEVICES}", DEVICES=commas(DEVICES)),
        )
    chosen = tuple(name.strip() for text in disabled for name in text.split(",") if name.strip())
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        raise NpuifyError(
            phrase("there is no patch {unknown!r}", unknown=unknown[0]), advice=f"patches: {', '.join(names())}"
        )
    file = ""
    if trace is not None:
        if trace.is_dir() or not trace.absolute().parent.is_dir():
            raise NpuifyError(
                phrase("the trace cannot be written to {trace}", trace=trace),
                advice="name a file in a folder that exists",
            )
        file = str(trace.absolute())
    return Settings(device=device, trace=file, disabled=chosen, log=log)


def check(python: str, settings: Settings, environ: dict[str, str]) -> tuple[str, str]:
    """Versions of torch and torch_npu that the program will have.

    Raises:
        NpuifyError: it has no torch, or not the torch_npu that was asked for.
    """
    if settings.device == "simulated":
        from npuify.simulator.launch import check as check_simulator

        return check_simulator(python, environ)
    plain = {name: value for name, value in environ.items() if not name.startswith(PREFIX)}
    torch, torch_npu, new_enough = answers(python, _ASKED, plain, 3)
    if not torch:
        raise NpuifyError(
            phrase("{python} has no PyTorch", python=python), advice="name the program's own Python with --python"
        )
    if not torch_npu:
        raise NpuifyError(
            phrase("{python} has no torch_npu", python=python),
            advice="npuify doctor says which to install; --device simulated runs the program on a simulated NPU",
        )
    if new_enough != "True":
        raise NpuifyError(
            phrase("{python} is older than Python 3.8, which no torch_npu that npuify knows runs on", python=python)
        )
    return torch, torch_npu


def run(settings: Settings, arguments: Sequence[str], *, module: bool = False, python: str = "") -> int:
    """Run a CUDA program on the NPU. On Linux and macOS this process becomes the program, and this does not return.

    Returns:
        The program's exit code, where it ran as a child.

    Raises:
        NpuifyError: there is nothing to run, or its Python lacks what it needs.
    """
    refuse_tensorflow(
        arguments, module, "npuify run", phrase("migrate it with npuify migrate; npuify simulate tries it without NPUs")
    )
    interpreter = python_for(python)
    what = command(arguments, interpreter, module)
    environ, text = prepare(settings, interpreter)
    print(phrase("npuify run: {text}", text=text), file=sys.stderr, flush=True)
    if settings.trace:
        Path(settings.trace).unlink(missing_ok=True)
    return become(what, environ)


def prepare(settings: Settings, python: str) -> tuple[dict[str, str], str]:
    """The environment for a program, and what to say of it.

    Raises:
        NpuifyError: the Python lacks what it needs.
    """
    environ = environment(settings, dict(os.environ))
    torch, release = check(python, settings, environ)
    if settings.device == "simulated":
        from npuify.simulator.settings import PREFIX as SIMULATOR

        environ[f"{SIMULATOR}_TORCH_NPU"] = release
        return environ, (
            phrase(
                "CUDA's names mean simulated NPUs (torch_npu {release}, torch {torch}). Numbers and "
                "speed are those of this machine's CPU, not of an NPU.",
                release=release,
                torch=torch,
            )
        )
    return environ, phrase(
        "CUDA's names mean the NPU (torch_npu {release}, torch {torch}).", release=release, torch=torch
    )


def shell_lines(settings: Settings, python: str = "") -> str:
    """The environment as lines for a shell, for programs that something else starts.

    Raises:
        NpuifyError: the Python lacks what it needs.
    """
    environ, _ = prepare(settings, python_for(python))
    changed = {
        name: value for name, value in environ.items() if value != os.environ.get(name) and name.startswith(_SHOWN)
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(changed.items()))
