"""The guide: whole, true to what happened, and safe to follow."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.handover.checklist.record import Record, read_record
from npuify.handover.origin import origin
from npuify.handover.patch import between
from npuify.handover.skill.blocks import blocks
from npuify.handover.skill.files import skill_files, skill_name
from npuify.handover.skill.texts import LANGUAGES, rows
from npuify.handover.skill.validate import validate
from npuify.handover.skill.write import write_skill
from npuify.handover.starts import Start
from npuify.model import NpuifyError
from npuify.options import Options

from .conftest import EXAMPLES, OPTIONS, PROJECTS

needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
posix = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for Linux")


def text_of(record: Record, **choices: object) -> str:
    return skill_files(record, **choices)[1]["SKILL.md"].decode("utf-8")  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PROJECTS)
def test_the_guide_of_every_example_has_no_fault(
    name: str, language: str, records: dict[str, Record], tmp_path: Path
) -> None:
    written = write_skill(records[name], tmp_path, language=language, commands=["python train.py"])
    assert validate(written.folder) == ()
    text = (written.folder / "SKILL.md").read_text(encoding="utf-8")
    assert ("未进行" in text) == (language == "zh")
    assert ("not done" in text) == (language == "en")
    release = records[name].scan.release
    assert f"`{release.torch_npu}`" in text
    assert "$RUN python train.py" in text
    assert "{" not in re.sub(r"(?s)```.*?```|`[^`]*`", "", text.split("---", 2)[2]), "a sentence was not filled in"


def test_what_needs_work_is_counted_apart_from_notes(project: Path) -> None:
    """Two places were said to need work, above six items of which four were notes."""
    (project / "more.py").write_text("import torch\n\nold = torch.cuda.nccl.version() < (2, 10)\n")
    record = read_record(project, OPTIONS)
    part = text_of(record).partition("## Special points")[2].partition("\n## ")[0]
    found = re.findall(r"(?m)^(\d+) (places? still|notes? to read).*:\n((?:[- ] .*\n)+)", part)
    assert found and found[0][1] == "places still"
    for count, kind, items in found:
        said = re.findall(r"(?m)^- (error|warning|info) \S+ `[^`]+`(?: \(\+(\d+)\))?", items)
        assert sum(1 + int(more or 0) for _, more in said) == int(count)
        assert all((severity == "info") == kind.startswith("note") for severity, _ in said)


def test_both_languages_have_the_same_names_to_fill_in() -> None:
    for row in rows().values():
        assert sorted(re.findall(r"{\w+}", row.en)) == sorted(re.findall(r"{\w+}", row.zh)), row.key
    with pytest.raises(NpuifyError, match="language"):
        skill_files(None, language="fr")  # type: ignore[arg-type]


@needs_patch
@pytest.mark.parametrize("name", PROJECTS)
def test_the_patch_makes_the_migrated_project(
    name: str, migrated: dict[str, Path], records: dict[str, Record], tmp_path: Path
) -> None:
    patch = skill_files(records[name])[1]["references/changes.patch"]
    shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["patch", "-p1", "--forward", "--silent"], input=patch, cwd=tmp_path / name, check=True)
    for path in migrated[name].rglob("*"):
        relative = path.relative_to(migrated[name])
        if path.is_file() and not {"npuify-report", "__pycache__"} & set(relative.parts):
            assert (tmp_path / name / relative).read_bytes() == path.read_bytes(), relative


@needs_patch
def test_a_patch_carries_any_text(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for root in (old, new):
        (root / "a folder").mkdir(parents=True)
    (old / "windows.py").write_bytes(b"one\r\ntwo\r\n")
    (new / "windows.py").write_bytes(b"one\r\n2\r\n")
    (old / "end.py").write_bytes(b"x = 1\ny = 2")
    (new / "end.py").write_bytes(b"x = 1\ny = 3")
    (old / "latin.py").write_bytes(b"# \xe9\nx = 1\n")
    (new / "latin.py").write_bytes(b"# \xe9\nx = 2\n")
    (new / "a folder" / "added.py").write_text("new = 1\n")
    (old / "removed.py").write_text("old = 1\n")
    (new / "weights.bin").write_bytes(b"\0" * 10)
    (old / "picture.py").write_bytes(b"\0\1")
    (new / "picture.py").write_bytes(b"\0\2")
    patch = between(old, new)
    assert set(patch.files) == {"windows.py", "end.py", "latin.py", "a folder/added.py", "removed.py"}
    assert patch.left_out == ("picture.py",)
    subprocess.run(["patch", "-p1", "--forward"], input=patch.data, cwd=old, check=True, capture_output=True)
    for name in patch.files:
        assert (old / name).exists() == (new / name).exists()
        assert name == "removed.py" or (old / name).read_bytes() == (new / name).read_bytes()


def test_what_a_person_changed_afterwards_is_told(migrated: dict[str, Path], tmp_path: Path) -> None:
    project = tmp_path / "ddp"
    shutil.copytree(migrated["ddp_training"], project)
    hardware = project / "ddp_training" / "hardware.py"
    hardware.write_text(hardware.read_text().replace("no cards", "no NPUs"))
    text = text_of(read_record(project, OPTIONS))
    assert "Changed by hand, or by another tool: `ddp_training/hardware.py`\n" in text


@pytest.mark.parametrize("name", PROJECTS)
def test_what_npuify_changed_is_not_said_to_be_changed_by_hand(name: str, records: dict[str, Record]) -> None:
    """Not each edit of a rule is as safe as the rule: small_gpt's requirements lose flash-attn with --unsafe only."""
    text = text_of(records[name])
    assert "Changed by hand" not in text


