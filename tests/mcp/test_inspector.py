"""The protocol's own inspector, in its command line mode: another client than the SDK's, where it is installed.

``npm install @modelcontextprotocol/inspector`` and its ``node_modules/.bin`` on the PATH.
"""

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

pytest.importorskip("mcp", reason="npuify[mcp] is not installed")
INSPECTOR = shutil.which("mcp-inspector")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(INSPECTOR is None, reason="the inspector (mcp-inspector) is not installed"),
]


def inspect(root: Path, *words: str) -> Any:
    server = [sys.executable, "-m", "npuify", "mcp", "--root", str(root)]
    source = os.pathsep.join([str(Path(npuify.__file__).parents[1]), *filter(None, sys.path)])
    settings = ["-e", f"PYTHONPATH={source}", "-e", f"XDG_CACHE_HOME={root / 'cache'}"]
    command = [str(INSPECTOR), "--cli", *settings, *server, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tools_prompts_and_reports(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    tools = {one["name"]: one for one in inspect(tmp_path, "--method", "tools/list")["tools"]}
    assert {"scan", "plan", "migrate", "verify"} <= set(tools) and tools["scan"]["annotations"]["readOnlyHint"]
    call = ("--method", "tools/call", "--tool-name")
    told = inspect(tmp_path, *call, "scan", "--tool-arg", "path=train.py", "--tool-arg", "limit=1")
    assert told["structuredContent"]["findings"][0]["code"] == "NPU101"
    assert [one["type"] for one in told["content"]] == ["text", "resource_link", "resource_link"]
    told = inspect(tmp_path, *call, "migrate", "--tool-arg", "path=train.py")
    assert "+torch.npu.synchronize()" in told["structuredContent"]["diff"]
    told = inspect(tmp_path, *call, "scan", "--tool-arg", "path=/")
    assert told["isError"] and "outside of the folders" in told["structuredContent"]["error"]["message"]
    prompt = inspect(
        tmp_path, "--method", "prompts/get", "--prompt-name", "migrate-to-ascend", "--prompt-args", "path=."
    )
    assert "checklist" in prompt["messages"][0]["content"]["text"]
    templates = inspect(tmp_path, "--method", "resources/templates/list")["resourceTemplates"]
    assert "npuify://reports/html/{name}" in [one["uriTemplate"] for one in templates]
