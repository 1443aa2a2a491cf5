"""Captures: what leaves the machine, and that it is judged elsewhere as it was there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.doctor.capture import Capture, Recorder, encode_capture, read_capture
from npuify.doctor.examine import check_environment, judge
from npuify.doctor.facts import gather
from npuify.doctor.machine import Here
from npuify.doctor.redact import Redactor
from npuify.model import NpuifyError

from .machines import BROKEN, HEALTHY, load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_what_was_recorded_is_judged_alike(name: str, tmp_path: Path) -> None:
    recorder = Recorder(load(name).machine())
    before = judge(gather(recorder))
    file = tmp_path / "machine.json"
    file.write_bytes(encode_capture(recorder.capture(tool="0", taken="")))
    assert judge(gather(read_capture(file).machine())) == before


@pytest.mark.parametrize("name", ["a2", "910a_x86", "broken_firmware", "broken_kernels_missing", "broken_rank_table"])
def test_files_below_a_folder_are_read_as_the_machine_itself(name: str, tmp_path: Path) -> None:
    """The probes read below a root; what only commands tell is not known then."""
    capture = load(name)
    for path, text in capture.files.items():
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for path, names in capture.folders.items():
        for one in names:
            (tmp_path / path.lstrip("/") / one).mkdir(parents=True, exist_ok=True)
    for path, target in capture.links.items():
        link = tmp_path / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    here = gather(Here(tmp_path, capture.environment))
    there = gather(capture.machine())
    assert here.driver == there.driver
    assert here.cann == there.cann
    assert here.hccl.rank_table == there.hccl.rank_table
    assert here.host.system == there.host.system


def test_secrets_names_and_what_nobody_asked_for_stay(tmp_path: Path) -> None:
    capture = load("a2")
    environment = {
        **capture.environment,
        "HOME": "/home/alice",
        "USER": "alice",
        "HOSTNAME": "gandalf",
        "HF_TOKEN": "hf_abcdefghijk",
        "ASCEND_API_KEY": "sesame-open",
        "PYTHONPATH": "/home/alice/src:/opt/x",
        "BASH_HISTORY": "private",
    }
    files = {**capture.files, "/etc/hosts": "10.0.0.1 gandalf\n# token=hf_abcdefghijk https://alice:pw123@host/\n"}
    commands = {
        **capture.commands,
        "id": msgspec.structs.replace(
            capture.commands["id"], stdout="uid=1000(alice) gid=1000(alice) groups=1000(alice),1001(HwHiAiUser)\n"
        ),
    }
    changed = msgspec.structs.replace(capture, environment=environment, files=files, commands=commands)
    recorder = Recorder(changed.machine())
    facts = gather(recorder)
    text = encode_capture(recorder.capture(tool="0", taken="")).decode()
    for secret in ("alice", "gandalf", "hf_abc", "sesame", "pw123", "private"):
        assert secret not in text, secret
    again = gather(msgspec.json.decode(text, type=Capture).machine())
    assert again.host.groups == ("user", "HwHiAiUser") and facts.host.groups == ("alice", "HwHiAiUser")
    assert judge(again)[1] == judge(facts)[1]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://user:pass@example.com/x", "https://removed@example.com/x"),
        ('{"password": "hunter22"}', '{"password": "removed"}'),
        ("{'auth_token': 'a1b2'}", "{'auth_token': 'removed'}"),
        (
            '{"tokenizers": "0.23.2", "tiktoken": "0.14.0.post1"}',
            '{"tokenizers": "0.23.2", "tiktoken": "0.14.0.post1"}',
        ),
        ("access_token=1.aGVsbG8gd29ybGQ", "access_token=removed"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer removed"),
        ("api_key=AAAABBBB next", "api_key=removed next"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "removed"),
        ("tokenizer.json in /home/bob/models", "tokenizer.json in /home/user/models"),
        ("Version=25.5.1", "Version=25.5.1"),
    ],
)
def test_redaction(text: str, kept: str) -> None:
    assert Redactor({}).text(text) == kept


@pytest.mark.parametrize(
    "content", ["", "no json", "[]", '{"format": "else"}', '{"files": {"a": 1}}', '{"version": 99}']
)
def test_a_file_that_is_no_capture(content: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(NpuifyError, match="not a capture"):
        read_capture(file)


def test_a_capture_with_a_path_that_is_not_absolute_is_read() -> None:
    machine = Capture(files={"relative/file": "x"}, links={"": "/"}).machine()
    assert machine.read("relative/file") == "x"


def test_the_capture_of_this_machine_is_judged_alike(tmp_path: Path) -> None:
    file = tmp_path / "here.json"
    live = check_environment(capture=file, smoke=False)
    again = check_environment(captured=file)
    assert [one.check for one in again.results] == [one.check for one in live.results]
    assert json.loads(file.read_text())["format"] == "npuify-machine"


@pytest.mark.parametrize(
    "name",
    [
        "dev",
        "torch",
        "driver",
        "910B3",
        "local",
        "lib64",
        "numpy",
        "ascend910b",
        "python3",
        "aarch64",
        "ascend-toolkit",
        "HwHiAiUser",
        "8.3.RC1",
    ],
)
@pytest.mark.parametrize("whose", ["user", "host"])
def test_names_that_are_words_of_the_machine_change_no_judgement(name: str, whose: str) -> None:
    capture = load("a2")
    own = {"USER": name, "HOME": f"/home/{name}"} if whose == "user" else {"HOSTNAME": name}
    files = {**capture.files, "/etc/hostname": f"{name}\n", "/etc/hosts": f"127.0.0.1 localhost\n10.0.0.11 {name}\n"}
    changed = msgspec.structs.replace(
        capture, environment={**capture.environment, **own}, files=files if whose == "host" else capture.files
    )
    recorder = Recorder(changed.machine())
    before = judge(gather(recorder))
    text = encode_capture(recorder.capture(tool="0", taken="")).decode()
    again = gather(msgspec.json.decode(text, type=Capture).machine())
    assert judge(again) == before
    assert f"/home/{name}" not in text
    if whose == "host":
        assert again.host.name == "host" and again.host.addresses_of_name == ("10.0.0.11",)


def test_nothing_is_said_to_be_well_of_which_nothing_is_known() -> None:
    checks = judge(gather(Capture().machine()))[1]
    assert [one.name for one in checks if one.status.value == "ok"] == []


def test_an_empty_capture_is_not_known_rather_than_without_cann() -> None:
    results, checks = judge(gather(Recorder(Capture().machine()), live=False))
    assert {one.status.value for one in results} == {"skipped"}
    assert {one.status.value for one in checks} == {"skipped"}
    # Once it holds files of a machine, those that are not among them are not there.
    results, _ = judge(gather(Capture(files={"/etc/os-release": "ID=ubuntu\n"}).machine()))
    assert {"cann.installed", "cards.seen"} <= {one.check for one in results if one.status.value == "error"}