def test_the_acceptance_is_told_with_the_projects_own_command(records: dict[str, Record]) -> None:
    commands = [
        "python make_data.py",
        "torchrun --nproc_per_node=2 train.py --device npu:0 --backend=hccl --name=npu-1",
    ]
    text = text_of(records["ddp_training"], commands=commands)
    assert (
        'npuify verify steps "$SOURCE" --migrated "$PROJECT" --prepare make_data.py --entry "torchrun '
        '--nproc_per_node=2 train.py --device {device}:0 --backend={backend} --name=npu-1" --format json'
    ) in text


def test_the_acceptance_that_was_run_is_told_as_it_was(migrated: dict[str, Path], tmp_path: Path) -> None:
    step = {"name": "forward", "status": "passed", "where": "simulation", "message": "It runs."}
    report = {"entry": "train.py", "devices": {}, "target": "simulated NPU", "steps": [step]}
    report["asked"] = ["--prepare", "make it.py", "--entry", "train.py --device={device}"]
    (tmp_path / "steps.json").write_text(json.dumps(report))
    record = read_record(migrated["inference"], OPTIONS, results=[tmp_path / "steps.json"])
    text = text_of(record, commands=["python infer.py"])
    assert (
        'npuify verify steps "$SOURCE" --migrated "$PROJECT" '
        "--prepare 'make it.py' --entry 'train.py --device={device}' --format json"
    ) in text


@pytest.mark.parametrize("with_source", [True, False])
def test_a_project_that_is_a_package_is_put_where_its_programs_find_it(
    project: Path, tmp_path: Path, with_source: bool
) -> None:
    (project / "setup.py").write_text("import setuptools\nsetuptools.setup(name='mine')\n")
    done = tmp_path / "done"
    npuify.migrate(project, done, OPTIONS)
    if not with_source:
        shutil.rmtree(project)
    text = text_of(read_record(done, OPTIONS))
    assert ("changes.patch" in text) == with_source
    steps = {one.words: one.text for one in blocks(text) if one.language == "bash"}
    assert "--editable ." in "".join(one for words, one in steps.items() if words == ("install",))
    assert 'export PYTHONPATH="$PROJECT${PYTHONPATH:+:$PYTHONPATH}"' in text


def test_without_requirements_the_projects_page_says_what_to_install(project: Path) -> None:
    (project / "README.md").write_text(
        "```\npip install torch Numpy 'einops>=0.6' -r more.txt flash-attn\n```\n$ python -m pip install -q tqdm # bars\n"
    )
    files = skill_files(read_record(project, OPTIONS))[1]
    wanted = files["references/requirements.txt"].decode()
    assert wanted.partition("# Asked for by README.md:\n")[2].startswith("Numpy\neinops>=0.6\ntqdm\n")
    assert "# flash-attn:" in wanted.partition("# Not installed:")[2]
    assert "says nowhere" not in files["SKILL.md"].decode()


