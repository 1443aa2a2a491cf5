"""The checklist: a state for each point, resting on what really happened."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.doctor.capture import encode_capture
from npuify.doctor.examine import check_environment
from npuify.doctor.text import render_json
from npuify.handover.checklist.pages import FORMATS, GROUPS, render
from npuify.handover.checklist.points import Checklist, checklist, points
from npuify.handover.checklist.record import Record, read_record
from npuify.language import speaking
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.report.areas import _AREAS

from ..doctor.machines import load
from .conftest import OPTIONS

pytestmark = pytest.mark.core


def states(made: Checklist) -> dict[str, str]:
    return {point.id: point.state for point in made.points}


def write(folder: Path, name: str, data: dict[str, Any]) -> None:
    (folder / "npuify-report").mkdir(exist_ok=True)
    (folder / "npuify-report" / name).write_text(json.dumps(data))


def acceptance(*steps: tuple[str, str, str]) -> dict[str, Any]:
    """As ``npuify verify steps --format json`` writes it."""
    return {
        "version": 1,
        "project": "p",
        "entry": "train.py",
        "reference": "CPU",
        "target": "simulated NPU",
        "devices": {},
        "prepared": [],
        "verdict": "",
        "steps": [
            {"name": name, "title": name, "status": status, "where": where, "message": f"{name} {status}"}
            for name, status, where in steps
        ],
    }


def loss(verdict: str, device: str) -> dict[str, Any]:
    return {
        "version": 1,
        "reference": {"device": "cuda"},
        "target": {"device": device},
        "tolerance": 0.01,
        "verdict": verdict,
        "said": [f"the curves are {verdict}"],
    }


def test_every_area_of_codes_has_its_point() -> None:
    codes = [code for point in points() for code in point.codes]
    assert sorted(codes) == [f"NPU{number}" for number in sorted(_AREAS)]
    assert {point.group for point in points()} == set(GROUPS)
    assert len({point.id for point in points()}) == len(points())
    assert all(bool(point.codes) == (point.judge == "code") for point in points())
    assert all(bool(point.subjects) == (point.judge == "seen") for point in points())


def test_what_was_migrated_is_done_and_what_has_no_report_is_not(records: dict[str, Record]) -> None:
    made = checklist(records["small_gpt"])
    found = states(made)
    assert found["launchers"] == found["attention"] == found["dependencies"] == "done"
    assert found["devices"] == "open"
    assert found["distributed"] == found["kernels"] == found["frameworks"] == "nothing to do"
    for point in ("machine", "versions", "forward", "loss", "cards", "accuracy", "edits"):
        assert found[point] == "not done", point
    attention = next(point for point in made.points if point.id == "attention")
    assert "NPU501 1" in attention.evidence
    assert attention.file == "npuify-report/findings.json"
    assert not made.complete


def test_what_has_no_form_on_the_npu_is_open_with_its_place(project: Path, tmp_path: Path) -> None:
    (project / "old.py").write_text("import torch\n\nold = torch.cuda.nccl.version() < (2, 10)\n")
    npuify.migrate(project, tmp_path / "out", Options(unsafe=True, jobs=1, cache=False))
    devices = next(p for p in checklist(read_record(tmp_path / "out", OPTIONS)).points if p.id == "devices")
    assert devices.state == "open"
    assert "old.py:3" in devices.evidence
    assert devices.how


@pytest.mark.parametrize(("language", "asked"), [("en", "Whether packages"), ("zh", "依赖包与扩展是否有")])
def test_what_is_open_is_not_told_as_if_it_were_so(language: str, asked: str, project: Path) -> None:
    """It said: open: Packages and extensions have a version for the NPU."""
    (project / "requirements.txt").write_text("torch\ncupy-cuda12x\n")
    with speaking(language):
        made = checklist(read_record(project, OPTIONS))
        text = render(made, "markdown")
    packages = next(point for point in made.points if point.id == "dependencies")
    assert packages.state == "open" and packages.title.startswith(asked)
    assert f"- [ ] **{asked}" in text
    for point in points():
        # Every title that is a sentence has its question, in both languages.
        assert bool(point.asks) == bool(point.asks_zh)
        assert point.asks or point.judge in ("code", "edits", "person")
        assert (
            bool(point.asks_tensorflow) == bool(point.asks_tensorflow_zh) == bool(point.title_tensorflow and point.asks)
        )


def test_a_project_that_is_not_migrated(project: Path) -> None:
    made = checklist(read_record(project, OPTIONS))
    assert states(made)["devices"] == "open"
    edits = next(point for point in made.points if point.id == "edits")
    assert edits.state == "not done"
    assert "was not run" in edits.evidence


@pytest.mark.parametrize(
    ("where", "shown"), [("simulation", "simulation"), ("hardware", "hardware"), ("the host's CPU", "cpu")]
)
def test_a_step_that_passed_says_where(where: str, shown: str, project: Path) -> None:
    write(project, "steps.json", acceptance(("forward", "passed", where), ("cards", "not run", "nowhere")))
    made = {point.id: point for point in checklist(read_record(project, OPTIONS)).points}
    assert (made["forward"].state, made["forward"].where) == ("done", shown)
    assert made["forward"].file == "npuify-report/steps.json"
    assert made["cards"].state == "not done"
    assert "cards not run" in made["cards"].evidence
    assert made["backward"].state == "not done"


def test_a_failure_is_not_hidden_by_a_success(project: Path) -> None:
    write(project, "one.json", acceptance(("forward", "passed", "hardware")))
    write(project, "two.json", acceptance(("forward", "failed", "simulation")))
    made = {point.id: point for point in checklist(read_record(project, OPTIONS)).points}
    assert (made["forward"].state, made["forward"].where) == ("failed", "simulation")


@pytest.mark.parametrize(
    ("verdict", "device", "state", "where"),
    [
        ("aligned", "npu", "done", "hardware"),
        ("aligned", "npu (simulated)", "done", "simulation"),
        ("different", "npu", "failed", "hardware"),
        ("uncertain", "", "open", ""),
    ],
)
def test_loss_curves(verdict: str, device: str, state: str, where: str, project: Path) -> None:
    write(project, "loss.json", loss(verdict, device))
    made = {point.id: point for point in checklist(read_record(project, OPTIONS)).points}
    assert (made["loss"].state, made["loss"].where) == (state, where)
    assert made["loss"].evidence == f"the curves are {verdict}"


def test_results_that_are_named_have_to_be_results(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"anything": 1}')
    for place in (tmp_path / "other.json", tmp_path / "nowhere"):
        with pytest.raises(NpuifyError):
            read_record(project, OPTIONS, results=[place])
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "loss.json").write_text(json.dumps(loss("aligned", "npu")))
    assert read_record(project, OPTIONS, results=[tmp_path / "results"]).results[0].subject == "loss"


def test_reports_that_are_broken_are_errors(project: Path, tmp_path: Path) -> None:
    (tmp_path / "doctor.json").write_text("{")
    with pytest.raises(NpuifyError, match="doctor report"):
        read_record(project, OPTIONS, doctor=tmp_path / "doctor.json")
    write(project, "findings.json", {"command": "migrate"})
    with pytest.raises(NpuifyError, match="migration report"):
        read_record(project, OPTIONS)


@pytest.mark.parametrize(
    ("machine", "state", "versions"), [("a2", "done", "done"), ("broken_cann_too_old", "failed", "open")]
)
def test_the_doctors_report(machine: str, state: str, versions: str, project: Path, tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_bytes(encode_capture(load(machine)))
    report = check_environment(captured=tmp_path / "machine.json")
    (tmp_path / "doctor.json").write_text(render_json(report))
    made = {
        point.id: point for point in checklist(read_record(project, OPTIONS, doctor=tmp_path / "doctor.json")).points
    }
    assert made["machine"].state == state
    assert made["machine"].where == "hardware"
    assert made["machine"].file == "doctor.json"
    assert made["versions"].state == versions


@pytest.mark.parametrize("format", FORMATS)
def test_formats_hold_every_point_and_no_markup_of_the_project(format: str, project: Path) -> None:
    hostile = "<script>alert(1)</script>`|*x*"
    write(project, "steps.json", acceptance(("forward", "passed", "simulation")))
    record = msgspec.structs.replace(read_record(project, OPTIONS), name=hostile)
    text = render(checklist(record), format)
    if format == "html":
        assert "<script>" not in text
    elif format == "markdown":
        assert "<script>" not in text.replace("\\<script\\>", "")
    if format == "json":
        assert len(json.loads(text)["points"]) == len(points())
        assert msgspec.json.decode(text, type=Checklist).project == hostile
    else:
        assert all(point.title in html.unescape(text) for point in points())
    assert "simulation" in text


def test_the_command(project: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["checklist", str(project), "--jobs", "1"])
    assert done.exit_code == 1
    assert "OPEN" in done.stdout
    wrong = runner.invoke(app, ["checklist", str(tmp_path / "nowhere")])
    assert wrong.exit_code == 2
    page = tmp_path / "list.html"
    runner.invoke(app, ["checklist", str(project), "--jobs", "1", "--format", "html", "--output", str(page)])
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
