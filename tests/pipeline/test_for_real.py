"""What a pipeline does with the files of this repository, done: each step in a scratch repository, with its own installation."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml

from .test_files import ROOT, action, hooks, needs_bash, run

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.network, pytest.mark.thorough, pytest.mark.slow, needs_bash]
GITLAB = {
    # What GitLab reads of a code quality report: docs.gitlab.com/ci/testing/code_quality, "Code Quality report format".
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\.?/)"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer"}}},
                },
                "anyOf": [{"required": ["lines"]}, {"required": ["positions"]}],
            },
        },
    },
}


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A branch that adds to what stands on main."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    (folder / "run.sh").write_text("#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=0\npython train.py\n")
    (folder / "notes.md").write_text("text\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "checkout", "-qb", "change")
    with (folder / "train.py").open("a") as stream:
        stream.write("torch.cuda.synchronize()\n")
    git(folder, "commit", "-qam", "second")
    return folder


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda match: values[match[1]], text)


def _steps(repository: Path, tmp_path: Path, **inputs: str) -> tuple[dict[str, subprocess.CompletedProcess[str]], Path]:
    """Run the action's own steps as its runner does: with its files, its variables, and a ``gh`` that tells what it is asked."""
    loaded = action()
    asked = {name: str(one["default"]) for name, one in loaded["inputs"].items()} | inputs
    temp = tmp_path / "runner temp"
    temp.mkdir(exist_ok=True)
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "gh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{temp}/gh"\n')
    (tools / "gh").chmod(0o755)
    files = {name: temp / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_text("")
    done: dict[str, subprocess.CompletedProcess[str]] = {}
    outputs = {"steps.python.outputs.python-path": sys.executable, "github.token": "none"}
    outputs["github.event.pull_request.html_url"] = "https://example.invalid/pull/1"
    for step in loaded["runs"]["steps"]:
        if "run" not in step:
            continue
        told = {**{f"inputs.{name}": value for name, value in asked.items()}, **outputs}
        environment = {name: _filled(str(value), told) for name, value in step.get("env", {}).items()}
        path = os.pathsep.join(
            [*reversed(files["GITHUB_PATH"].read_text().split("\n")[:-1]), str(tools), os.environ["PATH"]]
        )
        done[step["name"]] = run(
            step["run"],
            repository,
            **{name: str(path) for name, path in files.items()},
            RUNNER_TEMP=str(temp),
            RUNNER_OS="Windows" if os.name == "nt" else "Linux",
            GITHUB_ACTION_PATH=str(ROOT),
            PATH=path,
            **environment,
        )
        if done[step["name"]].returncode:
            break
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            outputs[f"steps.{step.get('id', '')}.outputs.{name}"] = value
    return done, temp


def test_the_action_on_a_pull_request(repository: Path, tmp_path: Path) -> None:
    done, temp = _steps(repository, tmp_path, **{"diff-base": "main", "comment": "true"})
    assert list(done) == ["Install npuify", "Scan", "Comment on the pull request", "Judge"], done
    assert done["Judge"].returncode == 1 and "errors or warnings remain" in done["Judge"].stdout
    # Only the line of the branch, on the whole of the project.
    assert "::error file=train.py,line=3" in done["Scan"].stdout and "line=2" not in done["Scan"].stdout
    assert "https://example.invalid/pull/1" in (temp / "gh").read_text()
    assert "NPU101" in (temp / "npuify" / "comment.md").read_text()
    assert (temp / "npuify-venv").is_dir(), "it has its own installation"
    sarif = json.loads((temp / "npuify" / "npuify.sarif").read_text())
    assert len(sarif["runs"][0]["results"]) == 1
    # What is mended is clean.
    (repository / "train.py").write_text("import torch\nimport torch_npu\nx = torch.ones(1).npu()\n")
    git(repository, "commit", "-qam", "third")
    done, _ = _steps(repository, tmp_path, **{"diff-base": "main"})
    assert done["Judge"].returncode == 0, done


@pytest.mark.skipif(importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed")
def test_the_files_fit_the_published_schemas(tmp_path: Path) -> None:
    """Those of SchemaStore and GitLab, which check-jsonschema brings along."""
    head, job = (ROOT / "templates" / "npuify.yml").read_text().split("\n---\n", 1)
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    filled = re.sub(r"\$\[\[ inputs\.(\w+) ]]", lambda match: json.dumps(inputs[match[1]].get("default", "x")), job)
    (tmp_path / "job.yml").write_text(filled.replace('""', ""))
    (tmp_path / "head.yml").write_text(head)
    workflows = sorted(map(str, (ROOT / ".github" / "workflows").glob("*.yml")))
    for schema, files in (
        ("github-actions", [str(ROOT / "action.yml")]),
        ("github-workflows", workflows),
        ("gitlab-ci", [str(tmp_path / "job.yml"), str(tmp_path / "head.yml")]),
    ):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_gitlab_job(repository: Path, tmp_path: Path) -> None:
    spec, jobs = yaml.safe_load_all((ROOT / "templates" / "npuify.yml").read_text())
    inputs = {name: str(one.get("default", "")) for name, one in spec["spec"]["inputs"].items()}
    inputs |= {"install": str(ROOT), "args": "--diff-base main"}
    job = jobs["npuify"]
    text = "\n".join([*job["before_script"], *job["script"]])
    script = re.sub(r"\$\[\[ inputs\.(\w+) ]]", lambda match: inputs[match[1]], text)
    venv = tmp_path / "image"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    path = os.pathsep.join([str(venv / "bin"), os.environ["PATH"]])
    done = run(script, repository, PATH=path, CI_PROJECT_DIR=str(repository))
    assert done.returncode == 1, done.stderr
    issues = json.loads((repository / job["artifacts"]["reports"]["codequality"]).read_text())
    jsonschema.validate(issues, GITLAB)
    assert [(one["location"]["path"], one["location"]["lines"]["begin"]) for one in issues] == [("train.py", 3)]
    assert len({one["fingerprint"] for one in issues}) == len(issues)


@pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed")
@pytest.mark.parametrize("hook", [str(one["id"]) for one in hooks()])
def test_pre_commit(repository: Path, tmp_path: Path, hook: str) -> None:
    """pre-commit clones this repository, installs it into an environment of its own, and runs the hook on a commit."""
    with (repository / "train.py").open("a") as stream:
        stream.write("z = torch.ones(1, device='cuda')\n")
    git(repository, "add", ".")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("GIT_DIR", None)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), hook, "--verbose"]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:4:" in done.stdout
    # The whole file, or the line that is new.
    assert ("train.py:2:" in done.stdout) == (hook == "npuify")
    git(repository, "checkout", "-q", "HEAD", "--", "train.py")
    (repository / "notes.md").write_text("more\n")
    git(repository, "add", ".")
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_built_of_what_it_copies(repository: Path, tmp_path: Path) -> None:
    """The steps of the Dockerfile's first stage, on what its COPY lines bring, in a new environment in place of /opt."""
    stage = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").split("\nFROM ")[1]
    build, opt = tmp_path / "build", tmp_path / "opt"
    for line in stage.splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                place = build / target / ("" if (ROOT / source).is_dir() and target != "./" else Path(source).name)
                place.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, build / target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / source, place)
        elif word == "RUN":
            command = rest.replace("/opt/npuify", str(opt)).replace("python -m venv", f"{sys.executable} -m venv", 1)
            done = run(command, build)
            assert done.returncode == 0, done.stdout + done.stderr
    done = run(f"{opt}/bin/npuify scan . --no-cache", repository)
    assert done.returncode == 1 and "train.py:2:" in done.stdout, done.stderr
    assert not list(opt.glob("bin/pip*"))
