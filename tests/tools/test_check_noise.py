"""The judge of unneeded lines finds each kind of them, and finds none where every line was needed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_noise.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("check_noise", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_noise"] = module
    spec.loader.exec_module(module)
    return module


NEEDED = (
    ("import torch\nx = torch.cuda.device_count()\n", "import torch\nimport torch_npu\nx = torch.npu.device_count()\n"),
    ("print('cuda')\nx.to('cuda')\n", "print('cuda')\nx.to('npu')\n"),
    ("d = ['cuda', 'cpu']\n", "d = ['npu', 'cpu']\n"),
    ("print('a', x.cuda())\n", "print('a', x.npu())\n"),
)
NOISY = (
    ("layout", "f(1,\n  2)\n", "f(1, 2)\n"),
    ("prose", "print('cuda is used')\n", "print('npu is used')\n"),
    ("prose", "def f():\n    'On cuda.'\n", "def f():\n    'On npu.'\n"),
    (
        "import",
        "import torch\nif x == 'cuda':\n    pass\n",
        "import torch\nimport torch_npu\nif x == 'npu':\n    pass\n",
    ),
    ("twice", "d = ['cuda', 'npu']\n", "d = ['npu', 'npu']\n"),
    ("twice", "a = x == 'cuda' or x == 'npu'\n", "a = x == 'npu' or x == 'npu'\n"),
    ("dead", "if False:\n    x.cuda()\n", "if False:\n    x.npu()\n"),
)


@pytest.mark.parametrize(("old", "new"), NEEDED)
def test_what_is_needed(tool: Any, old: str, new: str) -> None:
    changed, found = tool.noise_of("a.py", old, new)
    assert changed
    assert not found


@pytest.mark.parametrize(("kind", "old", "new"), NOISY)
def test_what_is_not(tool: Any, kind: str, old: str, new: str) -> None:
    assert kind in [one.kind for one in tool.noise_of("a.py", old, new)[1]]


def test_a_project(
    tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text('import torch\n"""About cuda."""\nx = torch.zeros(1, device="cuda").cuda()\n')
    monkeypatch.setattr(sys, "argv", ["check_noise", str(tmp_path)])
    assert tool.main() == 0
    assert "2 lines changed, 0 not needed" in capsys.readouterr().out
