"""The command line as a person and a script meet it; what the commands do is monkeypatched, and tested elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import npuify
from npuify import api
from npuify.cli.app import app
from npuify.model import (
    Change,
    Evidence,
    FileError,
    Finding,
    MigrationResult,
    NpuifyError,
    Position,
    Release,
    Safety,
    ScanResult,
    Severity,
)
from npuify.options import Options

if TYPE_CHECKING:
    from click.testing import Result

pytestmark = pytest.mark.core

RELEASE = Release("2.7.1", "2.7.1", "8.3", "asked for")


def finding(severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        "NPU101",
        "cuda-name",
        severity,
        Safety.SAFE,
        "a.py",
        Position(1, 1),
        Position(1, 2),
        "message",
        Evidence.PACKAGE,
    )


def scanned(*findings: Finding, errors: tuple[FileError, ...] = ()) -> ScanResult:
    return ScanResult(".", RELEASE, findings, errors, 1, 1, 10)


def migrated(*left: Finding, changed: bool = False, diff: str = "", destination: str = "") -> MigrationResult:
    change = Change("a.py", "NPU101", "cuda-name", Position(1, 1), Position(1, 2), "cuda", "npu", "m")
    return MigrationResult(
        scanned(finding()), (change,) * changed, left, ("a.py",) * changed, destination=destination, diff=diff
    )


class Calls:
    """Stands in for the public functions, and keeps what they were called with."""

    def __init__(self) -> None:
        self.scan: ScanResult | BaseException = scanned()
        self.migration: MigrationResult | BaseException = migrated()
        self.seen: dict[str, Any] = {}

    @property
    def options(self) -> Options:
        options: Options = self.seen["options"]
        return options


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Calls:
    stand_in = Calls()

    def answer(result: Any) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    def scan(paths: Any, options: Options, *, progress: Any = None, preparing: Any = None) -> Any:
        stand_in.seen = {"paths": paths, "options": options, "progress": progress}
        return answer(stand_in.scan)

    def migrate(
        source: Any,
        destination: Any,
        options: Options,
        *,
        mode: str,
        force: bool,
        progress: Any = None,
        preparing: Any = None,
    ) -> Any:
        stand_in.seen = {
            "source": source,
            "destination": destination,
            "options": options,
            "mode": mode,
            "force": force,
            "progress": progress,
        }
        return answer(stand_in.migration)

    monkeypatch.setattr(npuify, "scan", scan)
    monkeypatch.setattr(npuify, "migrate", migrate)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text("x\n")
    return stand_in


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env=environment)


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (scanned(), 0),
        (scanned(finding(Severity.INFO)), 0),
        (scanned(finding(Severity.WARNING)), 1),
        (scanned(finding()), 1),
        (scanned(errors=(FileError("a.py", "broken"),)), 1),
    ],
)
def test_scan_exits_with_what_is_left(calls: Calls, result: ScanResult, code: int) -> None:
    calls.scan = result
    assert run("scan", ".").exit_code == code


@pytest.mark.parametrize(
    ("mode", "result", "code"),
    [
        ("--check", migrated(), 0),
        ("--check", migrated(changed=True), 1),
        ("--check", migrated(finding()), 1),
        ("--diff", migrated(changed=True), 0),
        ("--diff", migrated(finding(), changed=True), 1),
        ("-o=out", migrated(changed=True), 0),
        ("-o=out", migrated(finding(Severity.INFO), changed=True), 0),
        ("-o=out", migrated(finding(Severity.WARNING), changed=True), 1),
        ("--in-place", migrated(finding()), 1),
    ],
)
def test_migrate_exits_with_what_is_left(calls: Calls, mode: str, result: MigrationResult, code: int) -> None:
    calls.migration = result
    arguments = ["-o", "out"] if mode == "-o=out" else [mode]
    assert run("migrate", ".", *arguments).exit_code == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", "--no-such-option"],
        ["scan", "--format", "xml"],
        ["scan", "--jobs", "-1"],
        ["scan", "--jobs", "many"],
        ["scan", "missing"],
        ["migrate"],
        ["migrate", "."],
        ["migrate", ".", "--diff", "--check"],
        ["migrate", ".", "-o", "out", "--in-place"],
        ["migrate", ".", "--diff", "--force"],
        ["migrate", ".", "--diff", "--style", "modern"],
        ["scan", "--output", "."],
        ["explain"],
        ["explain", "torch.cuda.NoSuchThing"],
        ["knowledge", "show", "0.1"],
        ["dance"],
    ],
)
def test_wrong_use_exits_with_2_and_says_why(calls: Calls, arguments: list[str]) -> None:
    if "missing" in arguments:
        calls.scan = NpuifyError("no such file or folder", file="missing")
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert "bug in npuify" not in result.stderr
    assert not result.stdout


def test_an_error_says_what_where_and_what_to_do(calls: Calls) -> None:
    calls.scan = NpuifyError("is wrong", advice="do this", file="a.py", line=3)
    assert run("scan").stderr == "npuify: a.py:3: is wrong\n  do this\n"


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
def test_each_style_can_be_chosen(calls: Calls, style: str) -> None:
    assert run("migrate", ".", "--diff", "--style", style, "--place-on-npu").exit_code == 0
    assert (calls.options.style, calls.options.place_on_npu) == (style, True)
    assert run("scan", "--style", style).exit_code == 0
    assert (calls.options.style, calls.options.place_on_npu) == (style, False)


def test_a_crash_is_short_and_says_how_to_see_more(calls: Calls) -> None:
    calls.scan = ValueError("oops")
    result = run("scan", NPUIFY_TRACEBACK="")
    assert result.exit_code == 2
    assert "bug in npuify: ValueError: oops" in result.stderr
    assert "NPUIFY_TRACEBACK=1" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("scan", NPUIFY_TRACEBACK="1").stderr


def test_interrupted(calls: Calls) -> None:
    calls.scan = KeyboardInterrupt()
    result = run("scan")
    assert (result.exit_code, result.stderr) == (130, "npuify: interrupted\n")


# --- options and settings --------------------------------------------------------------------------------------------


def test_defaults(calls: Calls) -> None:
    run("scan")
    assert calls.options == Options()
    assert calls.seen["paths"] == [Path()]
    assert calls.seen["progress"] is None


def test_all_options(calls: Calls) -> None:
    run(
        *("scan", "a.py", "--torch-npu", "2.7", "--select", "NPU1,NPU2", "--select", "NPU3", "--ignore", "NPU101, "),
        *("--exclude", "x/", "--exclude", "y.py", "--unsafe", "--jobs", "3", "--no-cache", "--style", "npu"),
    )
    assert calls.options == Options(
        torch_npu="2.7",
        style="npu",
        select=("NPU1", "NPU2", "NPU3"),
        ignore=("NPU101",),
        exclude=("x/", "y.py"),
        unsafe=True,
        jobs=3,
        cache=False,
    )


SETTINGS = """
[tool.npuify]
torch-npu = "2.1"
select = ["NPU3"]
ignore = ["NPU301"]
exclude = ["old/"]
unsafe = true
jobs = 5
"""


def test_settings_of_the_project_hold_where_nothing_is_said(calls: Calls) -> None:
    Path("pyproject.toml").write_text(SETTINGS)
    run("migrate", ".", "--diff")
    assert calls.options == Options(
        torch_npu="2.1", select=("NPU3",), ignore=("NPU301",), exclude=("old/",), unsafe=True, jobs=5
    )


def test_the_command_line_wins_over_settings(calls: Calls) -> None:
    Path("pyproject.toml").write_text(SETTINGS)
    run(
        *("scan", "--torch-npu", "2.7", "--select", "NPU1", "--ignore", "", "--exclude", "new/", "--no-unsafe"),
        *("--jobs", "0"),
    )
    assert calls.options == Options(torch_npu="2.7", select=("NPU1",), exclude=("old/", "new/"), unsafe=False, jobs=0)


def test_wrong_settings(calls: Calls) -> None:
    Path("pyproject.toml").write_text("[tool.npuify]\nstyle = 'modern'\n")
    assert "there is no style 'modern'" in run("scan").stderr
    Path("pyproject.toml").write_text("[tool.npuify]\ncolor = 1\n")
    result = run("scan")
    assert result.exit_code == 2
    assert "pyproject.toml:2: unknown setting 'color'" in result.stderr


def test_migrate_passes_on_what_was_said(calls: Calls) -> None:
    run("migrate", "src", "-o", "out", "--force")
    assert (calls.seen["source"], calls.seen["destination"]) == (Path("src"), Path("out"))
    assert (calls.seen["mode"], calls.seen["force"]) == ("copy", True)
    for flag, mode in (("--diff", "diff"), ("--check", "check"), ("--in-place", "in-place")):
        run("migrate", "src", flag)
        assert (calls.seen["mode"], calls.seen["destination"], calls.seen["force"]) == (mode, None, False)


def test_what_was_done_in_place_is_told_as_done(calls: Calls) -> None:
    calls.migration = migrated(changed=True)
    assert "Changed 1 of 1" in run("migrate", ".", "--in-place").stdout
    assert "Would change 1 of 1" in run("migrate", ".", "--check").stdout


# --- where results go ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["text", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "html"])
def test_every_format_to_the_screen_and_to_a_file(calls: Calls, format: str) -> None:
    calls.scan = scanned(finding())
    shown = run("scan", "--format", format)
    written = run("scan", "--format", format, "--output", "new/report")
    assert shown.stdout and not written.stdout
    assert Path("new/report").read_bytes() == shown.stdout_bytes
    assert shown.exit_code == written.exit_code == 1


def test_output_is_written_whole_or_not_at_all(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("report").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("scan", "--output", "report")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert Path("report").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == [".git", "a.py", "report"]


@pytest.mark.skipif(os.name == "nt", reason="needs /dev/null")
def test_output_to_a_device(calls: Calls) -> None:
    assert run("scan", "--output", os.devnull).exit_code == 0
    assert Path(os.devnull).is_char_device()


def test_diff_is_alone_on_the_standard_output(calls: Calls) -> None:
    calls.migration = migrated(finding(), changed=True, diff="--- a/a.py\n+++ b/a.py\n+caf\udce9 \u4e2d\n")
    result = run("migrate", ".", "--diff")
    assert result.stdout_bytes == b"--- a/a.py\n+++ b/a.py\n+caf\xe9 \xe4\xb8\xad\n"
    assert "Would change 1" in result.stderr
    document = json.loads(run("migrate", ".", "--diff", "--format", "json").stdout)
    assert document["diff"].startswith("--- a/a.py")


def test_version() -> None:
    assert run("--version").stdout == f"npuify {npuify.__version__}\n"


def test_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["$id"] == "urn:npuify:report:1"
    for command in ("doctor", "diagnose"):
        assert json.loads(run("schema", command).stdout)["$id"] == f"urn:npuify:{command}:1"


def test_no_command_shows_help() -> None:
    result = run()
    assert "Usage: npuify" in result.output


# --- questions -------------------------------------------------------------------------------------------------------


def test_rules() -> None:
    shown = run("rules").stdout
    listed = json.loads(run("rules", "--format", "json").stdout)
    assert listed and all(f"{rule['code']}  {rule['name']} " in shown for rule in listed)


def test_explain_a_rule_and_a_name() -> None:
    for rule in api.rules()[:3]:
        assert rule.name in run("explain", rule.code).stdout
    answer = json.loads(run("explain", "torch.cuda.Event", "--format", "json").stdout)
    assert answer["kind"] == "cuda name"
    assert {row["torch_npu"] for row in answer["releases"] if row["name"] == "torch.npu.Event"}


def test_knowledge_list_and_show() -> None:
    listed = json.loads(run("knowledge", "list", "--format", "json").stdout)
    newest = next(row for row in listed if row["has_table"])
    assert newest["torch_npu"] in run("knowledge", "list").stdout
    assert newest["torch"] in run("knowledge", "show", newest["torch_npu"]).stdout
    assert json.loads(run("knowledge", "show", newest["torch_npu"], "--format", "json").stdout)


def test_the_command_line_counts_more_than_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.npuify]\nplace-on-npu = true\nnormalize-newlines = true\nvendor-reports = 'reports'\ncache = false\n"
    )
    (tmp_path / "train.sh").write_bytes(b"#!/bin/sh\r\necho cuda\r\n")
    (tmp_path / "train.py").write_text("import torch\nmodel = torch.nn.Linear(2, 2)\nprint(model(torch.ones(1, 2)))\n")
    monkeypatch.chdir(tmp_path)
    by_project = run("migrate", ".", "--diff").stdout
    assert ".npu()" in by_project or '"npu"' in by_project
    assert "b/train.sh" in by_project
    assert (tmp_path / "reports/change_list.csv").is_file()
    said = run("migrate", ".", "--diff", "--no-place-on-npu", "--no-normalize-newlines", "--vendor-reports", "other")
    assert said.stdout == ""
    assert (tmp_path / "other/change_list.csv").is_file()


def test_explain_says_which_releases_each_meaning_holds_for() -> None:
    text = run("explain", "torch.cuda.get_device_capability").stdout
    assert "torch_npu 2.7.1.post11 to 2.14.0: Returns None" in text
    assert "torch_npu 2.1.0.post17 to 2.6.0.post5: Always returns None" in text
    assert "torch_npu 2" not in run("explain", "torch.cuda.Event").stdout.split("torch_npu     name")[0]
