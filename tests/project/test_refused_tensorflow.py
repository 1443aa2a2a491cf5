"""Commands for PyTorch stop at programs for TensorFlow, before they start them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.model import NpuifyError
from npuify.project.frameworks.tensorflow_programs import refuse_tensorflow


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("import tensorflow as tf\n", True),
        ("import numpy\nfrom tensorflow import keras\nimport horovod.tensorflow as hvd\n", True),
        ("import tensorflow as tf\nimport torch\n", False),
        ("import tensorflow as tf\nfrom transformers import Trainer\n", False),
        ("import torch\n", False),
        ("print(1)\n", False),
    ],
)
def test_what_is_refused(text: str, refused: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(text)
    try:
        refuse_tensorflow([str(tmp_path / "train.py"), "--x"], False, "npuify trace", "do otherwise")
    except NpuifyError as error:
        assert refused
        assert "npuify trace is for PyTorch" in error.message
        assert error.advice == "do otherwise"
    else:
        assert not refused


@pytest.mark.parametrize("command", [["trace"], ["run"]])
def test_the_commands(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import tensorflow as tf\n")
    ran = CliRunner().invoke(app, [*command, "train.py"])
    assert ran.exit_code == 2
    assert "is for PyTorch, and this program is for TensorFlow" in ran.output
