"""The server for coding agents, asked by the SDK's own client over standard input and output."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
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


TOOLS = {
    *("scan", "plan", "migrate", "distribute", "launch", "explain", "rules", "rule_help", "checklist", "diagnose"),
    *("doctor", "simulate", "verify", "verify_compare", "verify_loss"),
}
RUN_CODE = {"simulate", "verify"}
SECONDS = 100


def ask(
    root: Path,
    questions: Callable[[Any], Awaitable[None]],
    *options: str,
    rooted: bool = True,
    own_cache: bool = True,
    **client_options: Any,
) -> None:
    """Start a server for a folder, and ask it."""

    async def session() -> None:
        source = Path(npuify.__file__).parents[1]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(source), *filter(None, sys.path)]),
            **({"XDG_CACHE_HOME": str(root / "cache")} if own_cache else {}),
        }
        words = ["-m", "npuify", "mcp", *(["--root", str(root)] if rooted else []), *options]
        command = stdio.StdioServerParameters(command=sys.executable, args=words, env=environment)
        with anyio.fail_after(SECONDS):
            async with client_module.Client(command, **client_options) as client:
                await questions(client)

    anyio.run(session)


def test_what_an_agent_does(project: Path) -> None:
    root = project.parent

    async def questions(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        assert all(tool.description and tool.annotations is not None for tool in tools.values())
        assert all(tool.output_schema for tool in tools.values())
        assert {name for name, tool in tools.items() if tool.annotations.open_world_hint} == RUN_CODE
        assert all(tools[name].annotations.destructive_hint for name in RUN_CODE)
        assert tools["scan"].input_schema["properties"]["style"]["enum"] == ["", "npu", "portable", "auto"]
        assert not tools["migrate"].annotations.read_only_hint and tools["scan"].annotations.read_only_hint
        assert "next_offset" in tools["scan"].output_schema["properties"]

        told: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total))

        answer = await client.call_tool("scan", {"path": "a project", "limit": 2}, progress_callback=progress)
        scanned = answer.structured_content
        expected = npuify.scan([project], Options(cache=False, jobs=1)).findings
        assert scanned["total"] == len(expected) and scanned["next_offset"] == 2
        assert told == sorted(told) and told[-1] == (100, 100), "progress only grows"
        page, whole = [one for one in answer.content if one.type == "resource_link"]
        assert (page.mime_type, whole.mime_type) == ("text/html", "application/json")
        report = json.loads((await client.read_resource(whole.uri)).contents[0].text)
        assert len(report["findings"]) == len(expected)
        assert (await client.read_resource(page.uri)).contents[0].text.startswith("<!DOCTYPE html>")
        rest = await client.call_tool("scan", {"path": "a project", "offset": 2})
        pages = [*scanned["findings"], *rest.structured_content["findings"]]
        assert [(one["code"], one["file"], one["line"]) for one in pages] == [
            (one.code, one.file, one.start.line) for one in expected
        ], "all faces say the same"
        for _ in range(10):
            await client.call_tool("scan", {"path": "a project", "offset": 1})
        kept = (await client.read_resource(page.uri)).contents[0].text
        assert kept.startswith("<!DOCTYPE html>"), "pages do not push out the report that they are of"

        planned = (await client.call_tool("plan", {"path": "a project"})).structured_content
        names = [one["name"] for one in planned["steps"]]
        assert names[0] == "migrate" and names[-1] == "checklist" and not planned["migrated"]
        answer = await client.call_tool("migrate", {"path": "a project"})
        assert "+import torch_npu" in answer.structured_content["diff"] and not answer.structured_content["written"]
        answer = await client.call_tool("migrate", {"path": "a project", "destination": "out", "write": True})
        assert answer.structured_content["written"] and ".npu()" in (root / "out/train.py").read_text()
        assert (project / "train.py").read_text() == TRAIN
        again = await client.call_tool("migrate", {"path": "a project", "destination": "out", "write": True})
        assert again.is_error and "not empty" in again.content[0].text

        answer = await client.call_tool("checklist", {"path": "out"})
        assert answer.structured_content["items"] and not answer.structured_content["complete"]
        planned = (await client.call_tool("plan", {"path": "out"})).structured_content
        assert planned["migrated"] and "migrate" not in [one["name"] for one in planned["steps"]]
        answer = await client.call_tool("explain", {"what": "a project/train.py:3"})
        assert answer.structured_content["kind"] == "place" and "Linear" in answer.content[0].text
        answer = await client.call_tool("rule_help", {"rule": "nccl-backend"})
        assert answer.structured_content["code"] == "NPU301"
        answer = await client.call_tool("launch", {"program": "train.py", "path": "out", "cards": 2})
        assert "run.sh" in answer.structured_content["files"] and not answer.structured_content["written"]
        answer = await client.call_tool("distribute", {"path": "a project", "entry": "train.py"})
        assert answer.structured_content["left"], "no loss is computed there"
        answer = await client.call_tool("explain", {"what": "torch.cuda.Event"})
        assert "Event" in answer.content[0].text and not answer.is_error
        answer = await client.call_tool("explain", {"what": "own._C.forward", "code": "NPU630"})
        assert answer.structured_content["title"].startswith("NPU630")
        answer = await client.call_tool("rules", {"code": "NPU30"})
        assert "NPU301" in answer.content[0].text
        pages, offset = [], 0
        while offset is not None:
            page = (await client.call_tool("rules", {"offset": offset})).structured_content
            pages, offset = [*pages, *page["result"]], page["next_offset"]
        assert len({one["code"] for one in pages}) == len(pages) == page["total"] > 100

        prompt = await client.get_prompt("migrate-to-ascend", {"path": "a project"})
        assert "checklist" in prompt.messages[0].content.text

    ask(root, questions)


def test_what_it_refuses(project: Path) -> None:
    (project.parent / "secret.py").write_text(TRAIN)
    (project / "link").symlink_to(project.parent)

    async def questions(client: Any) -> None:
        schemas = {one.name: one.output_schema for one in (await client.list_tools()).tools}
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
            ("explain", {"what": "../secret.py:1"}, "outside of the folders"),
            ("scan", {"path": "none.py"}, "no such file or folder"),
            ("scan", {"style": "nice"}, "style: Input should be"),
            ("migrate", {"path": ".", "write": True}, "needs a destination"),
            ("simulate", {"path": "..", "command": ["secret.py"]}, "outside of the folders"),
            ("launch", {"program": "../secret.py"}, "outside of the folders"),
            ("rule_help", {"rule": "NPU000"}, "no rule"),
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error and said in answer.content[0].text, tool
            assert said in str(answer.structured_content["error"]), "a program can read what is wrong"
            jsonschema.validate(answer.structured_content, schemas[tool])
        assert not (project.parent / "out").exists()

    ask(project, questions)


def test_calls_at_the_same_time_answer_as_one_by_one(project: Path) -> None:
    root = project.parent
    for number in range(3):
        folder = root / f"other{number}"
        folder.mkdir()
        for part in range(number + 1):
            (folder / f"part{part}.py").write_text(TRAIN * (part + 1))

    async def questions(client: Any) -> None:
        calls = [("scan", {"path": f"other{number}", "limit": 500}) for number in range(3)]
        calls += [("migrate", {"path": one["path"]}) for _, one in calls]
        calls += [("plan", {"path": "a project"}), ("explain", {"what": "torch.cuda.Event"})]

        async def asked(tool: str, arguments: dict[str, Any]) -> Any:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error
            return answer.structured_content

        one_by_one = [await asked(*call) for call in calls]
        together: dict[int, Any] = {}

        async def at_once(number: int) -> None:
            together[number] = await asked(*calls[number])

        async with anyio.create_task_group() as tasks:
            for number in range(len(calls)):
                tasks.start_soon(at_once, number)
        assert [together[number] for number in range(len(calls))] == one_by_one

    ask(root, questions)


@pytest.mark.parametrize("rooted", [True, False])
def test_the_folders_that_the_client_has_open(project: Path, rooted: bool) -> None:
    from mcp_types import ListRootsResult, Root

    root = project.parent
    (root / "closed").mkdir()
    (root / "closed" / "train.py").write_text(TRAIN)

    async def opened(context: Any) -> Any:
        return ListRootsResult(roots=[Root(uri=project.as_uri())])

    async def questions(client: Any) -> None:
        answer = await client.call_tool("scan", {})
        assert not answer.is_error and answer.structured_content["total"] == 3, "what is relative begins there"
        answer = await client.call_tool("scan", {"path": str(root / "closed")})
        assert answer.is_error and "the client has open" in answer.content[0].text

    ask(root, questions, rooted=rooted, list_roots_callback=opened, mode="legacy")


def test_a_program_is_simulated_and_ended(project: Path) -> None:
    pytest.importorskip("torch")
    (project / "hello.py").write_text("import torch, torch_npu\nprint('sum', torch.ones(3).npu().sum().item())\n")
    (project / "endless.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(1000)\n")

    async def questions(client: Any) -> None:
        answer = await client.call_tool("simulate", {"path": ".", "command": ["hello.py"]})
        assert answer.structured_content["exit_code"] == 0, answer
        assert "sum 3.0" in answer.structured_content["output"]
        answer = await client.call_tool("simulate", {"command": ["endless.py"], "seconds": 1})
        assert answer.structured_content["exit_code"] is None

    ask(project, questions, own_cache=False)


def test_without_the_tools_that_run_code(project: Path) -> None:
    async def questions(client: Any) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS - RUN_CODE

    ask(project, questions, "--no-run")


def test_without_mcp_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from npuify.cli.app import app

    monkeypatch.setitem(sys.modules, "mcp", None)
    done = CliRunner().invoke(app, ["mcp"])
    assert done.exit_code == 2 and "pip install 'npuify[mcp]'" in done.output
