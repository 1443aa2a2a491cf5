"""The command line as a process: pipes, signals and terminals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and terminals")
NPUIFY = [sys.executable, "-m", "npuify"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for number in range(40):
        lines = "".join(f"x{line} = torch.cuda.memory_allocated({line})\n" for line in range(40))
        (root / f"m{number}.py").write_text("import torch\n" + lines)
    return root


def npuify(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NPUIFY, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload,no-any-return]


def test_scan_and_migrate(project: Path, tmp_path: Path) -> None:
    scan = npuify("scan", project, "--no-cache")
    assert scan.returncode == 1
    assert "\x1b" not in scan.stdout and scan.stderr == ""
    migrate = npuify("migrate", project, "-o", tmp_path / "out", "--no-cache")
    assert migrate.returncode == 0, migrate.stdout + migrate.stderr
    assert "\x1b" not in migrate.stdout and migrate.stderr == ""
    assert "torch.npu.memory_allocated" in (tmp_path / "out/m0.py").read_text()
    assert (tmp_path / "out/npuify-report/report.md").is_file()
    assert "torch.cuda" in (project / "m0.py").read_text()
    assert npuify("scan", tmp_path / "out", "--no-cache").returncode == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_diff_can_be_applied(project: Path) -> None:
    (project / "m0.py").write_bytes(b"import torch\r\nx = torch.cuda.device_count()\r\n")
    (project / "m1.py").write_bytes(
        "# coding: gbk\nimport torch\ns = '中文'; x = torch.cuda.device_count()".encode("gbk")
    )
    done = subprocess.run([*NPUIFY, "migrate", str(project), "--diff"], capture_output=True, timeout=300)
    assert done.returncode == 0
    applied = subprocess.run(
        ["git", "apply", "--unsafe-paths", "-"], input=done.stdout, cwd=project, capture_output=True
    )
    assert applied.returncode == 0, applied.stderr.decode()
    assert b"x = torch.npu.device_count()\r\n" in (project / "m0.py").read_bytes()
    assert "s = '中文'; x = torch.npu.device_count()".encode("gbk") in (project / "m1.py").read_bytes()
    assert npuify("migrate", project, "--check").returncode == 0


@posix
def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    with subprocess.Popen([*NPUIFY, "scan", str(project)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "cp1252", "utf-8"])
def test_text_that_the_screen_cannot_show(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "模型 é.py").write_text("import torch\nx = torch.cuda.device_count()\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([*NPUIFY, "scan", str(tmp_path)], capture_output=True, env=environment, timeout=300)
    assert (done.returncode, done.stderr) == (1, b"")
    done.stdout.decode(encoding)
    as_json = subprocess.run(
        [*NPUIFY, "scan", str(tmp_path), "--format", "json"], capture_output=True, env=environment, timeout=120
    )
    assert "模型 é.py" in as_json.stdout.decode("utf-8")


@posix
def test_colours_and_a_bar_on_a_terminal_only(project: Path) -> None:
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*NPUIFY, "scan", str(project), "--no-cache"], stdout=child, stderr=child, env=environment
    ) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(parent)
    assert process.returncode == 1
    assert b"\x1b[" in shown
    assert b"NPU101" in shown


@posix
@pytest.mark.parametrize("delay", [0.05, 0.3, 0.6])
def test_ctrl_c_leaves_no_destination(project: Path, tmp_path: Path, delay: float) -> None:
    for number in range(400):
        shutil.copy(project / "m0.py", project / f"n{number}.py")
    command = [*NPUIFY, "migrate", str(project), "-o", str(tmp_path / "out"), "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=300)
    if process.returncode in (0, 1):
        return  # it was done before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
    assert process.returncode in (130, -signal.SIGINT)
