"""What the commands write as JSON fits the schemas that ``npuify schema`` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.cli.schema import SCHEMAS
from npuify.verify.loss.run import compare_losses
from npuify.verify.loss.text import render_json as of_losses
from npuify.verify.profile.run import read_profile
from npuify.verify.profile.text import render_json as of_profile
from npuify.verify.steps.model import AcceptanceReport, Devices, Status, StepResult, Where
from npuify.verify.steps.text import render_json as of_steps

from .profile import profiles

if TYPE_CHECKING:
    from pathlib import Path


def validator(name: str) -> jsonschema.Draft202012Validator:
    done = CliRunner().invoke(app, ["schema", name])
    assert done.exit_code == 0, done.output
    schema = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def wrong(name: str, text: str) -> list[str]:
    return [error.message for error in validator(name).iter_errors(json.loads(text))]


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema_with_a_name_and_a_version(name: str) -> None:
    schema: Any = validator(name).schema
    assert schema["$id"].startswith("urn:npuify:")
    assert schema["title"]


def test_losses_with_what_json_has_no_word_for(tmp_path: Path) -> None:
    for name, last in (("a.csv", "0.1"), ("b.csv", "nan")):
        (tmp_path / name).write_text("step,loss\n" + "".join(f"{at},{9 - at}\n" for at in range(5)) + f"5,{last}\n")
    text = of_losses(compare_losses(tmp_path / "a.csv", tmp_path / "b.csv"))
    assert '"nan"' in text
    assert wrong("verify-loss", text) == []
    assert wrong("verify-loss", text.replace('"nan"', '"much"'))


def test_a_profile(tmp_path: Path) -> None:
    report = read_profile(profiles.torch_npu(tmp_path, [(300.0, 0.0, 700.0)] * 4, trace=profiles.host_trace()))
    assert wrong("verify-profile", of_profile(report)) == []


def test_an_acceptance() -> None:
    step = StepResult("forward", "Forward", Status.PASSED, Where.SIMULATION, "fine", ("seen",), "", ("npuify",), 1.5)
    devices = Devices("python", "2.13.0", "", 0, 0)
    report = AcceptanceReport(1, "p", "train.py", "CPU", "simulated NPU", devices, ("copied",), (step,), "passed")
    assert wrong("verify-steps", of_steps(report)) == []


def test_a_checklist(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.zeros(2).cuda()\n")
    done = CliRunner().invoke(app, ["checklist", str(tmp_path), "--format", "json", "--jobs", "1"])
    assert done.exit_code == 1
    assert wrong("checklist", done.stdout) == []


def test_there_is_no_schema_of_anything_else() -> None:
    done = CliRunner().invoke(app, ["schema", "verify-nothing"])
    assert done.exit_code == 2
