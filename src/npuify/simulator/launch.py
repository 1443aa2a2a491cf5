"""What ``npuify simulate`` does: prepares the environment, and becomes the program."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase, plural, sentences
from npuify.model import NpuifyError
from npuify.process.command import become, command, is_shell, watched
from npuify.process.environment import let_begin, spare_amx
from npuify.process.python import answers, first_on_path, python_for
from npuify.simulator import messages, npu_smi, tables
from npuify.simulator.aimed import another_release
from npuify.simulator.settings import PREFIX, Settings
from npuify.simulator.visible_devices import VARIABLE, visible_devices

if TYPE_CHECKING:
    from collections.abc import Sequence


def environment(settings: Settings, base: dict[str, str]) -> dict[str, str]:
    """``base`` and what makes a Python below it, and all its children, see the simulated NPUs."""
    made = dict(base)
    made.update(settings.environment())
    made["CUDA_VISIBLE_DEVICES"] = ""
    spare_amx(made)
    let_begin(made, PREFIX)
    return made


def check(python: str, environ: dict[str, str]) -> tuple[str, str]:
    """Versions of torch, and of the simulated torch_npu, in that Python.

    Raises:
        NpuifyError: it has no torch, it has a real torch_npu, or the settings do not fit.
    """
    asked = (
        "import importlib.metadata as m, sys\n"
        "try: torch = m.version('torch')\n"
        "except m.PackageNotFoundError: torch = ''\n"
        "found = [d for d in m.distributions(name='torch-npu') if not (d.version or '').endswith('+simulated')]\n"
        "print(torch); print(found[0].version if found else ''); print(sys.version_info >= (3, 10))\n"
    )
    plain = {k: v for k, v in environ.items() if k != "PYTHONPATH" and not k.startswith(PREFIX)}
    torch, real, new_enough = answers(python, asked, plain, 3)
    if not torch:
        raise NpuifyError(
            phrase("{python} has no PyTorch, which the simulated NPU needs", python=python),
            advice=phrase("{python} -m pip install torch, or name another with --python", python=shlex.quote(python)),
        )
    if real:
        raise NpuifyError(
            phrase(
                "{real} is installed for {python}, and npuify never takes the place of the real one",
                real=f"torch-npu {real}",
                python=python,
            ),
            advice="simulate in an environment without torch-npu",
        )
    if new_enough != "True":
        raise NpuifyError(phrase("{python} is older than Python 3.10, which the simulated NPU needs", python=python))
    try:
        release = tables.release_for(torch, environ.get(f"{PREFIX}_TORCH_NPU", ""))
        tables.soc(environ.get(f"{PREFIX}_SOC", "") or Settings().soc)
    except ValueError as error:
        raise NpuifyError(str(error)) from error
    return torch, release


def _folders(what: Sequence[str]) -> list[Path]:
    """Where the project of a command may be: where it is started, and where its program lies."""
    program = next((Path(word) for word in what if word.endswith(".py")), None)
    return [Path.cwd(), *([program.resolve().parent] if program is not None else [])]


def run(settings: Settings, arguments: Sequence[str], *, module: bool = False, python: str = "") -> int:
    """Run a program on simulated NPUs. On Linux and macOS this process becomes the program, and this does not return.

    Returns:
        The program's exit code, where it ran as a child: a shell does, so that a command it lacks can be told of.
    """
    interpreter = python_for(python)
    what = command(arguments, interpreter, module)
    environ = environment(settings, dict(os.environ))
    torch, release = check(interpreter, environ)
    environ[f"{PREFIX}_TORCH_NPU"] = release
    messages.new_run(environ, settings.cache)
    environ["PATH"] = npu_smi.on_path(settings, first_on_path(interpreter, environ.get("PATH", "")))
    count = plural("{count} NPU", "{count} NPUs", settings.devices)
    visible = len(visible_devices(environ.get(VARIABLE), settings.devices))
    hidden = (
        phrase("{variable} shows {visible} of them.", variable=VARIABLE, visible=visible)
        if visible < settings.devices
        else ""
    )
    print(
        sentences(
            phrase(
                "npuify: simulating {count} ({soc}, {memory} GiB each) "
                "as torch_npu {release}+simulated on torch {torch}.",
                count=count,
                soc=settings.soc,
                memory=f"{settings.memory / 2**30:g}",
                release=release,
                torch=torch,
            ),
            another_release(_folders(what), release) if not settings.torch_npu else "",
            hidden,
            messages.CPU_ONLY,
        ),
        file=sys.stderr,
        flush=True,
    )
    if not is_shell(what):
        return become(what, environ)
    code = watched(what, environ)
    if code == 127:
        print(
            phrase(
                "npuify: the script ended with 127: a command was not found. The simulated machine has npu-smi, and no "
                "nvidia-smi or other tools of NVIDIA's."
            ),
            file=sys.stderr,
            flush=True,
        )
    return code
