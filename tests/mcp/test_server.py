"""The server for coding agents, asked by the SDK's own client over standard input and output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import npuify
from npuify.options import Options

client_module = pytest.importorskip("mcp.client.client", reason="npuify[mcp] is not installed")
anyio = pytest.importorskip("anyio")
stdio = pytest.importorskip("mcp.client.stdio")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TRAIN = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "run.sh").write_text("#!/bin/sh\nnvidia-smi\npython train.py\n")
    return folder


def ask(root: Path, questions: Callable[[Any], Awaitable[None]]) -> None:
    """Start a server for a folder, and ask it."""

    async def session() -> None:
        source = Path(npuify.__file__).parents[1]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(source), *filter(None, sys.path)]),
            "XDG_CACHE_HOME": str(root / "cache"),
        }
        command = stdio.StdioServerParameters(
            command=sys.executable, args=["-m", "npuify", "mcp", "--root", str(root)], env=environment
        )
        with anyio.fail_after(100):
            async with client_module.Client(command) as client:
                await questions(client)

    anyio.run(session)


def test_what_an_agent_does(project: Path) -> None:
    root = project.parent

    async def questions(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"scan", "migrate", "explain", "rules", "checklist", "diagnose", "doctor"} == set(tools)
        assert all(tool.description and tool.annotations is not None for tool in tools.values())
        assert not tools["migrate"].annotations.read_only_hint and tools["scan"].annotations.read_only_hint
        assert "next_offset" in tools["scan"].output_schema["properties"]

        told: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total))

        answer = await client.call_tool("scan", {"path": "a project", "limit": 2}, progress_callback=progress)
        scanned = answer.structured_content
        expected = npuify.scan([project], Options(cache=False, jobs=1)).findings
        assert scanned["total"] == len(expected) and scanned["next_offset"] == 2 and told
        rest = await client.call_tool("scan", {"path": "a project", "offset": 2})
        pages = [*scanned["findings"], *rest.structured_content["findings"]]
        assert [(one["code"], one["file"], one["line"]) for one in pages] == [
            (one.code, one.file, one.start.line) for one in expected
        ], "all faces say the same"

        answer = await client.call_tool("migrate", {"path": "a project"})
        assert "+import torch_npu" in answer.structured_content["diff"] and not answer.structured_content["written"]
        answer = await client.call_tool("migrate", {"path": "a project", "destination": "out", "write": True})
        assert answer.structured_content["written"] and ".npu()" in (root / "out/train.py").read_text()
        assert (project / "train.py").read_text() == TRAIN
        again = await client.call_tool("migrate", {"path": "a project", "destination": "out", "write": True})
        assert again.is_error and "not empty" in again.content[0].text

        answer = await client.call_tool("checklist", {"path": "out"})
        assert answer.structured_content["items"] and not answer.structured_content["complete"]
        answer = await client.call_tool("explain", {"what": "torch.cuda.Event"})
        assert "Event" in answer.content[0].text and not answer.is_error
        answer = await client.call_tool("rules", {"code": "NPU30"})
        assert "NPU301" in answer.content[0].text

        prompt = await client.get_prompt("migrate-to-ascend", {"path": "a project"})
        assert "checklist" in prompt.messages[0].content.text

    ask(root, questions)


def test_what_it_refuses(project: Path) -> None:
    (project.parent / "secret.py").write_text(TRAIN)
    (project / "link").symlink_to(project.parent)

    async def questions(client: Any) -> None:
        for tool, arguments in (
            ("scan", {"path": ".."}),
            ("scan", {"path": "/"}),
            ("scan", {"path": "link/secret.py"}),
            ("migrate", {"path": ".", "destination": "../out", "write": True}),
            ("checklist", {"path": "../"}),
            ("diagnose", {"logs": ["/etc/passwd"]}),
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error and "outside of the folders" in answer.content[0].text, tool
        for tool, arguments, said in (
            ("explain", {"what": "nonsense_xyz"}, "nothing is known"),
            ("scan", {"path": "none.py"}, "no such file or folder"),
            ("scan", {"style": "nice"}, "no style"),
            ("migrate", {"path": ".", "write": True}, "needs a destination"),
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error and said in answer.content[0].text, tool
        assert not (project.parent / "out").exists()

    ask(project, questions)


def test_without_mcp_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from npuify.cli.app import app

    monkeypatch.setitem(sys.modules, "mcp", None)
    done = CliRunner().invoke(app, ["mcp"])
    assert done.exit_code == 2 and "pip install 'npuify[mcp]'" in done.output
