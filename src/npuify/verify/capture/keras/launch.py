"""How a program on TensorFlow 2 is started below the capture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.process.command import command
from npuify.process.environment import let_begin, spare_amx
from npuify.process.itself import npuify_command
from npuify.process.python import first_on_path
from npuify.simulator.tensorflow.launch import check, installed
from npuify.verify.capture.keras.begin import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.verify.capture.settings import Settings

_KNOWN: Final = "2.6."
"""The version whose functions and Keras the hooks are written for, and the one that the adapter is for."""


def prepared(
    arguments: Sequence[str], settings: Settings, *, module: bool, device: str, devices: int, python: str
) -> tuple[list[str], dict[str, str]]:
    """The command that runs the program, and its environment.

    Args:
        arguments: the program and its arguments.
        device: ``auto``, ``cpu`` or ``simulated``.
        devices: how many NPUs are simulated.
        python: the Python that runs the program.

    Raises:
        NpuifyError: this is not captured with TensorFlow, or its version is another.
    """
    if settings.level != "module":
        raise NpuifyError(
            phrase("operators of a TensorFlow program are not recorded"), advice="leave out --level operator"
        )
    if settings.dropout == "same":
        raise NpuifyError(
            phrase("TensorFlow draws no masks on the CPU for another device"), advice="choose --dropout off, or keep"
        )
    environ = dict(os.environ)
    version, _ = installed(python, environ)
    if not version.startswith(_KNOWN):
        raise NpuifyError(
            phrase(
                "programs on TensorFlow 2.6 are captured, and {python} has {version}", python=python, version=version
            ),
            advice=phrase("npuify verify steps compares the losses of both programs, npuify verify loss those of logs"),
        )
    environ.update(settings.environment())
    environ[VARIABLE] = "1"
    environ.setdefault("TF_DETERMINISTIC_OPS", "1")
    environ.setdefault("PYTHONHASHSEED", "0")
    environ["PATH"] = first_on_path(python, environ.get("PATH", ""))
    if device == "cpu":
        environ["CUDA_VISIBLE_DEVICES"] = ""
        spare_amx(environ)
    let_begin(environ, VARIABLE)
    if device != "simulated":
        return command(arguments, python, module), environ
    check(python, environ)
    options = ["--framework", "tensorflow", "--python", python, "--devices", str(devices)]
    given = ["-m", *arguments] if module else list(arguments)
    return npuify_command(["simulate", *options, *given]), environ
