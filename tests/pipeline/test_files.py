"""The files that pipelines read: they are what their service takes, and what they call works."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml

from npuify.project.kinds import _BY_SUFFIX

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="needs bash")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "train.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    (folder / "run.sh").write_text("#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=0\nnvidia-smi\n")
    return folder


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A step as a runner starts it: bash with -e and pipefail."""
    assert BASH is not None
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "RUNNER_", "CI"))},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
        **variables,
    }
    command = [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


# --- the action ---


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return loaded


def step(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in action()["runs"]["steps"] if one.get("name") == name)
    return found


def test_the_action_is_one() -> None:
    loaded = action()
    assert loaded["runs"]["using"] == "composite"
    for one in loaded["runs"]["steps"]:
        assert ("uses" in one) != ("run" in one), one
        # A step of a composite action has to name its shell; text of a user in a script could be a command.
        assert "uses" in one or one["shell"] == "bash"
        assert "${{" not in one.get("run", "")
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(loaded["inputs"])
    ids = {one.get("id"): one for one in loaded["runs"]["steps"]}
    for output in loaded["outputs"].values():
        match = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) \}\}", output["value"])
        assert match and f'"{match[2]}=' in ids[match[1]]["run"]


def scanned(project: Path, **variables: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    temp = project.parent / "runner temp"
    temp.mkdir(exist_ok=True)
    variables = {"SCAN_PATH": ".", "SCAN_ARGS": "", "BASELINE": "", "DIFF_BASE": "", **variables}
    out, summary = temp / "output", temp / "summary"
    out.write_text("")
    summary.write_text("")
    names = {"RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary)}
    done = run(step("Scan")["run"], project, **names, **variables)
    answers = dict(line.split("=", 1) for line in out.read_text().splitlines())
    return done, {**answers, "summary": summary.read_text()}


@needs_bash
def test_the_action_scans(project: Path) -> None:
    done, answers = scanned(project, SCAN_ARGS="--style portable --jobs 1")
    assert done.returncode == 0, done.stderr
    assert "::error file=train.py,line=2" in done.stdout
    assert (answers["result"] == "findings" and "Verdict" in answers["summary"]) or "#" in answers["summary"]
    assert json.loads(Path(answers["sarif-file"]).read_text())["version"] == "2.1.0"
    report = json.loads(Path(answers["json-file"]).read_text())
    assert report["style"] == "portable" and report["findings"]
    # Its report is the next run's baseline.
    baseline = shutil.copy(answers["json-file"], project.parent / "base.json")
    done, answers = scanned(project, SCAN_ARGS="--style portable --jobs 1", BASELINE=str(baseline))
    assert answers["result"] == "clean", done.stdout


@needs_bash
def test_what_a_user_says_to_the_action_is_no_command(project: Path) -> None:
    done, answers = scanned(project, SCAN_PATH="$(touch hacked)", SCAN_ARGS="; touch hacked")
    assert done.returncode == 2 and "result" not in answers
    assert not (project / "hacked").exists()


@needs_bash
@pytest.mark.parametrize(
    ("result", "fail", "code"), [("findings", "true", 1), ("findings", "false", 0), ("clean", "true", 0)]
)
def test_the_action_judges(project: Path, result: str, fail: str, code: int) -> None:
    assert run(step("Judge")["run"], project, RESULT=result, FAIL=fail).returncode == code


# --- GitLab ---


@needs_bash
def test_the_component_for_gitlab(project: Path) -> None:
    spec, jobs = yaml.safe_load_all((ROOT / "templates" / "npuify.yml").read_text())
    inputs = spec["spec"]["inputs"]
    text = (ROOT / "templates" / "npuify.yml").read_text()
    assert set(re.findall(r"\$\[\[ inputs\.(\w+) ]]", text)) == set(inputs)
    job = jobs["npuify"]
    script = re.sub(
        r"\$\[\[ inputs\.(\w+) ]]", lambda match: str(inputs[match[1]].get("default", "")), "\n".join(job["script"])
    )
    done = run(script, project)
    assert done.returncode == 1, done.stderr
    reports = job["artifacts"]["reports"]
    issues = json.loads((project / reports["codequality"]).read_text())
    assert {"train.py", "run.sh"} <= {issue["location"]["path"] for issue in issues}
    assert "<failure" in (project / reports["junit"]).read_text()
    assert (project / job["artifacts"]["paths"][0]).stat().st_size > 10_000
    assert run(script.replace("npuify scan .", "npuify scan nothing-here"), project).returncode == 2


# --- pre-commit ---


def hooks() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return loaded


def test_hooks_take_every_kind_of_file() -> None:
    identify = pytest.importorskip("identify.identify", reason="pre-commit is not installed")
    (files,) = [hook for hook in hooks() if hook.get("pass_filenames", True)]
    for suffix in _BY_SUFFIX:
        tags = identify.tags_from_filename(f"name{suffix}")
        # pre-commit looks into files of which no name tells anything.
        assert not tags or set(files["types"]) <= tags, suffix


@needs_bash
@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: str(hook["id"]))
def test_what_a_hook_calls(project: Path, hook: dict[str, Any]) -> None:
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    files = ["train.py", "run.sh"] if hook.get("pass_filenames", True) else []
    (project / "train.py").write_text("import torch\nx = torch.ones(1).cuda()\ny = torch.ones(2).cuda()\n")
    done = run(f"{hook['entry']} {shlex.join(files)}", project)
    assert done.returncode == 1, done.stderr
    assert "train.py:3:" in done.stdout
    assert ("run.sh:3:" in done.stdout) == bool(files)


# --- workflows, the image ---


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.name)
def test_workflows(file: Path) -> None:
    loaded = yaml.safe_load(file.read_text())
    assert loaded["permissions"] == {"contents": "read"}
    # YAML 1.1 reads the key "on" as true.
    assert True in loaded or "on" in loaded
    for job in loaded["jobs"].values():
        assert job["runs-on"] and all(("uses" in one) != ("run" in one) for one in job["steps"])


def test_workflows_test_each_python_that_the_package_names() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]["tests"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == named
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_image_has_all_that_the_wheel_is_made_of() -> None:
    settings = tomli.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["force-include"], *wheel["shared-data"], settings["project"]["readme"], "pyproject.toml"}
    needed |= {name.partition("/")[0] for name in wheel["packages"]} | set(settings["project"]["license-files"])
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines()]
    copied = {source for words in lines if words[:1] == ["COPY"] and "--from" not in words[1] for source in words[1:-1]}
    assert needed <= copied


def test_the_image_has_all_that_it_copies_and_is_not_run_by_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            sources = line.split()[1:-1]
            assert all((ROOT / source).exists() for source in sources) and set(sources) <= allowed
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users[-1] not in {"root", "0"}
    assert 'ENTRYPOINT ["npuify"]' in lines
