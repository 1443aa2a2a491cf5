"""Where a project aims at another release than the installed torch lets be simulated, that is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.simulator.aimed import aimed_at, another_release

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_migration_was_for(tmp_path: Path) -> None:
    """The report is npuify's own, read as it is written."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    out = tmp_path / "b"
    words = ["migrate", str(tmp_path / "a"), "-o", str(out), "--torch-npu", "2.7.1"]
    assert CliRunner().invoke(app, words).exit_code in (0, 1)
    (out / "tools").mkdir()
    assert aimed_at(out) == aimed_at(out / "tools") == "2.7.1.post11"
    assert another_release([out], "2.7.1.post11") == ""
    said = another_release([tmp_path / "a", out], "2.13.0")
    assert "aims at torch_npu 2.7.1.post11;" in said and "simulated is 2.13.0" in said


@pytest.mark.parametrize(
    ("report", "requirements", "version"),
    [
        (None, None, ""),
        (None, "torch\ntorch_npu==2.6.0.post3  # as torch\n", "2.6.0.post3"),
        (None, "torch-npu>=2.6\n", ""),
        ('{"release": {"torch_npu": "2.14.0"}}', "torch_npu==2.6.0\n", "2.14.0"),
        # A report that somebody else wrote is no reason to fail, nor to print what stands in it.
        ("not json", None, ""),
        ("[]", None, ""),
        (json.dumps({"release": {"torch_npu": "2.1\x1b[31m"}}), None, ""),
    ],
)
def test_what_a_folder_says(tmp_path: Path, report: str | None, requirements: str | None, version: str) -> None:
    if report is not None:
        (tmp_path / "npuify-report").mkdir()
        (tmp_path / "npuify-report" / "findings.json").write_text(report)
    if requirements is not None:
        (tmp_path / "requirements.txt").write_text(requirements)
    assert aimed_at(tmp_path) == version
