"""Starts the simulated machine in this process: compiles or loads the device, and tells PyTorch of it."""

from __future__ import annotations

import atexit
import os
from dataclasses import replace
from typing import Any

import torch

from npuify.language import phrase, speak, usual
from npuify.simulator import messages, state, tables
from npuify.simulator.dispatch import registry
from npuify.simulator.settings import PREFIX, Settings, WrongSettingError, from_environment


def start(settings: Settings | None = None) -> None:
    """Make ``npu`` a device of this process. A second call does nothing.

    Raises:
        WrongSettingError: the settings name a chip that is not known, or no machine at all.
        ValueError: they name a release that is not known.
        RuntimeError: there is another accelerator, or the device cannot be had; the message says what to do.
    """
    if state.started():
        return
    settings = settings or from_environment()
    state.release = tables.release_for(str(torch.__version__), settings.torch_npu)
    state.table = tables.release_table(state.release)
    try:
        state.soc = tables.soc(settings.soc)
    except ValueError as error:
        raise WrongSettingError(f"{PREFIX}_SOC: {error}") from error
    state.settings = settings
    _hide_cuda()
    speak(usual())
    device = _engine(settings)
    if device.name == "python":
        from npuify.simulator.without_compiler import gaps

        if settings.devices > 1:
            gaps.say("devices")
        settings = state.settings = replace(settings, devices=1, cpu_random=True)
    registry.register_own_operators()
    _rename()
    device.start(settings)
    state.device = device
    registry.register_aten()
    device.set_policy("error" if _fallback_is_forbidden() else settings.policy)
    registry.register_custom()
    os.register_at_fork(after_in_child=_after_fork)
    atexit.register(_tell_host_runs)


def _engine(settings: Settings) -> Any:
    from npuify.simulator import without_compiler
    from npuify.simulator.device import build, engine

    python = without_compiler.possible(str(torch.__version__))
    if settings.engine == "python":
        if not python:
            raise RuntimeError("npuify simulate: a device without a C++ compiler needs PyTorch 2.10 or newer")
        return _python_device()
    try:
        return engine.load(settings)
    except build.NoCompiler as error:
        if settings.engine == "native" or not python:
            raise RuntimeError(f"npuify simulate: {error}") from error
        _tell_no_compiler(str(error))
        return _python_device()
    except build.CompileError as error:
        advice = "\n" + phrase("`npuify simulate --engine python` does without the compiler") if python else ""
        raise RuntimeError(f"npuify simulate: {error}{advice}") from error


def _python_device() -> Any:
    from npuify.simulator.without_compiler.device import PythonDevice  # what it imports is not in every PyTorch

    return PythonDevice()


def _tell_no_compiler(reason: str) -> None:
    messages.say(
        f"npuify: {reason}\n"
        + phrase(
            "npuify: until then the device is simulated in Python alone, which lacks some things; "
            "see docs/simulation.md"
        ),
        topic="no-compiler",
    )


def _fallback_is_forbidden() -> bool:
    """Whether the environment forbids that operators run on the host's CPU, and the release asks for that."""
    if os.environ.get("TORCH_NPU_FALLBACK_CPU_DISABLE", "0") != "1":
        return False
    return state.release in tables.release_facts()["fallback_can_be_forbidden"]["in"]


def _rename() -> None:
    torch.utils.rename_privateuse1_backend("npu")


def _hide_cuda() -> None:
    """A machine with NPUs has the CPU's build of torch; a CUDA build must not show the difference.

    Raises:
        RuntimeError: the process has already computed on a GPU.
    """
    if torch.version.cuda is None:
        return
    if torch.cuda.is_initialized():
        raise RuntimeError(
            "npuify simulate: CUDA was in use before torch_npu was imported; start the program with `npuify simulate`"
        )
    _blind_the_driver()

    def refuse() -> None:
        raise AssertionError("Torch not compiled with CUDA enabled")

    torch.cuda._lazy_init = refuse
    torch.version.cuda = None
    torch._C._has_cuda = torch._C._has_cudnn = False
    # By the first of them torch itself asks what it was built for.
    for name in ("_cuda_getDeviceCount", "_nccl_version", "_nccl_version_suffix"):
        if hasattr(torch._C, name):
            delattr(torch._C, name)
    # The module stands behind an object that makes its flags settable.
    getattr(torch.backends.cudnn, "m", torch.backends.cudnn)._init = lambda: False


def _blind_the_driver() -> None:
    """Have CUDA's driver look for GPUs while none is to be seen: it looks once, and autograd's threads ask it, too.

    The variable is put back, since programs under ``npuify run`` read what their caller set.
    """
    count = getattr(torch._C, "_cuda_getDeviceCount", None)
    name = "CUDA_VISIBLE_DEVICES"
    before = os.environ.get(name)
    if count is None or before == "":
        return
    os.environ[name] = ""
    try:
        count()
    except RuntimeError:  # no driver
        pass
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _after_fork() -> None:
    from npuify.simulator.api import devices

    devices._after_fork()


def _tell_host_runs() -> None:
    """At the end: which operators ran that have no kernel on the NPU, and how often."""
    if state.settings.policy == "off" or os.environ.get("RANK", "0") != "0":
        return
    from npuify.simulator.api import devices

    if devices._bad_fork:
        return
    runs = state.device.host_runs()
    if not runs:
        return
    most = sorted(runs.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"  {count:>8} × {name}" for name, count in most[:20]]
    if len(most) > 20:
        lines.append("  " + phrase("and {number} more operators", number=len(most) - 20))
    text = [
        phrase(
            "npuify: torch_npu {release} has no NPU kernel for these operators; there they run on the host's CPU:",
            release=state.release,
        ),
        *lines,
    ]
    messages.say("\n".join(text), topic="host-runs")
