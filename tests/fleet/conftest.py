from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PLAIN = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
APEX = "import torch\nfrom apex import amp\n\nmodel = torch.nn.Linear(2, 2).cuda()\nmodel, o = amp.initialize(model, None)\n"


def make(folder: Path, *names: str, code: str = PLAIN) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "train.py").write_text(code)


def git(folder: Path, *arguments: str) -> str:
    identity = {f"GIT_{who}_{what}": f"{what}@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **identity}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, code: str = PLAIN) -> str:
    """A repository with one commit, whose name is the answer."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text(code)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that some projects break."""
    root = Path(__file__).parents[2]
    program = f"import sys, runpy; sys.path.insert(0, {str(root)!r}); runpy.run_module('tests.fleet.broken', run_name='__main__')"
    monkeypatch.setattr("npuify.fleet.workers.child._PROGRAM", program)
