"""The whole way: where it stops, what it asks, and how it goes on."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.model import EntryPoint, NpuifyError
from npuify.port.decisions import Commands
from npuify.port.ended import Ended, after_run
from npuify.port.model import PortOptions, PortReport, Stage, State
from npuify.verify.steps.model import AcceptanceReport, Devices, Status, StepResult, Where

from ..rules.packages.test_replacing import PROJECT, _write, known

__all__ = ["known"]

DEVICES = Devices("python", "2.13.0", "", 0, 0)
SAFE = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(0)
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4).to(device)).square().mean()
    loss.backward()
    optimizer.step()
"""
REVIEW = "#!/bin/sh\nnvidia-smi\npython train.py\n"
"""A script with an edit that is right in the usual case only."""


class Machine:
    """Stands in for what runs programs, and keeps what it was asked."""

    def __init__(self) -> None:
        self.status = {"forward": Status.PASSED, "backward": Status.PASSED, "compare": Status.PASSED}
        self.asked: dict[str, Any] = {}
        self.said = ""
        self.seen = ""
        self.alike = False
        self.seconds = 0.0
        self.where = Where.SIMULATION
        self.ended = ""

    def accept(self, project: Path, **asked: Any) -> AcceptanceReport:
        self.asked = {"project": project, **asked}
        steps = tuple(
            StepResult(
                name,
                name,
                status,
                Where.NOWHERE if status is Status.NOT_RUN else self.where,
                self.said or f"said of {name}",
                (self.seen or f"seen of {name}",),
                seconds=self.seconds,
            )
            for name, status in self.status.items()
        )
        return AcceptanceReport(
            1,
            str(project),
            asked["entry"] or "train.py",
            "CPU",
            "simulated NPU",
            DEVICES,
            (),
            steps,
            "fine",
            original_fails_too=self.alike,
            original_failed=self.ended,
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr("npuify.verify.steps.run.accept", made.accept)
    # Also where the tests themselves run without PyTorch.
    monkeypatch.setattr("npuify.process.python.python_for", lambda asked="": asked or sys.executable)
    monkeypatch.setattr("npuify.verify.steps.machine.devices_of", lambda python: DEVICES)
    return made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def project(here: Path, **files: str) -> Path:
    folder = here / "project"
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_sh", ".sh")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def port(*words: str, code: int | None = None) -> PortReport:
    done = CliRunner().invoke(app, ["port", *words, "--jobs", "1", "--format", "json"])
    assert done.exit_code in (0, 1), done.output
    report = msgspec.json.decode(done.stdout, type=PortReport)
    assert code is None or done.exit_code == code, done.output
    return report


def about(report: PortReport) -> str:
    return report.decision.about if report.decision is not None else ""


def states(report: PortReport) -> dict[str, str]:
    return {stage.name: stage.state.value for stage in report.stages}


def follow(report: PortReport, choice: int) -> PortReport:
    """Type what a choice says."""
    assert report.decision is not None
    words = shlex.split(report.decision.choices[choice].command)
    assert words[:2] == ["npuify", "port"]
    return port(*words[2:])


def test_to_the_end(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    report = port("project", "-o", "out", "--entry", "train.py --n 1", code=0)
    assert states(report) == dict.fromkeys(["scan", "migrate", "run", "compare", "handover"], "done")
    assert machine.asked["short"] and machine.asked["migrated"] == Path("out")
    assert "torch.npu.is_available" in (here / "out/train.py").read_text()
    written = [Path(file) for stage in report.stages for file in stage.files]
    assert all(file.exists() for file in written)
    assert {"checklist.html", "checklist.md", "steps.json", "report.html", "SKILL.md"} <= {
        file.name for file in written
    }
    skill = next(file for file in written if file.name == "SKILL.md").read_text()
    assert "train.py --n 1" in skill
    assert msgspec.json.decode((here / "out/npuify-report/port.json").read_bytes(), type=PortReport) == report


@pytest.mark.parametrize(
    ("files", "first", "choice", "then"),
    [
        ({"notes_txt": "nothing"}, "nothing-to-do", None, ""),
        (
            {"train_py": "import torch\nm = torch.nn.Linear(2, 2)\nm(torch.ones(1, 2)).sum().backward()\n"},
            "no-device",
            1,
            "",
        ),
        ({"train_py": SAFE, "run_sh": REVIEW}, "review", 0, ""),
        ({"train_py": SAFE, "run_sh": REVIEW}, "review", 1, ""),
        ({"train_py": "import torch\nimport faiss\nindex = faiss.StandardGpuResources()\n" + SAFE}, "", None, ""),
        ({"a_py": SAFE, "b_py": SAFE}, "entry", None, ""),
    ],
    ids=["nothing", "no device", "with review edits", "without", "a package", "two programs"],
)
def test_stops_and_goes_on(
    here: Path, machine: Machine, files: dict[str, str], first: str, choice: int | None, then: str
) -> None:
    project(here, **files)
    report = port("project", "-o", "out")
    if first:
        assert about(report) == first, report
        assert report.decision is not None and report.decision.choices and report.decision.question
    if choice is not None:
        assert not (here / "out").exists(), "nothing is written before it is decided"
        assert about(follow(report, choice)) == then


def test_review_edits_are_made_as_decided(here: Path, machine: Machine) -> None:
    folder = project(here, train_py=SAFE, run_sh=REVIEW)
    report = port("project", "-o", "out")
    assert report.decision is not None
    assert any(place.startswith("run.sh:2: NPU") for place in report.decision.places)
    follow(report, 0)
    assert "nvidia-smi" not in (here / "out/run.sh").read_text()
    shutil.rmtree(here / "out")
    follow(report, 1)
    assert "nvidia-smi" in (here / "out/run.sh").read_text()
    assert (folder / "run.sh").read_text() == REVIEW, "the source stays"


BY_HAND = (
    SAFE
    + "\nimport torch\ntorch.ops.load_library('kernels_cuda.so')\nfrom torch.cuda import jiterator\nf = jiterator._create_jit_fn('x')\n"
)


def test_what_a_person_changes_by_hand(here: Path, machine: Machine) -> None:
    project(here, train_py=BY_HAND)
    report = port("project", "-o", "out", "--unsafe", "--entry", "train.py")
    assert about(report) == "by-hand", report
    assert report.decision is not None and "train.py:" in report.decision.places[0]
    again = follow(report, 0)
    assert about(again) == "by-hand", "it has not been changed yet"
    (here / "out/train.py").write_text(SAFE.replace("cuda", "npu"))
    done = follow(report, 0)
    assert about(done) == "" and states(done)["run"] == "done"
    assert machine.asked["entry"] == "train.py", "what was asked before holds"
    # Or: what is run does not need it.
    shutil.rmtree(here / "out")
    assert about(follow(port("project", "-o", "out", "--unsafe", "--entry", "train.py"), 1)) == ""


def test_what_stops_is_what_the_verdict_counts(here: Path, machine: Machine) -> None:
    """Places of tests and of continuous integration are no reason to stop; a place and its advice are apart."""
    workflow = "jobs:\n  test:\n    runs-on: x\n    steps:\n      - run: pip install torch==${{ matrix.torch }} --index-url https://download.pytorch.org/whl/cu121\n"
    folder = project(here, train_py=BY_HAND, tests__test_it_py=BY_HAND) / ".github/workflows"
    folder.mkdir(parents=True)
    (folder / "test.yml").write_text(workflow)
    report = port("project", "-o", "out", "--unsafe", "--entry", "train.py")
    assert about(report) == "by-hand" and report.decision is not None
    places = report.decision.places
    assert places and all(one.startswith("train.py:") for one in places), places
    counted = report.decision.question.split(" ", 1)[0]
    assert report.stages[1].evidence[0].startswith(f"Needs work. {counted} place"), report.stages[1]
    assert any("; " in one for one in places)


def test_files_are_told_while_they_are_worked_on(here: Path, machine: Machine) -> None:
    from npuify.options import Options
    from npuify.port.model import PortOptions
    from npuify.port.plan import plan
    from npuify.port.way import port as whole_way

    source = project(here, train_py=SAFE, other_py=SAFE)
    told: dict[str, list[tuple[int, int]]] = {"reading": [], "working": []}
    tell = {
        "preparing": lambda done, total: told["reading"].append((done, total)),
        "progress": lambda done, total: told["working"].append((done, total)),
    }
    options = Options(cache=False, jobs=1)
    whole_way(source, here / "out", options, PortOptions(entry="train.py", target="simulated"), **tell)
    assert told["working"].count((2, 2)) == 2, "scanned, and migrated"
    for place in (source, here / "out"):
        told["reading"], told["working"] = [], []
        plan(place, options, **tell)
        assert told["reading"] and told["working"][-1][0] == told["working"][-1][1] > 0, place


@pytest.mark.parametrize(
    ("failing", "name"), [("forward", "run-failed"), ("backward", "run-failed"), ("compare", "differs")]
)
def test_a_run_that_fails_is_a_persons(here: Path, machine: Machine, failing: str, name: str) -> None:
    project(here, train_py=SAFE)
    machine.status[failing] = Status.FAILED
    report = port("project", "-o", "out", code=1)
    assert about(report) == name
    assert report.decision is not None and f"said of {failing}" in report.decision.places[0]
    assert states(report)["handover"] == "done", "the checklist says that it failed"
    machine.status[failing] = Status.PASSED
    assert about(follow(report, 0)) == ""


def test_what_ends_the_original_too_is_not_the_migrations(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    machine.status["forward"], machine.alike = Status.FAILED, True
    report = port("project", "-o", "out", code=1)
    assert about(report) == "run-failed" and report.decision is not None
    assert "neither the original nor" in report.decision.question
    assert "--entry" in report.decision.choices[0].command


def test_time_that_is_too_short(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    machine.status["forward"], machine.seconds = Status.FAILED, 600.2
    report = port("project", "-o", "out", code=1)
    assert about(report) == "run-failed" and report.decision is not None
    assert "in 600 s" in report.decision.question and "--timeout 3600" in report.decision.choices[0].command
    machine.status["forward"] = Status.PASSED
    assert about(follow(report, 0)) == "" and machine.asked["timeout"] == 3600


def test_a_program_that_was_not_told_to_use_the_device(here: Path, machine: Machine) -> None:
    option = "import argparse\nargparse.ArgumentParser().add_argument('--cuda', action='store_true')\n"
    project(here, train_py=option + SAFE)
    machine.status["forward"], machine.where = Status.FAILED, Where.CPU
    report = port("project", "-o", "out", "--entry", "train.py --epochs 1", code=1)
    assert about(report) == "run-failed" and report.decision is not None
    assert "computes on the CPU" in report.decision.question
    machine.status["forward"] = Status.PASSED
    assert about(follow(report, 0)) == "" and machine.asked["entry"] == "train.py --epochs 1 --cuda"


def test_an_original_that_a_new_torch_ends(here: Path, machine: Machine) -> None:
    """It can be compared once the same place is mended in a copy of it."""
    project(here, train_py=SAFE + "    print(loss.data[0])\n")
    machine.status["compare"], machine.ended = Status.NOT_RUN, "ended with IndexError: invalid index"
    report = port("project", "-o", "out", "--unsafe", code=1)
    assert about(report) == "not-comparable" and report.decision is not None
    mend, _, then = report.decision.choices[0].command.partition("; ")
    done = CliRunner().invoke(app, shlex.split(mend)[1:])
    assert done.exit_code in (0, 1), done.output
    mended = (here / "project-mended" / "train.py").read_text()
    assert mended == (here / "project" / "train.py").read_text().replace(".data[0]", ".item()")
    machine.status["compare"], machine.ended = Status.PASSED, ""
    assert then == "npuify port project-mended -o out --resume"
    assert about(port(*shlex.split(then)[2:])) == "" and machine.asked["project"].name == "project-mended"


def test_runs_that_cannot_be_compared_are_not_called_different(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    machine.status["compare"] = Status.FAILED
    machine.said = "refused (different-seeds): the program set the seed 1 in A and 2 in B"
    report = port("project", "-o", "out", code=1)
    assert about(report) == "not-comparable" and report.decision is not None
    assert "not known" in report.decision.question and "--entry" in report.decision.choices[0].command


def test_kernels_whose_code_is_known_are_offered_to_be_replaced(here: Path, machine: Machine, known: None) -> None:
    _write(here / "project", PROJECT)
    report = port("project", "-o", "out")
    assert about(report) == "blocked" and report.decision is not None
    assert "1 of 1 CUDA operators" in report.decision.choices[0].what
    after = follow(report, 0)
    assert about(after) == "review", "edits of NPU643 are"
    after = follow(after, 0)
    assert "npuify_kernels" in (here / "out" / "net" / "ops" / "pick.py").read_text()
    assert after.asked.replace_kernels


@pytest.mark.parametrize(
    ("cause", "name", "command"),
    [
        ("It ended with ModuleNotFoundError: No module named 'tiktoken'", "package-missing", "--resume"),
        ("It ended with FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'", "data-missing", "--prepare data/prepare.py"),
        ("It ended with RuntimeError: Error downloading train-images-idx3-ubyte.gz:", "data-missing", "--prepare data/prepare.py"),
    ],
)  # fmt: skip
def test_what_a_run_lacks_is_said(here: Path, machine: Machine, cause: str, name: str, command: str) -> None:
    project(here, train_py=SAFE, data__prepare_py="if __name__ == '__main__':\n    open('data/train.bin', 'w')\n")
    machine.status["forward"] = Status.FAILED
    machine.said = cause
    report = port("project", "-o", "out", "--entry", "train.py", code=1)
    assert about(report) == name and states(report)["handover"] == "done"
    assert report.decision is not None and command in report.decision.choices[0].command
    machine.status["forward"] = Status.PASSED
    assert about(follow(report, 0)) == ""


def test_a_program_that_makes_data_is_started_where_it_writes(tmp_path: Path) -> None:
    """As in Kipf's NRI: ``cd data; python generate_dataset.py``."""
    points = []
    for name, text in (("own", "np.save('x.npy', x)"), ("root", "open('data/x', 'w')"), ("at", "Path(__file__)")):
        points.append(EntryPoint(f"data/generate_{name}.py", ()))
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / points[-1].file).write_text(text)
    failed = Stage("run", State.FAILED, "FileNotFoundError: [Errno 2] No such file or directory: 'data/x.npy'")
    commands = Commands(tmp_path, tmp_path / "out", PortOptions())
    decision = after_run([failed], tmp_path, "train.py", points, commands, Ended())
    assert decision is not None
    offered = [shlex.split(one.command)[-1] for one in decision.choices[:4]]
    assert offered[:3] == ["cd data && python generate_own.py", "data/generate_root.py", "data/generate_at.py"]
    assert offered[3] == "data/x.npy=PATH"


@pytest.mark.parametrize(
    ("cause", "line", "named"),
    [
        (
            "RuntimeError: Error downloading x.gz:",
            "MNIST(root='./data/mnist', download=True)",
            "--data data/mnist=PATH",
        ),
        ("RuntimeError: Error downloading x.gz:", "MNIST(args.root, download=True)", "--data PATH"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/sort'", "os.mkdir(folder)", "--data data=PATH"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'logs/x1/'", "os.mkdir(folder)", "--data logs=PATH"),
        ("FileNotFoundError: ../data/cora.csv not found.", "np.genfromtxt(name)", "--data PATH"),
        ("urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>", "get()", "--data PATH"),
    ],
)
def test_where_the_data_belongs(here: Path, machine: Machine, cause: str, line: str, named: str) -> None:
    project(here, train_py=SAFE)
    machine.status["forward"], machine.said, machine.seen = Status.FAILED, f"It ended with {cause}", line
    report = port("project", "-o", "out", "--entry", "train.py", code=1)
    assert about(report) == "data-missing" and report.decision is not None
    assert report.decision.choices[0].command.endswith(named)


def test_data_that_is_given(here: Path, machine: Machine) -> None:
    synthetic = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--synthetic-data', action='store_true')\n"
    project(here, train_py=synthetic + SAFE)
    machine.status["forward"] = Status.FAILED
    machine.said = "It ended with FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'"
    report = port("project", "-o", "out", "--entry", "train.py", code=1)
    assert report.decision is not None
    commands = [one.command for one in report.decision.choices]
    assert commands[0].endswith("--entry 'train.py --synthetic-data'"), "the program can make its input"
    assert commands[1].endswith("--data data/train.bin=PATH"), "what it looked for"
    machine.status["forward"] = Status.PASSED
    report = port("project", "-o", "out", "--resume", "--data", "data/train.bin=elsewhere", code=0)
    assert machine.asked["data"] == "data/train.bin=elsewhere" and report.asked.data == "data/train.bin=elsewhere"


def test_what_is_left_is_counted_as_the_checklist_counts(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    report = port("project", "-o", "out", code=0)
    said = next(stage for stage in report.stages if stage.name == "handover").message
    counts = said.removeprefix("Checklist: ").removesuffix(".")
    page = (here / "out/npuify-report/checklist.md").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+ done.*", counts) and f"\n{counts}.\n" in page


def test_a_program_that_only_infers_has_run(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    machine.status |= {"backward": Status.NOT_RUN, "compare": Status.NOT_RUN}
    report = port("project", "-o", "out", code=0)
    assert states(report) | {"run": "done", "compare": "not run"} == states(report)


def test_without_torch_it_says_what_it_needs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(here, train_py=SAFE)

    def none(python: str) -> Devices:
        raise NpuifyError("python has no PyTorch, which the programs need", advice="pip install torch")

    monkeypatch.setattr("npuify.process.python.python_for", lambda asked="": asked or sys.executable)
    monkeypatch.setattr("npuify.verify.steps.machine.devices_of", none)
    report = port("project", "-o", "out", code=0)
    assert states(report) == {
        "scan": "done", "migrate": "done", "run": "not run", "compare": "not run", "handover": "done",
    }  # fmt: skip
    run = report.stages[2]
    assert "has no PyTorch" in run.message and "pip install torch" in run.advice and "--resume" in run.advice
    text = CliRunner().invoke(app, ["port", "project", "-o", "out", "--resume"]).stdout
    assert "not everything was run: Short run, Compare" in text


def test_npuifys_own_python_is_the_one_that_lacks_torch(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called by its path, it spoke of the first Python on the path, and of a pip that belongs to nobody knows which."""
    project(here, train_py=SAFE)
    first = tmp_path / "first" / "python"
    first.parent.mkdir()
    first.write_text("#!/bin/sh\n" + """echo '{"torch": "", "torch_npu": "", "cuda": 0, "npu": 0}'\n""")
    first.chmod(0o755)
    monkeypatch.setenv("PATH", str(first.parent) + os.pathsep + os.environ["PATH"])
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name == "torch" else found(name, *more))
    run = port("project", "-o", "out", code=0).stages[2]
    assert run.message.startswith(f"neither {sys.executable}, which runs npuify, nor {first}")
    assert run.advice.startswith(f"{shlex.quote(sys.executable)} -m pip install torch, or")
    named = port("project", "-o", "out", "--resume", "--python", str(first)).stages
    assert any(stage.advice.startswith(f"{first} -m pip install torch, or") for stage in named)


@pytest.mark.skipif(os.name != "posix", reason="a terminal of its own")
@pytest.mark.parametrize("both", [True, False])
def test_at_a_terminal_a_stage_is_told_once(here: Path, both: bool) -> None:
    project(here, train_py=SAFE, other_train_py=SAFE)
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "npuify", "port", "project", "-o", "out", "--jobs", "1"]
    out = here / "out.txt"
    with out.open("wb") as file:
        done = subprocess.run(command, stdout=theirs if both else file, stderr=theirs, timeout=300, check=False)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 1 << 16):
            shown += piece
    os.close(ours)
    assert done.returncode == 1, shown
    assert "npuify: scan …" in shown.decode()
    # Where the results go to a file, the terminal still tells how far it came.
    assert shown.decode().count("done     Scan") == 1
    assert out.read_text().count("done     Scan") == (0 if both else 1)


def test_a_machine_with_npus_is_examined_first(here: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    project(here, train_py=SAFE)
    devices = msgspec.structs.replace(DEVICES, npu=1, torch_npu="2.13.0")
    monkeypatch.setattr("npuify.verify.steps.machine.devices_of", lambda python: devices)
    report = port("project", "-o", "out", "--python", "python3")
    # This machine has no driver, which the doctor says.
    assert about(report) == "machine" and states(report)["doctor"] == "failed" and not machine.asked
    assert (here / "out/npuify-report/doctor.json").is_file()
    assert about(follow(report, 1)) == "" and machine.asked["target"] == "simulated"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "-o", "out"], "there is no such file or folder"),
        (["project", "-o", "new", "--resume"], "there is nothing to go on with here"),
        (["project", "-o", "out"], "npuify port project -o out --resume"),
        (["project", "-o", "out", "--resume", "--style", "auto"], "--style decides how to migrate"),
        (["project", "-o", "out", "--resume", "--force"], "choose one"),
        (["project", "-o", "out", "--resume", "--entry", "none.py"], "no such program: none.py"),
    ],
)
def test_wrong_use(here: Path, machine: Machine, words: list[str], said: str) -> None:
    project(here, train_py=SAFE)
    port("project", "-o", "out", code=0)
    done = CliRunner().invoke(app, ["port", *words])
    assert done.exit_code == 2 and said in done.output


def test_commands_to_go_on_repeat_what_was_said(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE, run_sh=REVIEW)
    said = ["--style", "npu", "--entry", "train.py --name 'a b'", "--timeout", "30", "--torch-npu", "2.7.1"]
    report = port("project", "-o", "out", *said)
    assert report.decision is not None
    words = shlex.split(report.decision.choices[0].command)
    assert all(word in words for word in said) and "--unsafe" in words


def test_the_json_fits_its_schema(here: Path, machine: Machine) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    project(here, train_py=SAFE, run_sh=REVIEW)
    schema = json.loads(CliRunner().invoke(app, ["schema", "port"]).stdout)
    jsonschema.validate(json.loads(msgspec.json.encode(port("project", "-o", "out"))), schema)


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "numpy"))
    or not any(map(shutil.which, ("g++", "clang++", "c++"))),
    reason="needs PyTorch, NumPy and a C++ compiler",
)
def test_it_runs_for_real(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    project(here, train_py=SAFE)
    report = port("project", "-o", "out")
    assert about(report) == "" and set(states(report).values()) == {"done"}, report
    compared = next(stage for stage in report.stages if stage.name == "compare")
    assert "calls matched" in " ".join(compared.evidence)
    checklist = (here / "out/npuify-report/checklist.md").read_text()
    assert "in simulation only" in checklist


def test_a_program_does_not_make_its_own_data(here: Path, machine: Machine) -> None:
    """A program called makemore.py was offered as what makes the data that it lacks."""
    project(here, makemore_py=SAFE, prepare_data_py=SAFE)
    machine.status["forward"] = Status.FAILED
    machine.said = "It ended with FileNotFoundError: [Errno 2] No such file or directory: 'names.txt'"
    decision = port("project", "-o", "out", "--entry", "makemore.py --n 1", code=1).decision
    assert decision is not None and decision.about == "data-missing"
    offered = [choice.command for choice in decision.choices]
    assert any("--prepare prepare_data.py" in one for one in offered)
    assert not any("--prepare makemore.py" in one for one in offered)


def test_a_device_in_the_command_becomes_that_of_each(here: Path, machine: Machine) -> None:
    project(here, train_py=SAFE)
    machine.status["forward"], machine.alike = Status.FAILED, True
    machine.said = "It ended with AssertionError: Torch not compiled with CUDA enabled"
    decision = port("project", "-o", "out", "--entry", "train.py --device cuda:0 --out runs/cuda", code=1).decision
    assert decision is not None and decision.about == "run-failed"
    assert "--entry 'train.py --device {device} --out runs/cuda'" in decision.choices[0].command
