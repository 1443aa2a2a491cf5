"""``npuify mcp`` on large projects: every tool, asked by the SDK's client over standard input and output."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp.client.client", reason="npuify[mcp] is not installed")

from ..mcp import test_server as agents
from .projects import NAME, PROJECTS, Measured, copied, cpu_of, memory_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.thorough, pytest.mark.slow]
SHORT = 31_000
"""Characters of an answer; from 10,000 tokens on agents are warned of long ones."""


def _servers() -> set[int]:
    """Processes that this one has started and that run; empty where that is not known."""
    done = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid="], capture_output=True, text=True, check=False)
    return set(map(int, done.stdout.split()))


@PROJECTS
def test_every_tool(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = copied(checkout, tmp_path / checkout.name)
    has_torch = importlib.util.find_spec("torch") is not None
    monkeypatch.setattr(agents, "SECONDS", 580)

    async def questions(client: Any) -> None:
        server = max(_servers(), key=cpu_of, default=0)
        told = Measured("mcp", project, lambda: cpu_of(server))
        asked: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            asked.append((done, total))

        async def ask(tool: str, **arguments: Any) -> Any:
            answer = await client.call_tool(tool, arguments, progress_callback=progress)
            assert not answer.is_error, (tool, answer.content[0].text)
            length = sum(len(one.text) for one in answer.content if one.type == "text")
            told.step(tool, length)
            assert length < SHORT, (tool, length)
            answer.structured_content["_links"] = [one for one in answer.content if one.type == "resource_link"]
            return answer.structured_content

        here = project.name
        planned = await ask("plan", path=here)
        steps, offset = planned["steps"], planned["next_offset"]
        while offset is not None:
            page = await ask("plan", path=here, offset=offset)
            steps, offset = [*steps, *page["steps"]], page["next_offset"]
        assert {"migrate", "run", "checklist"} <= {one["name"] for one in steps} and len(steps) == planned["total"]
        scanned = await ask("scan", path=here)
        assert asked and asked[-1] == (100, 100), "progress is told to the end"
        total, seen, offset = scanned["total"], len(scanned["findings"]), scanned["next_offset"]
        while offset is not None:
            page = await ask("scan", path=here, offset=offset, limit=100)
            seen, offset = seen + len(page["findings"]), page["next_offset"]
        assert seen == total > 50
        for link in scanned["_links"]:
            told.step(f"  {link.name}", len((await client.read_resource(link.uri)).contents[0].text))
        place = next(one for one in scanned["findings"] if one["file"].endswith(".py"))
        await ask("explain", what=f"{here}/{place['file']}:{place['line']}")
        await ask("explain", what=place["subject"] or place["code"], code=place["code"])
        await ask("rule_help", rule=place["code"])
        await ask("rules")
        shown = await ask("migrate", path=here)
        offset, parts = shown["diff_next_offset"], [shown["diff"]]
        while offset is not None:
            page = await ask("migrate", path=here, diff_offset=offset)
            parts, offset = [*parts, page["diff"]], page["diff_next_offset"]
        assert sum(one.count("\n+++ ") + one.startswith("+++ ") for one in parts) >= len(shown["changed_files"])
        written = await ask("migrate", path=here, destination="out", write=True, unsafe=True)
        assert written["written"] and (tmp_path / "out" / NAME).is_file()
        assert (await ask("plan", path="out"))["migrated"]
        assert (await ask("checklist", path="out"))["items"]
        assert (await ask("distribute", path=here, entry=NAME))["diff"]
        assert "run.sh" in (await ask("launch", path="out", program=NAME, cards=4))["files"]
        assert "nccl" in str(await ask("diagnose", logs=[f"{here}/own_failed.log"], project=here)).lower()
        await ask("doctor", project="out")
        (tmp_path / "a.log").write_text("".join(f"step {one} loss {3 / (one + 1):.4f}\n" for one in range(30)))
        (tmp_path / "b.log").write_text((tmp_path / "a.log").read_text() + "end\n")
        assert (await ask("verify_loss", reference="a.log", target="b.log"))["passed"]
        if has_torch:
            ran = await ask("simulate", path="out", command=[NAME, "--device", "npu"])
            assert ran["exit_code"] == 0, ran
            verified = await ask("verify", source=here, migrated="out", entry=f"{NAME} --device={{device}}")
            assert verified["passed"], verified
        print(f"  most memory: {memory_of(server)} MiB")

    agents.ask(tmp_path, questions)
