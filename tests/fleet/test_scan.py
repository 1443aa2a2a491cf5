from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from npuify.fleet.model import Limits, Outcome
from npuify.fleet.reports.page import render_html
from npuify.fleet.reports.report import report_on
from npuify.fleet.reports.text import render_csv, render_json, render_text, schema
from npuify.fleet.scan import scan
from npuify.fleet.sources import read_sources
from npuify.fleet.store import FILE, Store
from npuify.fleet.workers.engines import Engine
from npuify.model import NpuifyError

from .conftest import APEX, git, make, repository

if TYPE_CHECKING:
    from npuify.fleet.reports.report import Report

ONE = Engine(jobs=1)


def scanned(place: Path, **others: Any) -> Report:
    limits = others.pop("limits", Limits())
    return scan(place, place.parent / "out", others.pop("said", {"cache": False}), limits, ONE, **others)


def states(report: Report) -> dict[str, str]:
    return {one.name: one.level or (one.fault.kind if one.fault else one.state) for one in report.projects}


def results(folder: Path) -> int:
    with Store(folder, write=False) as store:
        return int(store.rows("SELECT count(*) FROM result")[0][0])


def test_each_project_apart_and_only_what_changed_again(tmp_path: Path) -> None:
    make(tmp_path / "all", "plain")
    make(tmp_path / "all", "one", "two", code=APEX)
    (tmp_path / "all" / "wrong").mkdir()
    (tmp_path / "all" / "wrong" / "pyproject.toml").write_text("[tool.npuify]\nno-such = 1\n")
    lines = [str(tmp_path / "all" / name) for name in ("plain", "one", "two", "wrong", "gone")]
    commit = repository(tmp_path / "git")
    lines += [f"{(tmp_path / 'git').as_uri()}@{commit}", (tmp_path / "nothing.git").as_uri()]
    (tmp_path / "list").write_text("\n".join(lines))

    report = scanned(tmp_path / "list")
    assert states(report) == {
        "plain": "runs",
        "one": "blocked",
        "two": "blocked",
        "wrong": "settings",
        "gone": "missing",
        "git": "runs",
        "nothing": "git",
    }
    assert all(one.fault.advice for one in report.projects if one.fault)
    decision = report.decisions[0]
    assert (decision.name, decision.kind, decision.unlocks, decision.projects) == ("apex", "package", 2, ("one", "two"))
    by_name = {one.name: one for one in report.projects}
    assert by_name["git"].revision == commit
    pages = [(tmp_path / "out" / one.report).read_text() for one in report.projects if one.report]
    assert len(pages) == 4 and all("<!DOCTYPE html>" in page for page in pages)
    assert not any("npuify-fleet-" in page for page in pages), "where a clone lay for a moment"

    document = json.loads(render_json(report))
    jsonschema.Draft202012Validator(json.loads(schema())).validate(document)
    rows = list(csv.DictReader(io.StringIO(render_csv(report))))
    assert [row["blockers"] for row in rows][:3] == ["", "apex", "apex"]
    assert "apex: moves 2 projects" in render_text(report)

    before = results(tmp_path / "out")
    (tmp_path / "all" / "one" / "train.py").write_text(APEX.replace("from apex import amp", "amp = torch.cuda.amp"))
    (tmp_path / "list").write_text("\n".join(lines[:4]))
    report = scanned(tmp_path / "list")
    assert results(tmp_path / "out") == before + 2, "the one that changed, and the one that failed"
    assert report.run == 2 and report.trend is not None and report.trend.run == 1
    assert [(one.name, one.before) for one in report.trend.better] == [("one", "blocked")]
    assert report.trend.gone == ("gone", "git", "nothing")
    scanned(tmp_path / "list", refresh=True)
    assert results(tmp_path / "out") == before + 6


def test_the_page_shows_hostile_names_as_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>\"'&"
    make(tmp_path / "all", name, code=APEX)
    page = render_html(scanned(tmp_path / "all"))
    assert "<img" not in page and "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "default-src 'none'" in page


def test_what_breaks_its_process_is_that_projects_error(tmp_path: Path, broken: None) -> None:
    make(tmp_path / "all", "a", "crash", "exit", "grow", "z")
    report = scanned(tmp_path / "all", limits=Limits(memory=300 << 20))
    assert states(report) == {"a": "runs", "crash": "crash", "exit": "crash", "grow": "memory", "z": "runs"}
    faults = {one.name: one.fault for one in report.projects if one.fault}
    assert "SIGABRT" in faults["crash"].message and "exit code 3" in faults["exit"].message
    assert "--max-memory" in faults["grow"].advice


def test_what_hangs_is_ended(tmp_path: Path, broken: None) -> None:
    make(tmp_path / "all", "hang")
    (fault,) = [one.fault for one in scanned(tmp_path / "all", limits=Limits(seconds=1)).projects]
    assert fault is not None and fault.kind == "time" and "--timeout" in fault.advice


