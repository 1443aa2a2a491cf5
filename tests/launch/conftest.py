"""A program that tells its place among the ranks, and scripts that start it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npuify.knowledge import choose_release
from npuify.launch.job import Job, job
from npuify.launch.launch import launch

if TYPE_CHECKING:
    from collections.abc import Callable

PROBE = """
import json, os, subprocess, sys, time
here = {name: os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
    "MASTER_PORT", "RANK_ID", "RANK_SIZE", "DEVICE_ID", "ASCEND_RT_VISIBLE_DEVICES")}
folder = os.environ["PROBE"]
here["arguments"] = sys.argv[1:]
here["processes"] = [os.getpid()]
if "--child" in sys.argv:
    here["processes"].append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
with open(os.path.join(folder, here["RANK"] + ".new"), "w") as file:
    json.dump(here, file)
os.rename(os.path.join(folder, here["RANK"] + ".new"), os.path.join(folder, here["RANK"] + ".json"))
print("rank", here["RANK"], "of", here["WORLD_SIZE"], flush=True)
if os.environ.get("FAILS") == here["RANK"]:
    while len([name for name in os.listdir(folder) if name.endswith(".json")]) < int(os.environ["LOCAL_WORLD_SIZE"]):
        time.sleep(0.05)
    print("this rank fails", file=sys.stderr)
    sys.exit(7)
if "--stay" in sys.argv:
    time.sleep(60)
"""

needs_bash = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="the scripts are for Linux and need bash"
)


def free_port() -> int:
    """A port that nothing listens on, outside of HCCL's."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port if not 60000 <= port <= 60031 else free_port()


class Probed:
    """A folder with the program, its scripts in ``launch``, and what the ranks told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "a folder").mkdir()
        self.entry = folder / "a folder" / "probe it.py"
        self.entry.write_text(PROBE)
        (folder / "told").mkdir()

    def job(self, **values: Any) -> Job:
        given = {"method": "shell", "cards": 2, "port": free_port(), "folder": self.folder, **values}
        return job(str(self.entry), release=choose_release(None, None), **given)

    def write(self, *, vendor_script: bool = False, **values: Any) -> Path:
        """The folder with the scripts of a job."""
        output = self.folder / "launch it"
        launch(self.job(**values), output, vendor_script=vendor_script)
        return output

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "RANK" not in name and name != "CARDS"}
        kept.update(
            PROBE=str(self.folder / "told"), NPUIFY_SIMULATE="not needed", PYTHON=sys.executable, OMP_NUM_THREADS="1"
        )
        return {**kept, **more}

    def start(self, script: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(script), *arguments],
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
        )

    def run(self, script: Path, *arguments: str, **more: str) -> tuple[int, str, str]:
        """Exit code, standard output and error."""
        process = self.start(script, *arguments, **more)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def told(self) -> dict[int, dict[str, Any]]:
        """What each rank found."""
        return {int(path.stem): json.loads(path.read_text()) for path in sorted((self.folder / "told").glob("*.json"))}


@pytest.fixture
def probed(tmp_path: Path) -> Probed:
    return Probed(tmp_path)


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be noticed does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def eventually(holds: Callable[[], bool], seconds: float = 300) -> bool:
    """Whether something comes true in time."""
    import time

    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if holds():
            return True
        time.sleep(0.05)
    return holds()
