"""Questions are asked in processes that may crash or hang, and each fault is that of the question at hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from npuify.knowledge.hardware.results import MachineSeen, Outcome, Status
from npuify.model import Evidence
from npuify.selftest.checks import Check
from npuify.selftest.runner import Runner, batches, outcome_of
from npuify.selftest.state import State

from .conftest import simulated

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from npuify.selftest.worker import Worker


def check(name: str, expression: str, expected: Any = True, **more: Any) -> Check:
    return Check(
        id=f"behaviour/{name}",
        claim="It holds.",
        subject=name,
        evidence=Evidence.ASSUMED,
        source="a test",
        function="says:true",
        arguments={"expression": expression},
        expected=expected,
        **more,
    )


CHECKS = [
    check("one", "torch.ones(2).npu().sum().item() == 2"),
    check("crash", "__import__('os').abort()"),
    check("after the crash", "torch.npu.device_count()", 2),
    check("another value", "torch.npu.device_count()", 3),
    check("hang", "__import__('time').sleep(1000)", seconds=2),
    check("after the hang", "torch.npu.is_available()"),
    check("error", "torch.npu.no_such_name"),
    check("exit", "__import__('os')._exit(3)"),
    check("six cards", "True", cards=6),
    check(
        "variable",
        "__import__('os').environ['ASCEND_RT_VISIBLE_DEVICES']",
        "1",
        environment={"ASCEND_RT_VISIBLE_DEVICES": "1"},
    ),
    check("first of a group", "setattr(torch, 'kept', 7)", None, group="g", counts=False),
    check("second of a group", "torch.kept", 7, group="g"),
    check("alone", "hasattr(torch, 'kept')", False, alone=True),
]


def test_each_fault_belongs_to_its_question(
    worker: Worker, machine: MachineSeen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in simulated().items():
        monkeypatch.setenv(name, value)
    found: dict[str, Outcome] = {}
    Runner(sys.executable, worker, machine, jobs=1, told=lambda one, outcome: found.update({one.subject: outcome})).run(
        CHECKS
    )
    said = {name: (outcome.status, outcome.seen) for name, outcome in found.items()}
    assert said == {
        "one": (Status.HELD, True),
        "crash": (Status.CRASHED, "SIGABRT"),
        "after the crash": (Status.HELD, 2),
        "another value": (Status.DIFFERS, 2),
        "hang": (Status.HUNG, "hung"),
        "after the hang": (Status.HELD, True),
        "error": (Status.DIFFERS, "raises AttributeError: module 'torch_npu.npu' has no attribute 'no_such_name'"),
        "exit": (Status.CRASHED, "exit 3"),
        "six cards": (Status.NOT_ASKED, None),
        "variable": (Status.HELD, "1"),
        "second of a group": (Status.HELD, 7),
        "alone": (Status.HELD, False),
    }
    assert found["six cards"].why == "needs 6 cards"
    assert machine == MachineSeen(
        kind="simulated",
        chip="Ascend910B3",
        cards=2,
        torch=machine.torch,
        torch_npu=machine.torch_npu,
        python=machine.python,
        architecture=machine.architecture,
    )


def test_batches_keep_groups_together_and_others_apart() -> None:
    names = [[one.subject for one in batch] for batch in batches(CHECKS)]
    assert ["first of a group", "second of a group"] in names
    assert ["alone"] in names and ["variable"] in names


def test_what_is_told_says_nothing_of_the_machine() -> None:
    message = {"raised": "OSError: /home/someone/secret.txt on 192.168.7.12 at 0x7f001122"}
    seen = outcome_of(CHECKS[0], message).seen
    assert "someone" not in seen and "192" not in seen and "0x7f" not in seen


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    machine = MachineSeen(kind="npu", chip="Ascend910B3", cards=1)
    one, other = CHECKS[0], check("one", "False")
    path = tmp_path / "state.jsonl"
    with State(path, machine, resume=False) as state:
        state.keep(one, outcome_of(one, {"seen": True}))
    path.write_bytes(path.read_bytes() + b'["cut')
    with State(path, machine, resume=True) as state:
        known = state.found(one)
        assert known is not None and known.status is Status.HELD
        assert state.found(other) is None, "the question is another one"
    with State(path, MachineSeen(kind="npu", chip="Ascend910A", cards=1), resume=True) as state:
        assert state.found(one) is None, "the machine is another one"
