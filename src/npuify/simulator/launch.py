"""What ``npuify simulate`` does: prepares the environment, and becomes the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.model import NpuifyError
from npuify.simulator.settings import PREFIX, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

SHIM = Path(__file__).resolve().parent / "shim"
HOME = Path(__file__).resolve().parent.parent.parent


def command(arguments: Sequence[str], python: str, module: bool = False) -> list[str]:
    """What to run for ``npuify simulate ARGUMENTS``.

    A file that ends in .py, ``-m``, or ``-`` (the program comes from the standard input), is run by ``python``;
    ``torchrun`` and ``python`` are those of that same Python; anything else is a command to be found on the path,
    such as a shell script's interpreter.

    Raises:
        NpuifyError: there is nothing to run, no such file or command, or an option that there is not.
    """
    if not arguments:
        raise NpuifyError(
            "nothing to run", advice="for example: npuify simulate train.py, or npuify simulate torchrun train.py"
        )
    first, *rest = arguments
    if first.startswith("-") and first != "-":
        raise NpuifyError(
            f"npuify simulate has no option {first}",
            advice="options come before the program, the program's own after it; see npuify simulate --help",
        )
    if module:
        return [python, "-m", first, *rest]
    name = Path(first).name
    if name in ("torchrun", "torch_npu_run"):
        return [python, "-m", "torch.distributed.run", *rest]
    if name in ("python", "python3"):
        return [python, *rest]
    if first == "-":
        return [python, *arguments]
    if Path(first).is_file() and (first.endswith(".py") or not os.access(first, os.X_OK)):
        return [python, first, *rest]
    if first.endswith(".py"):
        raise NpuifyError(f"no such file: {first}")
    found = shutil.which(first)
    if found is None:
        raise NpuifyError(
            f"no such file or command: {first}",
            advice="name a Python file, -m MODULE, torchrun, or a command on the path",
        )
    return [found, *rest]


def environment(settings: Settings, base: dict[str, str]) -> dict[str, str]:
    """``base`` and what makes a Python below it, and all its children, see the simulated NPUs."""
    made = dict(base)
    made.update(settings.environment())
    made[f"{PREFIX}_HOME"] = str(HOME)
    made["CUDA_VISIBLE_DEVICES"] = ""
    spare_amx(made)
    path = [str(SHIM), *filter(None, base.get("PYTHONPATH", "").split(os.pathsep))]
    made["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path))
    return made


def spare_amx(environ: dict[str, str], cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Keep PyTorch from instructions that some virtual machines announce and then refuse, which ends it by SIGILL.

    Products of bfloat16 take them, so that programs for NPUs do sooner or later. What is computed is the same; where
    the user has set the variable, that counts.
    """
    if "ONEDNN_MAX_CPU_ISA" in environ:
        return
    try:
        announced = re.search(r"^flags\s*:.*\bamx_bf16\b", cpuinfo.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return
    if announced:
        environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"


def python_for(asked: str = "") -> str:
    """The Python that runs the program: the one asked for, this one if it has torch, else the first on the path.

    Raises:
        NpuifyError: the one asked for does not exist.
    """
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise NpuifyError(f"no such Python: {asked}")
        return found
    import importlib.util

    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


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
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False, env=plain)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < 3:
        raise NpuifyError(f"{python} does not run: {done.stderr.strip()[-300:]}")
    torch, real, new_enough = lines[:3]
    if not torch:
        raise NpuifyError(
            f"{python} has no PyTorch, which the simulated NPU needs",
            advice="pip install torch, or name one with --python",
        )
    if real:
        raise NpuifyError(
            f"torch-npu {real} is installed for {python}, and npuify never takes the place of the real one",
            advice="simulate in an environment without torch-npu",
        )
    if new_enough != "True":
        raise NpuifyError(f"{python} is older than Python 3.10, which the simulated NPU needs")
    from npuify.simulator import tables

    try:
        release = tables.release_for(torch, environ.get(f"{PREFIX}_TORCH_NPU", ""))
        tables.soc(environ.get(f"{PREFIX}_SOC", "") or Settings().soc)
    except ValueError as error:
        raise NpuifyError(str(error)) from error
    return torch, release


def _first_on_path(python: str, path: str) -> str:
    """``path`` such that scripts which say ``python3`` or ``torchrun`` get those of ``python``."""
    folder = str(Path(python).parent)
    if not Path(python).is_absolute() or shutil.which("python3", path=path) == str(Path(folder, "python3")):
        return path
    return os.pathsep.join(filter(None, (folder, path)))


def run(settings: Settings, arguments: Sequence[str], *, module: bool = False, python: str = "") -> int:
    """Run a program on simulated NPUs. On Linux and macOS this process becomes the program, and this does not return.

    Returns:
        The program's exit code, where it ran as a child.
    """
    interpreter = python_for(python)
    what = command(arguments, interpreter, module)
    environ = environment(settings, dict(os.environ))
    torch, release = check(interpreter, environ)
    environ[f"{PREFIX}_TORCH_NPU"] = release
    environ["PATH"] = _first_on_path(interpreter, environ.get("PATH", ""))
    count = f"{settings.devices} NPU{'s' if settings.devices != 1 else ''}"
    print(
        f"npuify: simulating {count} ({settings.soc}, {settings.memory / 2**30:g} GiB each) "
        f"as torch_npu {release}+simulated on torch {torch}. "
        "Numbers and speed are those of this machine's CPU, not of an NPU.",
        file=sys.stderr,
        flush=True,
    )
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(what[0] if os.path.isabs(what[0]) else shutil.which(what[0]) or what[0], what, environ)  # noqa: PTH117
    return subprocess.run(what, env=environ, check=False).returncode
