"""`npuify scaffold training --framework tensorflow`: what it writes is clean, runs, and goes on as it began."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.options import Options

from ..simulator.tensorflow.conftest import python_with, simulate


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scaffold") / "my-model"
    done = CliRunner().invoke(app, ["scaffold", "training", "--framework", "tensorflow", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def test_a_scan_finds_nothing_to_edit(project: Path) -> None:
    scan = npuify.scan([project], Options(jobs=1, cache=False))
    assert [one for one in scan.findings if one.edits] == []
    assert scan.errors == ()


def test_another_style_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["scaffold", "training", "--framework", "tensorflow", "--style", "portable", "-o", str(tmp_path / "x")]
    )
    assert done.exit_code == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
def test_its_own_tests_hold(project: Path) -> None:
    done = subprocess.run(
        [python_with("2.6"), "-m", "unittest", "discover", "tests"],
        cwd=project,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_two_ranks_train_as_one_does(project: Path, tmp_path: Path) -> None:
    losses = []
    for ranks in ("1", "2"):
        options = ("--framework", "tensorflow", "--ranks", ranks)
        ran = simulate("2.6", project / "train.py", *options, environment={"TF_CPP_MIN_LOG_LEVEL": "3"})
        assert ran.code == 0, ran.err
        assert "note:" not in ran.err
        losses.append([float(one) for one in re.findall(r"loss (\S+)", ran.out)])
    assert len(losses[0]) == len(losses[1]) == 3
    assert losses[1][-1] < 0.1 * losses[1][0]
