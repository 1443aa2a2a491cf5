"""A real editor: Neovim opens a file, shows diagnostics, applies a fix and saves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import npuify
from npuify.options import Options

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")
pytestmark = pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed")

TRAIN = "import torch\n\nname = '😀'; model = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"


def edited(file: Path, tmp_path: Path, *, folder: Path | None = None) -> dict[str, Any]:
    """What Neovim tells of a file that it opens, mends by all safe edits, and saves."""
    out = tmp_path / "out.json"
    source = Path(npuify.__file__).parents[1]
    environment = {
        **os.environ,
        "NPUIFY_FILE": str(file),
        "NPUIFY_FOLDER": str(folder or file.parent),
        "NPUIFY_OUT": str(out),
        "NPUIFY_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(source), *filter(None, sys.path)]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    script = Path(__file__).with_name("neovim.lua")
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    told: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"why": done.stderr}
    return told


def test_neovim(tmp_path: Path) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    file = project / "train.py"
    file.write_text(TRAIN, encoding="utf-8")
    told = edited(file, tmp_path)
    assert told["why"] == "", told
    # Neovim counts columns in bytes.
    assert [place[:2] for place in told["before"]] == [[2, len("name = '😀'; model = ".encode())], [3, 0]]
    assert told["title"].startswith("npuify: make all safe edits")
    expected = tmp_path / "expected"
    file_after = file.read_text(encoding="utf-8")
    file.write_text(TRAIN, encoding="utf-8")
    npuify.migrate(project, expected, Options(cache=False, jobs=1))
    assert file_after == (expected / "train.py").read_text(encoding="utf-8")