def test_what_is_too_large(tmp_path: Path) -> None:
    make(tmp_path / "all", "code", "data", "many")
    with (tmp_path / "all" / "code" / "model.py").open("wb") as file:
        file.truncate(30 << 30)
    with (tmp_path / "all" / "data" / "weights.bin").open("wb") as file:
        file.truncate(30 << 30)
    for number in range(60):
        (tmp_path / "all" / "many" / f"{number}.txt").touch()
    assert states(scanned(tmp_path / "all", limits=Limits(files=50))) == {
        "code": "size",
        "data": "runs",
        "many": "size",
    }
    repository(tmp_path / "large")
    (tmp_path / "large" / "blob").write_bytes(os.urandom(3 << 20))
    git(tmp_path / "large", "add", "-A")
    git(tmp_path / "large", "commit", "-q", "-m", "blob")
    (tmp_path / "list").write_text((tmp_path / "large").as_uri())
    assert states(scan(tmp_path / "list", tmp_path / "other", {}, Limits(size=1 << 20), ONE)) == {"large": "size"}


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_after_ctrl_c_the_same_command_goes_on(tmp_path: Path) -> None:
    make(tmp_path / "all", "a", "b", "hang")
    program = (
        "import npuify.fleet.workers.child as child\n"
        'child._PROGRAM = \'import runpy; runpy.run_module("tests.fleet.broken", run_name="__main__")\'\n'
        "from npuify.cli import main\n"
        "main()\n"
    )
    arguments = ["fleet", "scan", "all", "-o", "out", "--jobs", "1", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    begun = tmp_path / "all" / "hang" / "begun"
    while not begun.exists() or results(tmp_path / "out") < 2:
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and said == "npuify: interrupted\n"
    with Store(tmp_path / "out", write=False) as store:
        assert states(report_on(store)) == {"a": "runs", "b": "runs", "hang": "waiting"}
    done = results(tmp_path / "out")
    report = scan(tmp_path / "all", tmp_path / "out", {"cache": False}, Limits(), ONE)
    assert report.run == 1 and report.ended and report.levels["runs"] == 3
    assert results(tmp_path / "out") == done + 1


def test_one_at_a_time_and_nothing_twice(tmp_path: Path) -> None:
    make(tmp_path / "all", "a")
    report = scanned(tmp_path / "all")
    source = tmp_path / "out"
    with Store(source, write=True) as store:
        (one,) = read_sources(tmp_path / "all")
        assert not store.add(report.run, one, Outcome(fingerprint="x", findings=None), "")
        with pytest.raises(NpuifyError, match="another npuify"):
            Store(source, write=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(NpuifyError, match="is not empty"):
        Store(tmp_path / "mine", write=True)
    with pytest.raises(NpuifyError, match="holds no fleet"):
        Store(tmp_path / "mine", write=False)
    with Store(source, write=True) as store:
        store.rows("UPDATE meta SET value = '99'")
    with pytest.raises(NpuifyError, match="version 99"):
        Store(source, write=False)
    (source / FILE).write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with pytest.raises(NpuifyError, match="cannot be used"):
        Store(source, write=False)


def test_parquet_has_what_json_has(tmp_path: Path) -> None:
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    from npuify.fleet.reports.parquet import render_parquet

    make(tmp_path / "all", "one", code=APEX)
    make(tmp_path / "all", "plain")
    (tmp_path / "list").write_text("all/one\nall/plain\nall/gone\n")
    report = scanned(tmp_path / "list")
    rows = pyarrow_parquet.read_table(io.BytesIO(render_parquet(report))).to_pylist()
    document = json.loads(render_json(report))
    for row, project in zip(rows, document["projects"], strict=True):
        for name, value in row.items():
            if name in project and not isinstance(project[name], (dict, list)):
                assert value == project[name] or (value is None and name == "fault"), name
        assert row["obstacles"] == project["obstacles"]
        assert row["operators"] == project["operators"]
        assert {one["code"]: one["count"] for one in row["codes"]} == project["codes"]
        assert row["hours_likely"] == project["hours"]["likely"]
        assert row["fault"] == (project["fault"] or {}).get("kind")
        assert row["run"] == document["run"]
    assert {row["name"]: row["state"] for row in rows} == {"one": "done", "plain": "done", "gone": "failed"}
    assert rows[0]["obstacles"]


def test_without_pyarrow_there_is_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npuify.fleet.reports.parquet import render_parquet

    make(tmp_path / "all", "plain")
    report = scanned(tmp_path / "all")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NpuifyError, match="pyarrow") as caught:
        render_parquet(report)
    assert "npuify[parquet]" in caught.value.advice
