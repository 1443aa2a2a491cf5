"""The guide, followed line by line in an empty folder, gives a migrated project that runs on a simulated NPU."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from tools.follow_skill import follow

from npuify.handover.checklist.record import read_record
from npuify.handover.skill.write import write_skill

from .conftest import EXAMPLES, OPTIONS

ROOT = Path(__file__).parents[2]
NPUIFY = f"{sys.executable} -m npuify"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "src"),
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    # On some virtual machines torch's own bfloat16 kernels for the newest instructions end in SIGILL.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "NPUIFY": NPUIFY,
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
    pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch"),
]


def test_a_project_that_a_person_finished_runs_on_two_cards(migrated: dict[str, Path], tmp_path: Path) -> None:
    """The guide carries what a person has changed after the migration."""
    project = tmp_path / "ddp"
    shutil.copytree(migrated["ddp_training"], project)
    hardware = project / "ddp_training" / "hardware.py"
    hardware.write_text(hardware.read_text().replace("no cards", "no NPUs"))
    command = "torchrun --standalone --nproc_per_node=2 train.py --config=configs/small.yaml --set=train.steps=2"
    written = write_skill(read_record(project, OPTIONS), tmp_path / "skills", commands=[command])
    work = tmp_path / "empty"
    work.mkdir()
    followed = follow(
        written.folder,
        EXAMPLES / "ddp_training",
        work,
        run=f"{NPUIFY} simulate --devices 2",
        environment=ENVIRONMENT,
    )
    assert followed.code == 0, followed.output
    assert "npu ok: 2 simulated NPUs" in followed.output
    assert "step 2 loss" in followed.output
    # install.sh, npu-smi, and what pages say are for other machines.
    assert (followed.done, followed.left_out) == (5, 3)
    assert "no NPUs" in (work / "ddp_training" / "ddp_training" / "hardware.py").read_text()
    assert list((work / "ddp_training").rglob("*.pt"))


def test_a_patch_for_another_source_is_refused_as_a_whole(migrated: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "other"
    shutil.copytree(EXAMPLES / "inference", source)
    (source / "infer.py").write_text("print('rewritten')\n")
    written = write_skill(read_record(migrated["inference"], OPTIONS), tmp_path / "skills", commands=["false"])
    text = (written.folder / "SKILL.md").read_text(encoding="utf-8")
    (written.folder / "SKILL.md").write_text(text.replace('$RUN python "$SKILL_DIR', 'true "$SKILL_DIR'))
    (tmp_path / "empty").mkdir()
    followed = follow(written.folder, source, tmp_path / "empty", run="true", environment=ENVIRONMENT)
    assert followed.code != 0
    assert "FAILED" in followed.output
    untouched = tmp_path / "empty" / "inference" / "benchmark.py"
    assert untouched.read_bytes() == (EXAMPLES / "inference" / "benchmark.py").read_bytes()
