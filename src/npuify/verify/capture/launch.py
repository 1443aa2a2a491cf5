"""What ``npuify verify capture`` does: runs the program below the capture, and closes what it wrote."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.process.command import command as resolved
from npuify.process.environment import let_begin, spare_amx
from npuify.process.python import python_for
from npuify.project.frameworks.tensorflow_programs import has_tensorflow_alone
from npuify.simulator import launch as simulator
from npuify.simulator.settings import PREFIX
from npuify.simulator.settings import Settings as Simulated
from npuify.version import __version__

from .keras import launch as keras
from .sameness_variables import variables
from .settings import VARIABLE, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

MANIFEST = "capture.json"
FORMAT = 1
DEVICES = ("auto", "cpu", "simulated")


class Captured(msgspec.Struct, frozen=True):
    """What a capture came to."""

    folder: str
    ranks: int
    """Processes that wrote records."""
    steps: int
    values: int
    """Bytes of values."""
    seconds: float
    """From start to end of the program."""
    spent: float
    """Seconds of them that describing and writing took, in the slowest process."""
    code: int
    """The program's exit code."""
    notes: tuple[str, ...] = ()


def capture(
    arguments: Sequence[str],
    folder: Path,
    settings: Settings,
    *,
    module: bool = False,
    device: str = "auto",
    python: str = "",
    force: bool = False,
    devices: int = 8,
) -> Captured:
    """Run a program and write what it computes into ``folder``.

    Args:
        arguments: the program (a Python file, ``torchrun``, a command) and its arguments.
        folder: where the capture goes; it must not exist, or be empty.
        module: the program is a module, as for ``python -m``.
        device: ``auto`` (what the program chooses), ``cpu`` (CUDA is hidden from it) or ``simulated`` (simulated NPUs).
        force: replace a capture that is there.
        devices: how many NPUs are simulated.

    Raises:
        NpuifyError: wrong use, or the program did nothing that can be captured.
    """
    _check_folder(folder, force)
    with_keras = has_tensorflow_alone(arguments, module)
    interpreter = python_for(python, needs="" if with_keras else "torch")
    partial = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    run = uuid.uuid4().hex
    root = str(Path.cwd() if module else _program_folder(arguments))
    settings = replace(settings, folder=str(partial.absolute()), run=run, root=root)
    if with_keras:
        command, environ = keras.prepared(
            arguments, settings, module=module, device=device, devices=devices, python=interpreter
        )
    else:
        command, environ = (
            resolved(arguments, interpreter, module),
            _environment(settings, device, devices, interpreter),
        )
    partial.mkdir(parents=True)
    try:
        begun = time.time()
        sys.stdout.flush()
        code = _run(command, environ)
        what = "Keras layer" if with_keras else "torch.nn.Module"
        return close(partial, folder, settings, arguments, device=device, begun=begun, code=code, what=what)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run(command: Sequence[str], environ: dict[str, str]) -> int:
    """Run the program and give its exit code; what would end this process is the program's to answer.

    A Ctrl-C of the terminal reaches both: the program may save what it has, however long that takes, and the capture
    up to there is kept. What is sent to this process alone is passed on.
    """
    program = subprocess.Popen(command, env=environ)

    def passed(number: int, _frame: Any) -> None:
        program.send_signal(number)

    def ignored(_number: int, _frame: Any) -> None:
        """The terminal has sent it to the program, too."""

    kept: dict[int, Any] = {}
    wanted = {"SIGINT": ignored if _has_terminal() else passed, "SIGTERM": passed, "SIGHUP": passed}
    for name, answer in wanted.items():
        number = getattr(signal, name, None)
        if number is not None and threading.current_thread() is threading.main_thread():
            kept[number] = signal.signal(number, answer)
    try:
        return program.wait()
    finally:
        for number, before in kept.items():
            signal.signal(number, before)


