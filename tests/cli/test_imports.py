"""What a command imports is what its user waits for each time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "torch",
    "numpy",
    "pydantic",
    "matplotlib",
    "jsonschema",
    "asyncio",
    "http",
    "multiprocessing.managers",
    "pygments",
    "pygls",
    "lsprotocol",
    "attrs",
    "cattrs",
    "mcp",
    "starlette",
    "uvicorn",
    "anyio",
    "npuify.review",
}


@pytest.mark.parametrize("command", ["--help", "scan", "migrate"])
def test_nothing_heavy_is_imported(command: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nmodel = torch.nn.Linear(2, 2).cuda()\n")
    arguments = {
        "--help": ["--help"],
        "scan": ["scan", "train.py", "--no-cache", "--jobs", "1"],
        "migrate": ["migrate", "train.py", "--diff", "--no-cache", "--jobs", "1"],
    }[command]
    program = (
        "import sys\n"
        "from npuify.cli import main\n"
        f"sys.argv = ['npuify', *{arguments!r}]\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    print('imported:', *sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr.splitlines()[-1] == "imported:", done.stderr
