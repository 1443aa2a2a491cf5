"""Another real editor: Emacs with eglot opens a file, shows diagnostics, makes all safe edits and saves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import npuify
from npuify.options import Options

pytest.importorskip("pygls", reason="npuify[lsp] is not installed")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed"),
]

TRAIN = "import torch\n\nname = '😀'; model = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"


def test_emacs(tmp_path: Path) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    file = project / "train.py"
    file.write_text(TRAIN, encoding="utf-8")
    out = tmp_path / "out.json"
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "NPUIFY_FILE": str(file),
        "NPUIFY_OUT": str(out),
        "NPUIFY_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(Path(npuify.__file__).parents[1]), *filter(None, sys.path)]),
    }
    command = ["emacs", "--batch", "--no-init-file", "-l", str(Path(__file__).with_name("emacs.el"))]
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    told = json.loads(out.read_text()) if out.exists() else {"why": done.stderr}
    if told["why"] == "no eglot":
        pytest.skip("Emacs has no eglot")
    assert told["why"] == "", told
    assert sorted(told["before"]) == [3, 4]
    after = file.read_text(encoding="utf-8")
    file.write_text(TRAIN, encoding="utf-8")
    npuify.migrate(project, tmp_path / "expected", Options(cache=False, jobs=1))
    assert after == (tmp_path / "expected" / "train.py").read_text(encoding="utf-8")
