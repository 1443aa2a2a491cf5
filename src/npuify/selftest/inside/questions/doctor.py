"""What ``npuify doctor`` says of this machine, against what the device and this Python say of themselves."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
import sys
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, is_simulated, is_stand_in, without_machine

_SECONDS = 240
_SHARE = 0.8
"""Of a card's memory that programs have at least; the driver keeps the rest."""
_reports: dict[tuple[str, ...], dict[str, Any]] = {}


def agrees(topic: str, command: list[str]) -> Any:
    """True where both say the same; else what each says.

    Args:
        topic: what is compared; see :func:`_both`.
        command: what starts the doctor, which reports as JSON.
    """
    told, seen = _both(topic, _report(command))
    return True if told == seen else {"doctor": told, "device": seen}


def errors(command: list[str]) -> list[str]:
    """What the doctor finds wrong with a machine on which the NPU works: nothing may be."""
    report = _report(command)
    _cards(report)
    return sorted({one["check"] for one in report["results"] if one["status"] == "error"})


def works(code: str) -> str:
    """How one of the doctor's small programs ends; empty where it ends well."""
    if is_stand_in():
        raise CannotAsk("there is no kernel here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NPUIFY_PORT": str(port)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if not done.returncode:
        return ""
    return without_machine((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])


def _report(command: list[str]) -> dict[str, Any]:
    key = tuple(command)
    if key not in _reports:
        done = subprocess.run(
            [*command, "--python", sys.executable], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode not in (0, 1, 3):
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        _reports[key] = json.loads(done.stdout)
    return _reports[key]


def _both(topic: str, report: dict[str, Any]) -> tuple[Any, Any]:
    """What the doctor says, and what the device or this Python does."""
    import torch

    machine = report["machine"]
    npu: Any = torch.npu
    match topic:
        case "python":
            return machine["python"], platform.python_version()
        case "torch":
            return machine["torch"], str(torch.__version__)
        case "torch_npu":
            import torch_npu

            if is_simulated():
                raise CannotAsk("simulated otherwise")
            return machine["torch_npu"].partition("+")[0], str(torch_npu.__version__).partition("+")[0]
        case "architecture":
            return machine["architecture"], platform.machine()
        case "cards":
            if os.environ.get("ASCEND_RT_VISIBLE_DEVICES") is not None:
                raise CannotAsk("cards are hidden here")
            return len(_cards(report)), npu.device_count()
        case "chip":
            name = npu.get_device_name(0)
            told = sorted({str(card["name"]).removeprefix("Ascend") for card in _cards(report)})
            return (name if len(told) == 1 and name.removeprefix("Ascend").startswith(told[0]) else told), name
        case "memory":
            sizes = [int(card["memory_mib"]) for card in _cards(report)]
            seen = int(npu.get_device_properties(0).total_memory) >> 20
            return (seen if any(_SHARE * one <= seen <= one for one in sizes) else sizes), seen
        case _:
            return _version(machine["cann" if topic == "CANN" else "driver"]), _of_device(topic)


def _cards(report: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report["machine"]["cards"]
    if not found and (is_simulated() or any(name.startswith("NPUIFY_STAND_IN_") for name in os.environ)):
        raise CannotAsk("there is no driver here")
    return found


def _of_device(package: str) -> str:
    """The version that the runtime has of CANN or the driver."""
    import importlib

    utils = importlib.import_module("torch_npu.npu.utils")
    if not hasattr(utils, "get_cann_version"):
        raise CannotAsk("this release does not tell it")
    found = _version(str(utils.get_cann_version(package)))
    if not found:
        raise CannotAsk("this release does not tell it")
    return found


def _version(text: str) -> str:
    """A version as both spell it: ``8.3.RC1`` and ``8.3.rc1`` are one."""
    return re.sub(r"[^0-9a-z.]", "", text.lower())
