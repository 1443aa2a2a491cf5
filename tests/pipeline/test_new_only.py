"""Only what is new: baselines, and lines that git says have changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import npuify
from npuify.api import narrowed
from npuify.model import NpuifyError, ScanResult
from npuify.options import Options
from npuify.report import render_scan

OLD = "import torch\n\na = torch.ones(1).cuda()\n\nb = torch.ones(2).cuda()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(OLD)
    (folder / "other.py").write_text("import torch\nx = torch.cuda.device_count()\n")
    return folder


def scan(project: Path) -> ScanResult:
    return npuify.scan([project], Options(cache=False, jobs=1))


def places(result: ScanResult) -> set[str]:
    return {f"{finding.file}:{finding.start.line}" for finding in result.findings}


@pytest.fixture
def baseline(project: Path, tmp_path: Path) -> Path:
    file = tmp_path / "baseline.json"
    file.write_text(render_scan(scan(project), "json"))
    return file


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (OLD, set()),
        ("# moved\n\n" + OLD, set()),
        (OLD + "c = torch.ones(3).cuda()\n", {"train.py:6"}),
        # The new one stands first, and the others moved along.
        (OLD.replace("\na =", "\nz = torch.ones(0).cuda()\na ="), {"train.py:3"}),
        (OLD.replace("a = torch.ones(1).cuda()\n", ""), set()),
        (OLD.replace("ones(1).cuda()", "ones(1).to('cuda')"), {"train.py:3"}),
    ],
    ids=["same", "moved", "last", "first", "gone", "another kind"],
)
def test_a_baseline(project: Path, baseline: Path, text: str, new: set[str]) -> None:
    (project / "train.py").write_text(text)
    result = scan(project)
    left = narrowed(result, baseline=baseline)
    assert places(left) == new
    count = len(result.findings) - len(left.findings)
    assert f"Only findings that baseline.json does not have are counted; {count} others are left out." in left.narrowed
    assert left.narrowed in render_scan(left, "text")


@pytest.mark.parametrize(
    ("name", "text", "stays", "new"),
    [
        ("run.py", OLD, False, set()),
        ("sub/train.py", OLD, False, set()),
        ("sub/train.py", OLD + "c = torch.ones(3).cuda()\n", False, {"sub/train.py:6"}),
        # Neither its name nor its folder, another file's findings, and a copy.
        ("sub/run.py", OLD, False, {"sub/run.py:3", "sub/run.py:5"}),
        ("sub/train.py", "import torch\n\ntorch.cuda.empty_cache()\n", False, {"sub/train.py:3"}),
        ("sub/train.py", OLD, True, {"sub/train.py:3", "sub/train.py:5"}),
    ],
)
def test_a_file_that_was_moved_or_renamed(
    project: Path, baseline: Path, name: str, text: str, stays: bool, new: set[str]
) -> None:
    if not stays:
        (project / "train.py").unlink()
    (project / "sub").mkdir()
    (project / name).write_text(text)
    assert places(narrowed(scan(project), baseline=baseline)) == new


def test_errors_of_a_baseline_are_not_new(project: Path, tmp_path: Path) -> None:
    (project / "broken.py").write_bytes(b"x = '\xff\xfe cuda'\nimport torch.cuda\n")
    before = scan(project)
    assert before.errors
    file = tmp_path / "b.json"
    file.write_text(render_scan(before, "json"))
    assert narrowed(before, baseline=file).errors == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("not json", "is no report of npuify scan"),
        ("[]", "is no report of npuify scan"),
        ('{"command": "migrate", "findings": [], "errors": []}', "is a report of npuify migrate"),
    ],
)
def test_what_is_no_baseline(project: Path, tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(NpuifyError, match=said) as error:
        narrowed(scan(project), baseline=file)
    assert "--format json --output baseline.json" in str(error.value)


def test_a_baseline_without_an_end(project: Path, tmp_path: Path) -> None:
    """A pipe that nobody writes to, a device that never ends, a folder: none is read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link.json"
    link.symlink_to(pipe)
    result = scan(project)
    for file in (pipe, link, Path("/dev/zero"), tmp_path):
        with pytest.raises(NpuifyError, match="is no regular file"):
            narrowed(result, baseline=file)


# --- changed lines ---


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


def since(project: Path, revision: str = "main") -> set[str]:
    return places(narrowed(scan(project), since=revision))


def test_changed_added_and_untracked_lines(repository: Path) -> None:
    assert since(repository) == set()
    # The removed and added lines look like parts of a patch, and the new file's last line does not end.
    odd = "s = '''\n++ b/other.py\n@@ -1 +1 @@\n'''\n"
    (repository / "train.py").write_text(odd + OLD.replace("ones(2)", "ones(9)"))
    (repository / 'odd "näme\t.py').write_text("import torch\ny = torch.ones(1).cuda()")
    assert since(repository) == {"train.py:9", 'odd "näme\t.py:2'}
    git(repository, "add", ".")
    assert since(repository) == {"train.py:9", 'odd "näme\t.py:2'}
    git(repository, "commit", "-qm", "second")
    assert since(repository) == set()
    assert since(repository, "HEAD~1") == {"train.py:9", 'odd "näme\t.py:2'}
    left = narrowed(scan(repository), since="HEAD~1")
    assert left.narrowed.startswith("Only findings on lines changed since HEAD~1 are counted; ")


def test_what_the_other_branch_changed_is_not_ours(repository: Path) -> None:
    git(repository, "checkout", "-qb", "ours")
    (repository / "ours.py").write_text("import torch\nx = torch.cuda.current_device()\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "ours")
    git(repository, "checkout", "-q", "main")
    (repository / "train.py").write_text("import torch\n")
    git(repository, "commit", "-qam", "theirs")
    git(repository, "checkout", "-q", "ours")
    assert since(repository) == {"ours.py:2"}


def test_a_folder_of_a_repository(repository: Path) -> None:
    (repository / "deep").mkdir()
    (repository / "deep" / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    git(repository, "add", ".")
    assert since(repository / "deep", "HEAD") == {"a.py:2"}


def test_nothing_that_a_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "core.pager"):
        git(repository, "config", setting, str(program))
    (repository / ".gitattributes").write_text("*.py diff=x\n")
    (repository / "train.py").write_text(OLD + "c = torch.ones(3).cuda()\n")
    mark.unlink(missing_ok=True)
    assert since(repository, "HEAD") == {"train.py:6"}
    assert not mark.exists()


@pytest.mark.parametrize("revision", ["no-such", "--output=x", "", "main:train.py"])
def test_a_revision_that_is_none(repository: Path, revision: str) -> None:
    with pytest.raises(NpuifyError, match="git knows no revision"):
        since(repository, revision)


def test_outside_of_a_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(project.parent))
    with pytest.raises(NpuifyError, match="is not in a git work tree"):
        since(project)


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NpuifyError, match="git was not found"):
        since(repository)