def _has_terminal() -> bool:
    """Whether a terminal sends its signals to this process and to the program alike."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False


def close(
    partial: Path,
    folder: Path,
    settings: Settings,
    arguments: Sequence[str],
    *,
    device: str,
    begun: float,
    code: int,
    what: str = "torch.nn.Module",
) -> Captured:
    """Make what processes wrote into ``partial`` the capture ``folder``.

    Args:
        what: that of which calls are captured.

    Raises:
        NpuifyError: they wrote nothing.
    """
    ends = _ends(partial)
    if not ends:
        raise NpuifyError(
            phrase("nothing was captured: the program called no {what}, and {ended}", what=what, ended=_ended(code))
            if code
            else phrase("nothing was captured: the program called no {what}", what=what),
            advice="Specify the program that runs the model; Python's options -I, -S and -E prevent a capture.",
        )
    notes = []
    if any(end.get("full") for end in ends):
        notes.append("the value limit was reached; later tensors have statistics only (--limit)")
    if code:
        notes.append(phrase("the program {ended}; the capture ends there", ended=_ended(code)))
    captured = Captured(
        folder=str(folder),
        ranks=len(ends),
        steps=max(int(end.get("steps", 0)) for end in ends),
        values=sum(int(end.get("values", 0)) for end in ends),
        seconds=round(time.time() - begun, 2),
        spent=max(float(end.get("seconds", 0.0)) for end in ends),
        code=code,
        notes=tuple(notes),
    )
    known = {name: value for name, value in asdict(settings).items() if name not in ("folder", "run", "root")}
    manifest = {
        "format": FORMAT,
        "tool": {"name": "npuify verify capture", "version": __version__},
        "run": settings.run,
        "arguments": list(arguments),
        "device": device,
        "begun": begun,
        "settings": known,
        "result": msgspec.to_builtins(captured),
    }
    (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    partial.replace(folder)
    return captured


def _ended(code: int) -> str:
    """How a program ended, in words."""
    if code >= 0:
        return phrase("exited with code {code}", code=code)
    try:
        return phrase("was killed by {name}", name=signal.Signals(-code).name)
    except ValueError:
        return phrase("was killed by signal {value}", value=-code)


def _environment(settings: Settings, device: str, devices: int, interpreter: str) -> dict[str, str]:
    environ = dict(os.environ)
    if device == "simulated":
        machine = Simulated(devices=devices, policy="off", cpu_random=True)
        environ = simulator.environment(machine, environ)
        _, release = simulator.check(interpreter, environ)
        environ[f"{PREFIX}_TORCH_NPU"] = release
    elif device == "cpu":
        environ["CUDA_VISIBLE_DEVICES"] = ""
        spare_amx(environ)
    environ.update(settings.environment())
    environ.update({name: environ.get(name, value) for name, value in variables().items()})
    let_begin(environ, VARIABLE)
    return environ


def _program_folder(arguments: Sequence[str]) -> Path:
    """The folder of the first argument that is a Python file; the current one where there is none."""
    for argument in arguments:
        if argument.endswith(".py") and Path(argument).is_file():
            return Path(argument).absolute().parent
    return Path.cwd()


def _check_folder(folder: Path, force: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NpuifyError("is a file", advice="specify a new folder with -o", file=str(folder))
    if not any(folder.iterdir()):
        return
    if not force:
        raise NpuifyError("is not empty", advice="specify a new folder with -o, or use --force", file=str(folder))
    if not (folder / MANIFEST).is_file():
        raise NpuifyError("is not a capture, and is not replaced", advice="choose another folder", file=str(folder))


def _ends(folder: Path) -> list[dict[str, Any]]:
    """What each process said at its end; for one that died before it could, what is known without it."""
    found = []
    for rank in sorted(folder.glob("rank*")):
        if not (rank / "records.jsonl").is_file():
            continue
        end = rank / "end.json"
        if end.is_file():
            found.append(json.loads(end.read_text(encoding="utf-8")))
        else:
            found.append({"steps": 0, "values": (rank / "values.bin").stat().st_size, "seconds": 0.0})
    return found
