"""Whole machines: each broken one is called broken for its own fault and no other, and healthy ones for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.doctor.examine import check_environment, judge
from npuify.doctor.facts import gather
from npuify.doctor.text import verdict
from npuify.report.doctor import Status

from .machines import BROKEN, HEALTHY, expected, load

if TYPE_CHECKING:
    from pathlib import Path


def told(name: str, status: Status) -> dict[str, str]:
    results, _ = judge(gather(load(name).machine()))
    return {one.check: one.message for one in results if one.status is status}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_wrong_with_a_healthy_machine(name: str) -> None:
    assert told(name, Status.ERROR) == {}
    assert told(name, Status.WARNING) == {}


@pytest.mark.parametrize("name", BROKEN)
def test_the_fault_is_named_and_no_other(name: str) -> None:
    errors, warnings = expected(name)
    assert errors or warnings
    assert set(told(name, Status.ERROR)) == errors
    assert set(told(name, Status.WARNING)) == warnings


@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_no_check_fails_itself(name: str) -> None:
    results, _ = judge(gather(load(name).machine()))
    assert not [one.message for one in results if one.status is Status.SKIPPED]


def test_there_are_machines_of_each_kind() -> None:
    assert len(HEALTHY) >= 6 and len(BROKEN) >= 20


@pytest.mark.parametrize("name", [name for name in HEALTHY if name.startswith("layout_")])
def test_an_installation_is_one_however_its_folders_are_linked(name: str) -> None:
    facts = gather(load(name).machine())
    beside = ["8.5.0"] if "beside" in name else []
    active = facts.cann.active
    assert active is not None and active.path in facts.cann.loaded.homes
    assert sorted(one.version for one in facts.cann.installed) == sorted([active.version, *beside])


def test_a_check_without_facts_is_skipped_rather_than_passed() -> None:
    capture = msgspec.structs.replace(load("a2"), commands={}, files={})
    results, checks = judge(gather(capture.machine(), live=False))
    status = {one.name: one.status for one in checks}
    unknown = ("driver.firmware", "host.disk", "hccl.tls", "python.found", "python.numpy", "cards.health")
    assert {name: status[name] for name in unknown} == dict.fromkeys(unknown, Status.SKIPPED)
    assert not [one for one in results if one.check.startswith("python.") and one.status is Status.ERROR]


def test_a_set_that_does_not_fit_is_answered_with_commands() -> None:
    for name in ("broken_cann_too_old", "broken_torch_does_not_match", "broken_python_too_new"):
        results, _ = judge(gather(load(name).machine()))
        mend = next(one.mend for one in results if one.check == "versions.set")
        assert mend is not None and any(command.startswith("pip install torch-npu==") for command in mend.commands)


def test_of_files_alone_no_shell_and_no_command_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit = tmp_path / "usr/local/Ascend/ascend-toolkit/8.3.RC1"
    for folder in ("runtime", "opp", "aarch64-linux"):
        (toolkit / folder).mkdir(parents=True)
    info = "version=8.3.RC1\narch=aarch64\n"
    (toolkit / "aarch64-linux/ascend_toolkit_install.info").write_text(info, encoding="utf-8")
    (toolkit.parent / "latest").symlink_to("8.3.RC1")
    # Variables of the shell that npuify runs in belong to another machine.
    for name, value in (("HCCL_RDMA_TC", "999"), ("ASCEND_RT_VISIBLE_DEVICES", "9"), ("ASCEND_HOME_PATH", "/gone")):
        monkeypatch.setenv(name, value)
    report = check_environment(root=tmp_path)
    assert [one.message for one in report.results if one.status is Status.ERROR] == []
    assert report.machine.cann == "8.3.RC1"
    status = {one.name: one.status for one in report.checks}
    assert status["cann.installed"] is Status.OK
    unknown = ("cann.environment", "cards.seen", "hccl.variables", "hccl.ports", "environment.visible-devices")
    assert {name: status[name] for name in unknown} == dict.fromkeys(unknown, Status.SKIPPED)
    assert verdict(report).startswith("Nothing is wrong with what is known")


def test_of_an_empty_folder_no_check_passes(tmp_path: Path) -> None:
    report = check_environment(root=tmp_path)
    assert {one.status for one in report.checks} == {Status.SKIPPED, Status.ERROR}
    assert [one.check for one in report.results if one.status is Status.ERROR] == ["cann.installed"]