def test_a_project_that_is_not_migrated_is_told_to_be_so(project: Path) -> None:
    name, files = skill_files(read_record(project, OPTIONS))
    text = files["SKILL.md"].decode()
    assert "Nobody has migrated this project yet" in text
    assert "The project's files import `numpy`, but nothing says which packages provide these modules." in text
    assert b"torch.nn.Linear(2, 2).npu()" in files["references/changes.patch"]
    assert name == "move-my-project-to-npu"


def test_without_the_source_npuify_migrates_again(migrated: dict[str, Path], tmp_path: Path) -> None:
    project = tmp_path / "alone"
    npuify.migrate(EXAMPLES / "inference", project, Options(unsafe=True, jobs=1, cache=False))
    report = project / "npuify-report" / "findings.json"
    report.write_text(report.read_text().replace(str(EXAMPLES), str(tmp_path / "gone")))
    text = text_of(read_record(project, OPTIONS))
    assert '${NPUIFY:-npuify} migrate "$SOURCE" -o "$PROJECT" --torch-npu 2.7.1.post11' in text
    assert "changes.patch" not in text
    with_source = text_of(read_record(project, OPTIONS, source=EXAMPLES / "inference"))
    assert "patch -p1" in with_source


def test_commands_read_as_on_an_npu(records: dict[str, Record]) -> None:
    text = text_of(records["inference"], commands=["HF_HOME=/data python infer.py --half", "mkdir -p out"])
    steps = {one.words: one.text for one in blocks(text) if one.language == "bash" and "infer.py" in one.text}
    assert "HF_HOME=/data $RUN python infer.py --half\nmkdir -p out\n" in steps[()]
    assert "--device npu:0" in steps["documented",]
    assert "cuda:0" not in steps["documented",]
    assert "The author of this guide named no command" in text_of(records["inference"])


def test_commands_of_pages_cannot_do_more_than_start_programs(project: Path) -> None:
    (project / "README.md").write_text(
        "    python train.py; rm -rf ~\n"
        "    python train.py $(rm -rf ~)\n"
        "    python train.py `rm -rf ~`\n"
        "    python train.py --data /path/to/data\n"
        "    python train.py --good 1\n"
    )
    text = text_of(read_record(project, OPTIONS))
    steps = "".join(one.text for one in blocks(text) if one.language == "bash")
    assert "rm -rf" not in steps
    assert "/path/to" not in steps
    assert "$RUN python train.py --good 1" in steps
    assert "- `python train.py --data /path/to/data`" in text


@posix
def test_hostile_names_stay_names(tmp_path: Path) -> None:
    root = tmp_path / "x\n```bash\nrm -rf ~\n```\n<b>"
    root.mkdir()
    (root / "a`$(id)`|b.py").write_text("import torch\nx = torch.zeros(1).cuda()\n")
    written = write_skill(read_record(root, OPTIONS), tmp_path / "out")
    assert [fault for fault in validate(written.folder) if fault.severity == "error"] == []
    text = (written.folder / "SKILL.md").read_text(encoding="utf-8")
    steps = "".join(one.text for one in blocks(text) if one.language in ("bash", "text"))
    assert "rm -rf ~" not in steps.replace("rm-rf", "")
    assert "$(id)" not in steps
    front = yaml.safe_load(text.split("---\n")[1])
    assert "<" not in front["description"]


