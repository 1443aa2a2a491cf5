"""The trace, and the migration that goes by it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.project.traced import read_trace

from .conftest import environment, needs_simulation, rows
from .conftest import npuify as command

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = '''\
class Holder:
    """Has a cuda() of its own, so that x.cuda() alone does not tell what x is."""

    def __init__(self, x):
        self.x = x

    def cuda(self):
        return self.x.cuda()


def make(name):
    import torch
    return {"x": torch.ones(2), "h": Holder(torch.ones(2))}[name]
'''
TRAIN = """\
import sys

import torch
from torch.cuda.amp import GradScaler

from holder import make


def unseen():
    return make("x").cuda()


def main():
    device = sys.argv[1]
    x = make("x").cuda()
    print(x.device.type == "cuda", x.is_cuda)
    h = make("h").cuda()
    y = torch.zeros(2).to(device)
    for _ in range(3):
        y = y + x + h
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.nvtx.mark("here")
    torch.cuda.synchronize()
    print(torch.cuda.get_device_capability() >= (8, 0), torch.cuda.memory_allocated() > 0, y.sum().item())


if __name__ == "__main__":
    scaler = GradScaler()
    main()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, and the trace of its run."""
    needs_simulation()
    folder = tmp_path_factory.mktemp("traced")
    project = folder / "project"
    project.mkdir()
    (project / "holder.py").write_text(HOLDER)
    (project / "train.py").write_text(TRAIN)
    options = ("run", "--device", "simulated", "--trace", "trace.jsonl", "project/train.py", "cuda:0")
    done = command(*options, folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True\nFalse True 12.0\n"
    return folder


def test_one_line_for_each_place(traced: Path) -> None:
    found = {(row["file"].rpartition("/")[2], row["line"], row["call"]): row for row in rows(traced / "trace.jsonl")}
    moved = found["train.py", 15, "torch.Tensor.cuda"]
    assert (moved["arguments"], moved["became"], moved["status"]) == ("()", "torch.Tensor.npu()", "exact")
    assert moved["text"] == 'x = make("x").cuda()'
    assert moved["count"] == 1
    assert found["train.py", 16, "compared"]["became"] == "'npu' counts as 'cuda'"
    assert found["train.py", 16, "torch.Tensor.is_cuda"]["status"] == "exact"
    to = found["train.py", 18, "torch.Tensor.to"]
    assert to["arguments"] == "(Tensor(2,), 'cuda:0')"
    assert to["became"] == "torch.Tensor.to(Tensor(2,), 'npu:0')"
    assert found["train.py", 22, "torch.cuda.nvtx.mark"]["patch"] == "nvtx"
    assert found["train.py", 4, "torch.cuda.amp.GradScaler"]["status"] == "exact"
    assert found["train.py", 24, "torch.cuda.get_device_capability"]["status"] == "changed"
    assert ("train.py", 10, "torch.Tensor.cuda") not in found, "what did not run is not in the trace"
    assert not [row for row in found.values() if row["file"].startswith("/") and "torch/" in row["file"]]


def test_counts_of_several_processes_add_up(tmp_path: Path) -> None:
    needs_simulation()
    (tmp_path / "work.py").write_text(
        "import os, torch\n"
        "torch.ones(1).cuda()\n"
        "for n in range(2):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        for _ in range(5):\n"
        "            torch.cuda.is_available()\n"
        "        from npuify.run import record\n"
        "        record._recorder.write()\n"
        "        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "torch.cuda.is_available()\n"
    )
    done = command("run", "--device", "simulated", "--trace", "t.jsonl", "work.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    counts = {(row["line"], row["call"]): row["count"] for row in rows(tmp_path / "t.jsonl")}
    assert counts == {
        (2, "torch.Tensor.cuda"): 1,
        (7, "torch.cuda.is_available"): 10,
        (12, "torch.cuda.is_available"): 1,
    }


def test_a_process_that_is_killed_leaves_its_trace(tmp_path: Path) -> None:
    needs_simulation()
    (tmp_path / "work.py").write_text(
        "import os, signal, time, torch\n"
        "with torch.autocast('cuda', dtype=torch.float16):\n"
        "    torch.cuda.is_available()\n"
        "while not (os.path.exists('t.jsonl') and 'is_available' in open('t.jsonl').read()): time.sleep(0.05)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = command("run", "--device", "simulated", "--trace", "t.jsonl", "work.py", folder=tmp_path)
    assert done.returncode == -9
    found = {(row["line"], row["call"]): row for row in rows(tmp_path / "t.jsonl")}
    assert set(found) == {(2, "torch.autocast"), (3, "torch.cuda.is_available")}
    assert found[2, "torch.autocast"]["arguments"] == "('cuda', dtype=torch.float16)"


def test_the_trace_makes_edits_safe_where_it_saw_them(traced: Path) -> None:
    plain = npuify.migrate(traced / "project", options=Options(jobs=1, cache=False), mode="diff")
    assert '+    x = make("x").npu()' not in plain.diff, "without the trace it is not known"
    options = Options(jobs=1, cache=False, from_trace=str(traced / "trace.jsonl"))
    informed = npuify.migrate(traced / "project", options=options, mode="diff")
    assert '+    x = make("x").npu()' in informed.diff
    assert '+    return make("x").npu()' not in informed.diff, "this line did not run"
    assert '+    h = make("h")' not in informed.diff, "a method of the project's own"
    left = {(finding.start.line, finding.code): finding for finding in informed.left}
    assert (17, "NPU128") not in left
    assert "cuda:0" in left[1, "NPU128"].message, "what was said on the command line"
    assert plain.left != informed.left


def test_the_migrated_program_runs_without_the_crutch(traced: Path) -> None:
    options = Options(jobs=1, cache=False, torch_npu="2.13.0", from_trace=str(traced / "trace.jsonl"))
    npuify.migrate(traced / "project", traced / "migrated", options, force=True)
    done = command("simulate", "migrated/train.py", "npu:0", folder=traced)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True\nFalse True 12.0\n"


def test_a_stale_or_foreign_trace(traced: Path, tmp_path: Path) -> None:
    files = ["holder.py", "train.py"]
    (tmp_path / "holder.py").write_text(HOLDER)
    (tmp_path / "train.py").write_text("# moved down\n" + TRAIN)
    moved = read_trace(traced / "trace.jsonl", tmp_path, files)
    assert list(moved.places) == ["holder.py"], "found by the ends of paths"
    assert [error.file for error in moved.errors] == ["train.py"]
    for text in ("nonsense", '{"kind": "call"}', json.dumps({"kind": "other"})):
        (tmp_path / "bad.jsonl").write_text(text)
        with pytest.raises(NpuifyError, match="no trace"):
            read_trace(tmp_path / "bad.jsonl", tmp_path, files)
    with pytest.raises(NpuifyError, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl", tmp_path, files)


def test_what_runs_in_the_program_needs_the_standard_library_and_torch_alone(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('msgspec', 'typer', 'rich', 'yaml', 'tomli', 'platformdirs', 'packaging'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from npuify.run import start, notebook, launch_paths, environment, early, record\n"
        "print(sorted(m for m in sys.modules if m.startswith('npuify') and m.split('.')[1:2] not in (['run'], ['version'], ['process'], ['language'], [])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
