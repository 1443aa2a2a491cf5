"""The options for what goes beyond npuify's own rules, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from npuify.cli.app import app


def _run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\nold(x)\ny = torch.hypot(x, x)\n")
    return folder


def test_rules(project: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": {"FuncNameModifyRule": [{"old_name": "old", "new_name": "new"}]}}))
    code, out, _ = _run("migrate", str(project), "--diff", "--no-cache", "--rules", str(rules))
    assert "+new(x)" in out
    assert code == 0


def test_a_mistake_in_the_rules(project: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": {"FuncNameModifyRule": [{"old_name": "old"}]}}')
    code, out, err = _run("scan", str(project), "--rules", str(rules))
    assert code == 2
    assert out == ""
    assert "FuncNameModifyRule 1" in err
    assert "new_name" in err
    assert str(rules) in err.replace("\n", "")


def test_about(project: Path) -> None:
    code, out, _ = _run("scan", str(project), "--no-cache", "--about", "shapes,affinity", "--format", "json")
    assert code == 0
    assert json.loads(out)["findings"] == []
    code, _, err = _run("scan", str(project), "--about", "weather")
    assert code == 2
    assert "unsupported" in err


def test_replace_unsupported(project: Path) -> None:
    _, out, _ = _run("migrate", str(project), "--diff", "--no-cache", "--replace-unsupported")
    assert "+y = npuify_stand_ins.hypot(x, x)" in out


def test_vendor_reports(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "reports"
    _run("migrate", str(project), "--check", "--no-cache", "--vendor-reports", str(target))
    assert sorted(path.name for path in target.iterdir()) == [
        "affinity_api_call.csv",
        "api_performance_advice.csv",
        "api_precision_advice.csv",
        "change_list.csv",
        "cuda_op_list.csv",
        "msFmkTranspltlog.txt",
        "unknown_api.csv",
        "unsupported_api.csv",
    ]
    assert "MODIFY" in (target / "change_list.csv").read_text()
    (tmp_path / "file").write_text("x")
    code, _, err = _run("scan", str(project), "--vendor-reports", str(tmp_path / "file"))
    assert code == 2
    assert "file" in err


def test_third_party(project: Path, tmp_path: Path) -> None:
    source = tmp_path / "dep"
    source.mkdir()
    (source / "__init__.py").write_text("import torch\n\ndef f():\n    torch.cuda.nccl.all_reduce([])\n")
    (project / "b.py").write_text("import dep\ndep.f()\n")
    _, out, _ = _run("scan", str(project), "--no-cache", "--third-party", str(source), "--select", "NPU760")
    assert "b.py:2" in out
