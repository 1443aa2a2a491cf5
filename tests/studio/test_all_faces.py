"""The command line, the page, the language server and the server for agents find the same, each asked by its client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pytest

import npuify

if TYPE_CHECKING:
    from .served import Served

EXAMPLES = Path(__file__).parents[2] / "examples"
Found = list[tuple[str, int, str]]


def of_the_command_line(project: Path) -> tuple[Found, Found]:
    """The findings; and all places of theirs, since one finding may tell of several: page and editor show each."""
    environment = {**os.environ, "PYTHONPATH": str(Path(npuify.__file__).parents[1])}
    command = [sys.executable, "-m", "npuify", "scan", str(project), "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    told = json.loads(done.stdout)["findings"]
    places = {(one["file"], line, one["code"]) for one in told for line in (one["line"], *one["also"])}
    return sorted((one["file"], one["line"], one["code"]) for one in told), sorted(places)


def of_the_page(served: Served, project: Path) -> Found:
    name = served.opened(project)
    told = served.ask("items", id=name)
    served.ask("close", id=name)
    items = [one for one in told["items"] if one["is_finding"]]
    return sorted({(told["files"][one["file"]]["file"], one["line"], one["code"]) for one in items})


def of_the_language_server(project: Path) -> Found:
    pytest.importorskip("pygls", reason="npuify[lsp] is not installed")
    from ..lsp.test_server import edit, kinds

    found: Found = []

    async def steps(editor: Any) -> None:
        await editor.until(lambda: "end" in kinds(editor))
        for (uri, _), shown in editor.shown.items():
            file = Path(unquote(urlparse(uri).path)).relative_to(project).as_posix()
            found.extend((file, one.range.start.line + 1, one.code) for one in shown if one.code)

    edit(project, steps, scan=True)
    return sorted(set(found))


def of_the_server_for_agents(project: Path) -> Found:
    """As agents read it: page by page."""
    pytest.importorskip("mcp", reason="npuify[mcp] is not installed")
    from ..mcp.test_server import ask

    found: Found = []

    async def questions(client: Any) -> None:
        offset: int | None = 0
        while offset is not None:
            asked = {"path": project.name, "limit": 500, "offset": offset}
            told = (await client.call_tool("scan", asked)).structured_content
            found.extend((one["file"], one["line"], one["code"]) for one in told["findings"])
            offset = told["next_offset"]

    ask(project.parent, questions)
    return sorted(found)


@pytest.mark.thorough
def test_all_faces_find_the_same(served: Served, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "ddp_training", project)
    (project / "café.py").write_text("import torch\ntorch.cuda.synchronize()\n", encoding="utf-8")
    (project / "bad.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    (project / "engine.py").write_text(
        "import tensorrt as trt\n\nlog = trt.Logger()\nmade = trt.Builder(log)\nprint(trt.Runtime(log))\n"
    )
    expected, places = of_the_command_line(project)
    assert set(places) > set(expected) and len(expected) > 20
    assert of_the_page(served, project) == places
    assert of_the_language_server(project) == places
    assert of_the_server_for_agents(project) == expected
