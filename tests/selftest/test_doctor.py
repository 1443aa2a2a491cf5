"""What doctor reads of a machine is compared with the device, and a lie of either is told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from npuify import knowledge
from npuify.doctor.capture import Capture, encode_capture
from npuify.doctor.machine import Answer
from npuify.knowledge.hardware.results import Outcome, Status
from npuify.process.itself import npuify_command
from npuify.selftest.run import plan_for
from npuify.selftest.runner import Runner

from .conftest import simulated

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.knowledge.hardware.results import MachineSeen
    from npuify.selftest.worker import Worker

HEAD = """\
| npu-smi 24.1.rc2                 Version: 24.1.rc2                                             |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
"""
CARD = """\
| {npu}     {name}               | OK            | 93.6        40                0    / 0             |
| 0                         | 0000:C{npu}:00.0  | 0           0    / 0          3396 / {memory}         |
"""


def capture(folder: Path, cards: int, name: str, memory: int) -> Path:
    """A machine of which only ``npu-smi info`` is known."""
    text = HEAD + "".join(CARD.format(npu=npu, name=name, memory=memory) for npu in range(cards))
    path = folder / f"{cards} {name} {memory}.json"
    path.write_bytes(encode_capture(Capture(commands={"npu-smi info": Answer(0, text)})))
    return path


def asked(python: str, worker: Worker, machine: MachineSeen, capture: Path) -> dict[str, Any]:
    command = npuify_command(["doctor", "--format", "json", "--from", str(capture)])
    topics = ("cards", "chip", "memory", "CANN", "no error", "smoke.add")
    plan = plan_for(knowledge.load("2.13.0"), ("doctor",))
    checks = [
        msgspec.structs.replace(
            one,
            arguments={**one.arguments, "command": command} if "command" in one.arguments else one.arguments,
        )
        for one in plan.checks
        if one.id.partition("/")[2] in topics
    ]
    found: dict[str, Outcome] = {}
    Runner(python, worker, machine, jobs=1, told=lambda one, outcome: found.update({one.id: outcome})).run(checks)
    return {name.partition("/")[2]: (one.status, one.seen or one.why) for name, one in found.items()}


@pytest.mark.slow
def test_a_machine_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npuify.selftest.runner import describe
    from npuify.selftest.worker import Worker

    for name, value in simulated().items():
        monkeypatch.setenv(name, value)
    for given, wrong in (
        ((2, "910B3", 65536), {}),
        ((3, "910B3", 65536), {"cards": {"doctor": 3, "device": 2}}),
        ((2, "910B4", 32768), {"chip": ["910B4"], "memory": [32768, 32768]}),
    ):
        worker = Worker(sys.executable, {})
        found = asked(sys.executable, worker, describe(worker), capture(tmp_path, *given))
        assert found["smoke.add"][0] is Status.HELD
        assert found["CANN"] == (Status.NOT_ASKED, "this release does not tell it")
        assert found["no error"][0] is Status.DIFFERS and "devices.files" in found["no error"][1]
        for topic in ("cards", "chip", "memory"):
            status, seen = found[topic]
            assert status is (Status.DIFFERS if topic in wrong else Status.HELD), (topic, seen)
            if topic in wrong and topic != "cards":
                assert seen["doctor"] == wrong[topic]
            elif topic in wrong:
                assert seen == wrong[topic]
