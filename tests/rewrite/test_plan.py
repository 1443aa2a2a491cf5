"""A whole migration, worked out without writing."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from npuify.migration import migrate
from npuify.options import Options
from npuify.rewrite import plan as rewrite_plan
from npuify.rewrite.plan import plan

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)
FILES = {
    "train.py": b"import torch\nx = torch.zeros(1).cuda()\n",
    "pkg/crlf.py": b"import torch\r\nx = torch.zeros(1).cuda()\r\nlast = 1",
    "pkg/cr.py": b"import torch\rx = torch.zeros(1).cuda()\r",
    "pkg/gbk.py": "# coding: gbk\nimport torch\nx = '训练'; torch.cuda.init()\n".encode("gbk"),
    "pkg/latin.py": b"# coding: latin-1\nimport torch\nx = '\xe9\x85'; torch.cuda.init()",
    "pkg/bom.py": b"\xef\xbb\xbfimport torch\ntorch.cuda.init()\n",
    "pkg/plain.py": b"x = 1\n",
    "pkg/broken.py": b"import torch\ntorch.cuda.init(\n",
    "data.txt": b"torch.cuda.init()\n",
}


def write(root: Path) -> None:
    for name, raw in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


def test_plan_writes_nothing_and_lists_what_changes(tmp_path: Path) -> None:
    write(tmp_path)
    result, contents = plan(tmp_path, OPTIONS)
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    untouched = {"pkg/plain.py", "pkg/broken.py", "data.txt"}
    assert set(contents) == set(FILES) - untouched == set(result.changed_files)
    assert list(result.changed_files) == sorted(result.changed_files)
    assert {change.file for change in result.changes} == set(contents)
    assert [error.file for error in result.scan.errors] == ["pkg/broken.py"]
    assert {finding.file for finding in result.left} == {"pkg/broken.py"}


@pytest.mark.parametrize("style", ["npu", "portable"])
def test_an_own_default_stays_beside_what_is_edited(tmp_path: Path, style: str) -> None:
    """An import that the first round adds moves the lines, which other files know from before."""
    own = b"""class GradScaler:
    def __init__(self, device="cuda"):
        self.device = device


def init_process_group(backend="nccl"):
    return backend
"""
    uses = b'init_process_group()\ninit_process_group(backend="nccl")\n'
    (tmp_path / "own.py").write_bytes(own)
    (tmp_path / "alone.py").write_bytes(b"import torch\n\n\n" + own + b"\n\nGradScaler()\n" + uses)
    (tmp_path / "main.py").write_bytes(b'from own import GradScaler, init_process_group\n\nGradScaler("cuda")\n' + uses)
    _, contents = plan(tmp_path, Options(torch_npu="2.14.0", jobs=1, cache=False, style=style))
    for name in ("own.py", "alone.py"):
        assert b'def init_process_group(backend="nccl"):' in contents.get(name, own)
        assert b'def __init__(self, device="cuda"):' in contents.get(name, own)
    assert b'GradScaler("cuda")' in contents.get("main.py", b'GradScaler("cuda")')
    for name in ("main.py", "alone.py"):
        assert uses in contents.get(name, uses)


def test_second_plan_on_the_output_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    _, contents = plan(tmp_path, OPTIONS)
    for name, raw in contents.items():
        (tmp_path / name).write_bytes(raw)
    result, again = plan(tmp_path, OPTIONS)
    assert again == {}
    assert result.diff == ""


def test_second_migration_leaves_alone_what_git_ignored_in_the_project(tmp_path: Path) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    for name, text in {
        "train.py": "import torch\nx = torch.zeros(1).cuda()\n",
        "configs/local.yaml": "device: cuda\n",
        "data/prepare.py": "import tensorflow as tf\nwith tf.Session() as sess:\n    sess.run(x)\n",
        ".gitignore": "/data\n*.yaml\n",
        ".git/HEAD": "",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    assert {change.file for change in migrate(project, copy, OPTIONS).changes} == {"train.py"}
    assert migrate(copy, tmp_path / "again", OPTIONS).changes == ()


def test_paths_and_progress(tmp_path: Path) -> None:
    write(tmp_path)
    seen: list[tuple[int, int]] = []
    plan(tmp_path, OPTIONS, lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1]
    result, contents = plan(tmp_path / "train.py", OPTIONS)
    assert list(contents) == ["train.py"]
    assert result.scan.files_seen == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_diff_is_a_patch_that_git_applies_byte_for_byte(tmp_path: Path) -> None:
    write(tmp_path)
    result, contents = plan(tmp_path, OPTIONS)
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=result.diff.encode("utf-8", "surrogateescape"),
        cwd=tmp_path,
        check=True,
    )
    assert {name: (tmp_path / name).read_bytes() for name in contents} == contents


def test_processes_give_what_one_process_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.setattr(rewrite_plan, "FILES_PER_PROCESS", 1)
    one, two = (plan(tmp_path, Options(torch_npu="2.14.0", jobs=jobs, cache=False)) for jobs in (1, 2))
    assert one == two


def test_what_the_first_round_cleared_stays(tmp_path: Path) -> None:
    # Files that ask for this one read it as it was: what later rounds see of its own calls is not what it says now.
    code = 'import torch\n\n\ndef autocast(device_type="cuda"):\n    return device_type\n\n\nautocast("cuda")\n'
    (tmp_path / "main.py").write_text(f"{code}x = torch.ones(2).cuda()\n", "utf-8")
    result, contents = plan(tmp_path, OPTIONS)
    changed = contents["main.py"].decode()
    assert changed == f"{code}x = torch.ones(2).npu()\n".replace(
        "import torch\n", "import torch\nimport torch_npu  # noqa: F401\n"
    )
    assert not result.left
