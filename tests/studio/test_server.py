"""What the page asks, over HTTP: from the choice of a project to the written result."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import npuify
import npuify.studio
from npuify.options import Options
from npuify.review import review as review_module
from npuify.studio.commands import TOOLS, arguments, tool_of

if TYPE_CHECKING:
    from .served import Served

OPTIONS = Options(cache=False, jobs=1)
STATIC = Path(npuify.studio.__file__).parent / "static"
TRAIN = """import torch
import torch.distributed as dist

dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2).cuda()
torch.cuda.synchronize()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "run.sh").write_text("#!/bin/sh\nnvidia-smi\npython train.py\n")
    (folder / "bad.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    return folder


def item(served: Served, name: str, file: str, code: str) -> dict[str, Any]:
    told = served.ask("file", id=name, file=file)
    found: dict[str, Any] = next(one for one in told["items"] if one["code"] == code)
    return found


def test_the_whole_way(served: Served, project: Path, tmp_path: Path) -> None:
    start = served.ask("start")
    assert start["styles"] == ["npu", "portable", "auto"] and start["releases"] and start["chips"]
    listed = served.ask("folders", path=str(tmp_path))
    assert listed["folders"] == ["a project"] and listed["parent"] == str(tmp_path.parent)
    assert served.ask("folders", path=str(project), endings=[".py"])["files"] == ["bad.py", "train.py"]
    name = served.opened(project)
    assert str(project) in served.ask("start")["recent"]
    summary = served.ask("summary", id=name)
    assert summary["counts"]["migrated"] >= 3 and summary["errors"]
    refused = item(served, name, "train.py", "NPU301")
    assert served.ask("decide", id=name, file="train.py", ids=[refused["id"]], made=False) == {}
    assert item(served, name, "train.py", "NPU301")["state"] == "refused"
    assert served.ask("undo", id=name) == {} and item(served, name, "train.py", "NPU301")["state"] == "made"
    assert served.ask("redo", id=name) == {}
    served.ask("rule", id=name, code="NPU101", made=False)
    told = served.ask("file", id=name, file="train.py")
    assert "torch.cuda.synchronize" in told["text"] and '"nccl"' in told["text"]
    served.ask("rule", id=name, code="NPU101", made=None)
    served.ask("by-hand", id=name, file="train.py", text=told["text"].replace("Linear(2, 2)", "Linear(3, 3)"))
    patch = served.ask("report", id=name, format="diff")["text"]
    assert "Linear(3, 3)" in patch
    out = tmp_path / "out"
    done = served.ask("write", id=name, mode="copy", path=str(out))
    assert done["destination"] == str(out)
    text = (out / "train.py").read_text()
    assert '"nccl"' in text and "Linear(3, 3)" in text and (out / "npuify-report" / "report.html").exists()
    assert (project / "train.py").read_text() == TRAIN
    assert "not empty" in served.ask("write", id=name, mode="copy", path=str(out))["error"]
    assert "error" not in served.ask("write", id=name, mode="copy", path=str(out), force=True)
    assert "not absolute" in served.ask("write", id=name, mode="copy", path="out")["error"]
    served.ask("close", id=name)
    assert "no longer open" in served.ask("summary", id=name)["error"]


def test_the_same_findings_as_the_command_line(served: Served, project: Path) -> None:
    name = served.opened(project)
    told = served.ask("items", id=name)
    ours = [
        (told["files"][one["file"]]["file"], one["line"], one["code"], one["message"])
        for one in told["items"]
        if one["is_finding"]
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(npuify.__file__).parents[1])}
    command = [sys.executable, "-m", "npuify", "scan", str(project), "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    theirs = [(one["file"], one["line"], one["code"], one["message"]) for one in json.loads(done.stdout)["findings"]]
    assert sorted(ours) == sorted(theirs) and len(ours) >= 5
    assert served.ask("summary", id=name)["before"]["title"] == json.loads(done.stdout)["verdict"]["title"]


def test_options_of_the_page_and_of_the_project(served: Served, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.npuify]\nstyle = 'portable'\nignore = ['NPU301']\n")
    own = served.ask("options", path=str(project))
    assert own["style"] == "portable" and own["ignore"] == ["NPU301"]
    assert served.ask("summary", id=served.opened(project))["style"] == "portable"
    name = served.opened(project, style="auto", ignore=[])
    assert served.ask("summary", id=name)["style"] == "auto"
    for wrong in ({"style": "x"}, {"style": 1}, {"select": "NPU1"}, {"unsafe": "maybe"}):
        assert "error" in served.ask("open", path=str(project), options=wrong), wrong
    failed = served.ask("open", path=str(project), options={"select": ["NOPE"], "jobs": 1})
    assert "NOPE" in served.events("progress", id=failed["id"])[-1]["error"]


def test_broken_input(served: Served, tmp_path: Path) -> None:
    assert "no such file" in served.ask("open", path=str(tmp_path / "nowhere"))["error"]
    assert "choose a project" in served.ask("open")["error"]
    empty = tmp_path / "empty"
    empty.mkdir()
    name = served.opened(empty)
    assert served.ask("items", id=name)["items"] == []
    (empty / "pyproject.toml").write_text("[tool.npuify]\nstyle = 3\n")
    told = served.ask("open", path=str(empty))
    assert "style" in told["error"] and told["file"].endswith("pyproject.toml")
    assert "error" in served.ask("folders", path=str(tmp_path / "nowhere"))
    assert "error" in served.ask("decide", id=name, file="x.py", ids=["1:1:NPU1"], made=False)
    assert "error" in served.ask("report", id=name, format="pdf")
    assert "error" in served.ask("write", id=name, mode="burn", path=str(tmp_path / "out"))
    assert served.raw("POST", "/api/no-such", b"{}")[0] == 404


@pytest.mark.skipif(os.name == "nt", reason="names of files")
def test_hostile_names(served: Served, tmp_path: Path) -> None:
    names = ["<img src=x onerror=alert(1)>.py", "bytes\udcff.py", "new\nline.py", "gnp\u202eyp.py", "a" * 200 + ".py"]
    for one in names:
        (tmp_path / one).write_text("import torch\ntorch.cuda.synchronize()\n")
    name = served.opened(tmp_path)
    told = served.ask("items", id=name)
    assert {one["file"] for one in told["files"]} == set(names)
    shown = "".join(one["shown"] for one in told["files"])
    assert not set("\u202e\n\udcff") & set(shown)
    for one in names:
        view = served.ask("file", id=name, file=one)
        assert "torch.npu.synchronize" in view["text"], one


@pytest.mark.parametrize("phase", ["reading", "migrating"])
def test_cancel(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    for number in range(30):
        (tmp_path / f"m{number}.py").write_text(TRAIN)
    reached, go_on = threading.Event(), threading.Event()
    real = review_module.Draft

    def slow(source: Path, options: Options, migrating: Any, reading: Any) -> Any:
        progress = reading if phase == "reading" else migrating

        def told(done: int, total: int) -> None:
            reached.set()
            go_on.wait(20)
            progress(done, total)

        return real(source, options, *((migrating, told) if phase == "reading" else (told, reading)))

    monkeypatch.setattr(review_module, "Draft", slow)
    name = served.ask("open", path=str(tmp_path), options={"cache": False, "jobs": 1})["id"]
    assert reached.wait(20)
    assert served.ask("start")["open"][-1]["state"] == "running"
    assert "not ready" in served.ask("summary", id=name)["error"]
    served.ask("cancel", id=name)
    assert served.events("progress", id=name)[-1]["state"] == "cancelled"
    go_on.set()
    assert "not ready" in served.ask("summary", id=name)["error"]
    monkeypatch.setattr(review_module, "Draft", real)
    assert served.opened(tmp_path)


def test_two_sessions(served: Served, project: Path) -> None:
    first, second = served.opened(project), served.opened(project)
    served.ask("decide", id=first, file="train.py", ids=[item(served, first, "train.py", "NPU301")["id"]], made=False)
    assert item(served, second, "train.py", "NPU301")["state"] == "made"
    assert "error" not in served.ask("write", id=first, mode="in-place")
    assert "has changed" in served.ask("write", id=second, mode="in-place")["error"]
    assert '"nccl"' in (project / "train.py").read_text()


@pytest.mark.thorough
def test_too_many_projects(served: Served, project: Path) -> None:
    for one in served.ask("start")["open"]:
        served.ask("close", id=one["id"])
    names = [served.opened(project) for _ in range(8)]
    assert "8 projects are open" in served.ask("open", path=str(project))["error"]
    for name in names:
        served.ask("close", id=name)


def test_vendor_files(served: Served, project: Path, tmp_path: Path) -> None:
    name = served.opened(project, vendor_reports=str(tmp_path / "vendor"))
    served.ask("write", id=name, mode="copy", path=str(tmp_path / "out"))
    assert (tmp_path / "vendor" / "change_list.csv").exists()


def test_custom_rules(served: Served, project: Path) -> None:
    text = '[[fact]]\nname = "torch.nn.Linear"\nmessage = "ours is faster"\nseverity = "warning"\n'
    told = served.ask("rules", text=text, path=str(project))
    assert told["rules"] == 1 and told["total"] == 1 and told["places"][0]["line"] == 5
    wrong = served.ask("rules", text='[[fact]]\nnam = "x"\n', path=str(project))
    assert "rules.toml" in wrong["file"] + wrong["error"] and "npuify-" not in json.dumps(wrong)
    assert "error" in served.ask("rules", text="[", path=str(project))


def test_explain_and_ledger(served: Served, project: Path) -> None:
    (project / "doc.py").write_text('import torch\nprint("see docs/cuda/index.html")\ntorch.cuda.synchronize()\n')
    name = served.opened(project)
    assert "torch.npu.synchronize" in json.dumps(served.ask("explain", id=name, what="torch.cuda.synchronize"))
    assert "error" in served.ask("explain", id=name, what="no such name")
    ledger = served.ask("ledger", id=name)
    assert ledger["words"] and sum(one["count"] for one in ledger["reasons"]) >= 1


def test_commands(served: Served, project: Path, tmp_path: Path) -> None:
    values = {"cwd": str(project), "program": "train.py --epochs 2", "cards": "4", "method": "shell"}
    shown = served.ask("command", tool="launch", values=values)["arguments"]
    assert shown == ["launch", "--method=shell", "--cards=4", "--", "train.py", "--epochs", "2"]
    started = served.ask("run", tool="launch", values=values)
    events = served.events("output", id=started["id"])
    text = "".join(one["text"] for one in events)
    assert events[-1]["code"] in (0, 1) and "--epochs 2" in text and "ASCEND" in text
    log = served.ask("drop", file="a.log", text="RVJST1I6IEVJMDAwNiBHZXR0aW5nIHNvY2tldCB0aW1lcyBvdXQu")["path"]
    started = served.ask("run", tool="diagnose", values={"logs": [log]})
    events = served.events("output", id=started["id"])
    assert "EI0006" in "".join(one["text"] for one in events)
    assert "is missing" in served.ask("command", tool="diagnose", values={})["error"]
    assert "no longer known" in served.events("output", id="x")[0]["error"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_command_is_stopped_with_all_that_it_started(served: Served, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="simulate starts nothing without it")
    witness = tmp_path / "child"
    (tmp_path / "wait.sh").write_text(f"#!/bin/sh\nsleep 300 &\necho $! > {witness}\nwait\n")
    started = served.ask("run", tool="simulate", values={"cwd": str(tmp_path), "program": "sh wait.sh"})
    until = time.monotonic() + 60
    while not witness.exists() or not witness.read_text().strip():
        assert time.monotonic() < until
        time.sleep(0.05)
    served.ask("stop", id=started["id"])
    assert served.events("output", id=started["id"])[-1]["code"] is not None
    child = int(witness.read_text())
    while time.monotonic() < until:
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("a child goes on")


def test_every_option_of_a_form_is_one_of_its_command() -> None:
    for tool in TOOLS:
        text = subprocess.run(
            [sys.executable, "-m", "npuify", *tool.command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(npuify.__file__).parents[1])},
        ).stdout
        for field in tool.fields:
            assert field.flag in text, (tool.name, field.flag)
            if field.choices and field.flag:
                flat = text.replace("\n", "").replace(" ", "")
                offered = re.search(re.escape(field.flag) + "<([^>]*)>", flat)
                assert offered and set(filter(None, field.choices)) <= set(offered[1].split("|")), field
    values = {"source": "a", "entry": "b", "scale_lr": "sqrt"}
    assert arguments(tool_of("distribute"), values) == ["distribute", "--entry=b", "--scale-lr=sqrt", "--", "a"]


def test_both_languages_say_the_same() -> None:
    english, chinese = (json.loads((STATIC / f"{one}.json").read_text(encoding="utf-8")) for one in ("en", "zh"))
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert sorted(part.split("}")[0] for part in text.split("{")[1:]) == sorted(
            part.split("}")[0] for part in chinese[key].split("{")[1:]
        ), key
    scripts = "".join(one.read_text(encoding="utf-8") for one in STATIC.glob("*.js"))
    used = set(re.findall(r'\bt\("([\w.-]+)"', scripts))
    assert used and used <= english.keys(), used - english.keys()
    for tool in TOOLS:
        assert f"tool.{tool.name}" in english and f"tool.{tool.name}.what" in english
        assert all(f"field.{field.name}" in english for field in tool.fields), tool.name


CHINESE = re.compile(r"[\u4e00-\u9fff]")


def test_what_is_found_is_told_in_the_language_of_the_page(served: Served, project: Path, tmp_path: Path) -> None:
    """Also where the page changes it after decisions, which hold, as does undo."""

    def nccl(name: str, language: str) -> dict[str, Any]:
        told = served.ask("file", id=name, file="train.py", language=language)
        found: dict[str, Any] = next(one for one in told["items"] if one["code"] == "NPU301")
        return found

    opened = served.ask("open", path=str(project), options={"cache": False, "jobs": 1}, language="zh")
    name = opened["id"]
    assert served.events("progress", id=name)[-1]["state"] == "ready"
    assert CHINESE.search(nccl(name, "zh")["message"])
    told = served.ask("summary", id=name, language="zh")
    assert CHINESE.search(told["title"]) and CHINESE.search(told["summary"])
    assert CHINESE.search(" ".join(served.ask("explain", id=name, what="NPU301", language="zh")["text"]))
    assert CHINESE.search(served.ask("file", id=name, file="none.py", language="zh")["error"])
    served.ask("decide", id=name, file="train.py", ids=[nccl(name, "zh")["id"]], made=False)
    assert served.ask("speak", id=name, language="zh") == {"again": False}
    assert served.ask("speak", id=name, language="en") == {"again": True}
    assert served.events("progress", id=name)[-1]["state"] == "ready"
    found = nccl(name, "en")
    assert not CHINESE.search(found["message"]) and found["state"] == "refused"
    assert not CHINESE.search(served.ask("summary", id=name, language="en")["summary"])
    served.ask("undo", id=name)
    assert nccl(name, "en")["state"] == "made"
    # Decisions are about code as it was read.
    (project / "train.py").write_text(TRAIN + "torch.cuda.synchronize()\n")
    assert served.ask("speak", id=name, language="zh")["file"] == "train.py"
    assert nccl(name, "en")["state"] == "made"
    started = served.ask("run", tool="doctor", values={"cwd": str(tmp_path), "no_smoke": True}, language="zh")
    assert CHINESE.search("".join(one["text"] for one in served.events("output", id=started["id"])))


def test_the_command(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(npuify.__file__).parents[1]), "NPUIFY_STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "npuify", "studio", "--no-browser", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        place, _, token = address.partition("#token=")
        request = urllib.request.Request(
            f"{place}api/start", b"{}", {"content-type": "application/json", "x-npuify-token": token}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.loads(answer.read())["start"] == str(tmp_path)
    finally:
        process.terminate()
        assert process.wait(30) is not None


def test_without_the_packages(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no', name='uvicorn')\n")
    source = str(Path(npuify.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    command = [sys.executable, "-m", "npuify", "studio", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert done.returncode == 2 and "pip install 'npuify[studio]'" in done.stderr
    done = subprocess.run(
        [*command, str(tmp_path / "no")], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2 and "no such file" in done.stderr
