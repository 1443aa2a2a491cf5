"""A full disk, Ctrl-C while files are replaced, and two runs at once: a clear message, and nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and limits")
NPUIFY = [sys.executable, "-m", "npuify"]
LIMIT = 40_000
"""Bytes of the largest file that a limited process may write: a write beyond fails as on a full disk."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for number in range(30):
        lines = "".join(f"x{line} = torch.cuda.memory_allocated({line})\n" for line in range(40))
        (root / f"m{number}.py").write_text("import torch\n" + lines)
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "NPUIFY_CACHE_DIR": str(tmp_path / "cache")}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def limited(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))\n"
        "from npuify.__main__ import main\n"
        "sys.argv = ['npuify', *sys.argv[1:]]\n"
        "sys.exit(main())\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=300, env=environment
    )


def test_a_full_disk_leaves_no_half_copy(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    (project / "weights.bin").write_bytes(b"\0" * (2 * LIMIT))
    before = contents(project)
    done = limited(["migrate", str(project), "-o", str(tmp_path / "out"), "--no-cache"], environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "npuify: " in done.stderr and "out" in done.stderr
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
    assert contents(project) == before


def test_a_full_disk_changes_no_file_in_place(project: Path, environment: dict[str, str]) -> None:
    # The last file grows beyond the limit by the import that it gets: those before it must be as they were, too.
    end = "import torch\nx = torch.zeros(1).cuda()\n"
    (project / "z.py").write_text("#" * (LIMIT - 10 - len(end)) + "\n" + end)
    before = contents(project)
    done = limited(["migrate", str(project), "--in-place", "--no-cache"], environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert contents(project) == before


def test_a_cache_that_cannot_be_written_stops_nothing(project: Path, environment: dict[str, str]) -> None:
    for number in range(60):
        shutil.copy(project / "m0.py", project / f"n{number}.py")
        os.utime(project / f"n{number}.py", (1, 1))
    done = limited(["scan", str(project), "--format", "json"], environment)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert not list(Path(environment["NPUIFY_CACHE_DIR"]).rglob("scan-*"))


def test_a_report_that_cannot_be_written_is_no_half_report(
    project: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    report = tmp_path / "report.json"
    report.write_text("the old one")
    done = limited(["scan", str(project), "--format", "json", "--output", str(report), "--no-cache"], environment)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert "report.json" in done.stderr
    assert report.read_text() == "the old one"


@pytest.mark.parametrize("delay", [0.3, 0.7, 1.1])
def test_ctrl_c_in_place_changes_all_or_nothing(project: Path, environment: dict[str, str], delay: float) -> None:
    before = contents(project)
    command = [*NPUIFY, "migrate", str(project), "--in-place", "--no-cache"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=300)
    after = contents(project)
    assert sorted(after) == sorted(before), "no temporary file is left"
    changed = [name for name in before if before[name] != after[name]]
    assert changed in ([], sorted(before))
    # An interrupt in a callback of Python's own import machinery is told and dropped by the interpreter.
    dropped = b"Exception ignored in" in said and process.returncode == 0
    assert b"Traceback" not in said or dropped or process.returncode == -signal.SIGINT


def together(commands: list[list[str]], environment: dict[str, str]) -> list[tuple[int, str]]:
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for command in commands
    ]
    done = [(process.communicate(timeout=300)[1], process.wait()) for process in running]
    return [(code, said) for said, code in done]


def test_two_migrations_to_one_destination(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "out"
    done = together([[*NPUIFY, "migrate", str(project), "-o", str(out)]] * 2, environment)
    assert 0 in [code for code, _ in done]
    for code, said in done:
        assert code in (0, 2)
        assert "Traceback" not in said
        assert code == 0 or "npuify: " in said
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["out", "project"]
    written = contents(out)
    assert all(b"torch.npu.memory_allocated" in written[name] for name in contents(project))


def test_two_scans_share_a_cache(project: Path, environment: dict[str, str]) -> None:
    for path in project.iterdir():
        os.utime(path, (1, 1))
    assert [code for code, _ in together([[*NPUIFY, "scan", str(project)]] * 2, environment)] == [1, 1]
    again = subprocess.run(
        [*NPUIFY, "scan", str(project), "--format", "json"], capture_output=True, text=True, env=environment
    )
    fresh = subprocess.run(
        [*NPUIFY, "scan", str(project), "--format", "json", "--no-cache"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert again.stdout == fresh.stdout


def test_two_runs_in_place_lose_nothing(project: Path, environment: dict[str, str]) -> None:
    done = together([[*NPUIFY, "migrate", str(project), "--in-place", "--no-cache"]] * 2, environment)
    assert all(code in (0, 2) and "Traceback" not in said for code, said in done)
    after = contents(project)
    assert sorted(after) == sorted(f"m{number}.py" for number in range(30))
    assert all(text.count(b"memory_allocated") == 40 for text in after.values())
    assert all(b"torch.npu.memory_allocated" in text for text in after.values())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["scan"], ["scan", "--format", "json"], ["migrate", "--diff"]])
def test_a_full_standard_output_is_no_fault_of_ours(
    project: Path, environment: dict[str, str], arguments: list[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*NPUIFY, *arguments, str(project)], stdout=full, stderr=subprocess.PIPE, text=True, env=environment
        )
    assert (done.returncode, done.stderr) == (
        2,
        "npuify: standard output: cannot be written: No space left on device\n",
    )


def test_ctrl_c_before_a_command_runs(environment: dict[str, str]) -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'npuify.cli.common.program': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from npuify.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (130, "npuify: interrupted\n")


@pytest.mark.parametrize(("style", "call"), [("copy", "copymode"), ("copy", "copystat"), ("in place", "copystat")])
def test_being_terminated_leaves_nothing_half_written(
    project: Path, tmp_path: Path, environment: dict[str, str], style: str, call: str
) -> None:
    # The signal comes while files are written; of a copy, also when it stands already.
    before = contents(project)
    code = (
        "import os, shutil, signal, sys\n"
        f"real = shutil.{call}\n"
        "def interrupting(*args, **more):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return real(*args, **more)\n"
        f"shutil.{call} = interrupting\n"
        "from npuify.cli import main\n"
        "main()\n"
    )
    where = ["-o", str(tmp_path / "out")] if style == "copy" else ["--in-place"]
    done = subprocess.run(
        [sys.executable, "-c", code, "migrate", str(project), *where, "--no-cache"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (143, "npuify: terminated\n")
    assert contents(project) == before
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == (["out", "project"] if (style, call) == ("copy", "copystat") else ["project"])
    if "out" in there:
        assert all(b"torch.npu.memory_allocated" in (tmp_path / "out" / name).read_bytes() for name in before)
