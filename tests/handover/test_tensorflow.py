"""Checklist and guide of projects on TensorFlow: the adapter's set, its own commands, its own checks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.handover.checklist.pages import render
from npuify.handover.checklist.points import checklist
from npuify.handover.checklist.record import Record, read_record
from npuify.handover.skill.texts import LANGUAGES
from npuify.handover.skill.validate import validate
from npuify.handover.skill.write import write_skill
from npuify.options import Options
from npuify.report.doctor import Check, Machine, Report, Result, Status
from tests.simulator.tensorflow.conftest import simulate

FIRST = """
import tensorflow as tf

loss = tf.reduce_mean(tf.square(tf.get_variable("w", [4])))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train)
"""
SECOND = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(tf.zeros([8, 4]), tf.zeros([8, 1]))
"""
LINES = {"1": (FIRST, "tensorflow-gpu==1.15.0", "npu_bridge"), "2": (SECOND, "tensorflow==2.4", "npu_device")}


@pytest.fixture(params=("1", "2"))
def line(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(line: str, tmp_path: Path) -> Path:
    """A project, migrated."""
    program, requirement, _ = LINES[line]
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text(program)
    (tmp_path / "source" / "requirements.txt").write_text(f"{requirement}\npandas\n")
    npuify.migrate(tmp_path / "source", tmp_path / "migrated", Options(unsafe=True, jobs=1, cache=False))
    return tmp_path / "migrated"


@pytest.fixture
def known(project: Path) -> Record:
    return read_record(project, Options(jobs=1, cache=False))


def test_no_page_of_the_checklist_speaks_of_torch(line: str, known: Record) -> None:
    made = checklist(known)
    for format in ("text", "markdown", "html"):
        page = render(made, format)
        assert "torch" not in page.lower(), format
        assert LINES[line][2] in page.replace("\\", "")
    states = {point.id: point.state for point in made.points}
    assert states["attention"] == "nothing to do"
    assert states["devices"] == states["dependencies"] == "done"
    assert made.release == known.scan.release


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_file_of_the_guide_speaks_of_torch(line: str, language: str, known: Record, tmp_path: Path) -> None:
    written = write_skill(known, tmp_path / "skill", language=language, commands=["python train.py"])
    assert validate(written.folder) == ()
    for path in written.folder.rglob("*"):
        if path.is_file():
            assert "torch" not in path.read_text().lower(), path.name
    page = (written.folder / "SKILL.md").read_text()
    assert "--method tensorflow" in page
    assert f"--tf-adapter {'1.15' if line == '1' else '2.6.5'}" in page
    assert "{" not in re.sub(r"(?s)```.*?```|`[^`]*`", "", page.split("---", 2)[2]), "a sentence was not filled in"
    constraints = (written.folder / "references" / "constraints.txt").read_text()
    assert constraints.startswith(f"tensorflow-cpu=={'1.15.0' if line == '1' else '2.6.5'}\n")
    requirements = (written.folder / "references" / "requirements.txt").read_text()
    assert "\npandas\n" in requirements
    assert "\ntensorflow" not in requirements


@pytest.mark.thorough
def test_the_guides_check_runs_over_the_simulated_adapter(line: str, known: Record, tmp_path: Path) -> None:
    written = write_skill(known, tmp_path / "skill")
    ran = simulate({"1": "1.15", "2": "2.6"}[line], written.folder / "scripts" / "check_npu.py")
    assert ran.code == 0, ran.err
    assert "npu ok: simulated NPU, TensorFlow" in ran.out


def test_an_unfit_python_stops_the_installation_of_the_adapter_only(known: Record, tmp_path: Path) -> None:
    written = write_skill(known, tmp_path / "skill")
    script = (written.folder / "scripts" / "install.sh").read_text()
    (asked,) = re.findall(r"(?s)<<'PYTHON'\n(.*?)\nPYTHON", script)
    # No Python that npuify runs on has an adapter.
    for wheel, code in (("", 0), ("npu.whl", 1)):
        done = subprocess.run(
            [sys.executable, "-c", asked], env={"ADAPTER_WHEEL": wheel}, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert "which wants >=3.7.5,<3.7.12" in done.stderr


@pytest.mark.parametrize(
    ("checks", "fault", "state"),
    [
        ((), "", "open"),
        ((Status.OK, Status.OK), "", "done"),
        ((Status.OK, Status.ERROR), "TensorFlow is 2.4", "open"),
        ((Status.SKIPPED, Status.SKIPPED), "", "open"),
    ],
)
def test_the_doctor_says_whether_the_set_is_one(
    checks: tuple[Status, ...], fault: str, state: str, project: Path, tmp_path: Path
) -> None:
    import msgspec

    names = ("tensorflow.adapter", "tensorflow.set")
    report = Report(
        tool="0",
        source="this machine",
        machine=Machine(),
        worst=Status.OK,
        checks=tuple(Check(name=name, title=name, status=one) for name, one in zip(names, checks, strict=False)),
        results=(Result(check="tensorflow.set", status=Status.ERROR, message=fault),) if fault else (),
    )
    (tmp_path / "doctor.json").write_bytes(msgspec.json.encode(report))
    record = read_record(project, Options(jobs=1, cache=False), doctor=tmp_path / "doctor.json")
    versions = next(point for point in checklist(record).points if point.id == "versions")
    assert versions.state == state
    assert fault in versions.evidence


def test_code_for_both_lines_is_not_decided_for_the_project(tmp_path: Path) -> None:
    root = tmp_path / "both"
    root.mkdir()
    (root / "old.py").write_text(FIRST)
    (root / "new.py").write_text("import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return x\n")
    written = write_skill(read_record(root, Options(jobs=1, cache=False)), tmp_path / "skill")
    assert validate(written.folder) == ()
    assert not (written.folder / "scripts" / "check_npu.py").exists()
    done = subprocess.run(
        ["bash", written.folder / "scripts" / "install.sh"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "tf-adapter" in done.stderr
    told = CliRunner().invoke(app, ["checklist", str(root), "--tf-adapter", "2.6.5", "--jobs", "1"])
    assert "Target: npu_device 2.6.5 (tensorflow-cpu==2.6.5): asked for." in told.stdout