@posix
@pytest.mark.parametrize("name", PROJECTS)
def test_scripts_are_bash(name: str, records: dict[str, Record], tmp_path: Path) -> None:
    written = write_skill(records[name], tmp_path)
    for script in written.folder.glob("scripts/*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True)
        assert "@@{" not in script.read_text(encoding="utf-8")
    compile((written.folder / "scripts" / "check_npu.py").read_text(encoding="utf-8"), "check_npu.py", "exec")
    # Addresses of package indexes belong to those who run it; that of PyTorch's own is told, for builds that no other has.
    everything = "".join(path.read_text(encoding="utf-8") for path in written.folder.rglob("*") if path.is_file())
    assert not re.findall(
        r"https?://\S*(?:simple|whl|pypi)\S*", everything.replace("https://download.pytorch.org/whl/cpu", "")
    )


def test_packages_by_what_becomes_of_them(project: Path) -> None:
    (project / "requirements.txt").write_text(
        "torch==2.7.1\ntorchvision\nnumpy>=1.24\nxformers\nmmcv>=2.0\nuvicorn[standard]>=0.2 ; python_version > '3.8'\n"
        "nvidia-nccl-cu12\n"
    )
    (project / "requirements-dev.txt").write_text("pytest\n")
    files = skill_files(read_record(project, OPTIONS))[1]
    wanted = files["references/requirements.txt"].decode().splitlines()
    assert "uvicorn[standard]>=0.2 ; python_version > '3.8'" in wanted
    assert "numpy>=1.24" in wanted
    assert "pytest" not in wanted
    assert {"xformers", "mmcv>=2.0", "nvidia-nccl-cu12", "torch==2.7.1", "torchvision"}.isdisjoint(wanted)
    assert any(line.startswith("# xformers: ") for line in wanted)
    install = files["scripts/install.sh"].decode()
    assert "install torch==2.7.1+cpu torchvision==0.22.1+cpu --extra-index-url" in install
    assert "torch==2.7.1\n" in files["references/constraints.txt"].decode()
    assert "MMCV_WITH_OPS=1" in files["SKILL.md"].decode().replace("\\_", "_")


@posix
def test_the_installation_says_which_index_it_lacks(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import torch\nx = torch.ones(2).cuda()\n")
    script = tmp_path / "install.sh"
    script.write_bytes(skill_files(read_record(project, OPTIONS))[1]["scripts/install.sh"])
    machine = tmp_path / "bin"
    machine.mkdir()
    (machine / "uname").write_text("#!/bin/sh\necho x86_64\n")
    (machine / "uname").chmod(0o755)
    variables = {"PATH": f"{machine}:{os.environ['PATH']}", "PYTHON": "true"}
    lacking = subprocess.run(["bash", script], capture_output=True, text=True, check=False, env=variables)
    assert lacking.returncode == 1
    assert lacking.stderr.startswith("set PYTORCH_CPU_INDEX to the index of CPU builds, https://download.pytorch.org/")
    variables["PYTORCH_CPU_INDEX"] = "https://mirror.example/whl/cpu"
    assert subprocess.run(["bash", script], check=False, env=variables).returncode == 0


def test_where_the_source_comes_from(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = https://someone:secret@example.org/group/project.git\n')
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("a" * 40 + "\n")
    assert origin(tmp_path) == ("https://example.org/group/project.git", "a" * 40)
    (git / "refs" / "heads" / "main").unlink()
    (git / "packed-refs").write_text(f"# pack-refs\n{'b' * 40} refs/heads/main\n")
    assert origin(tmp_path).commit == "b" * 40
    (git / "config").write_text('[remote "origin"]\n\turl = https://example.org/$(id)\n')
    assert origin(tmp_path).address == ""
    assert origin(tmp_path / "none") == ("", "")


def test_names_of_skills() -> None:
    assert skill_name("My_Model v2") == "move-my-model-v2-to-npu"
    assert skill_name("模型") == "move-project-to-npu"
    assert len(skill_name("x" * 200)) <= 64
    assert (
        Start(command="A=1 B='x y' torchrun t.py", kind="given", where="").with_runner
        == "A=1 B='x y' $RUN torchrun t.py"
    )


def test_the_command(migrated: dict[str, Path], tmp_path: Path) -> None:
    runner = CliRunner()
    arguments = ["skill", str(migrated["inference"]), "--jobs", "1", "-o", str(tmp_path / "skills")]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    root = tmp_path / "skills" / "move-inference-to-npu"
    assert (root / "SKILL.md").is_file()
    assert "no fault" in done.stdout
    again = runner.invoke(app, arguments)
    assert again.exit_code == 2
    assert runner.invoke(app, [*arguments, "--force"]).exit_code == 0
    as_file = runner.invoke(app, [*arguments[:-1], str(tmp_path / "my-guide" / "SKILL.md"), "--language", "zh"])
    assert as_file.exit_code == 0
    assert "\nname: my-guide\n" in (tmp_path / "my-guide" / "SKILL.md").read_text(encoding="utf-8")
    for wrong in (["skill"], ["skill", "--validate", str(root), "-o", "x"], [*arguments, "--name", "Not_One"]):
        assert runner.invoke(app, wrong).exit_code == 2
