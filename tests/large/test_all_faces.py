"""The command line, the page, the language server and the server for agents find the same in large projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="npuify[studio] is not installed")
pytest.importorskip("uvicorn", reason="npuify[studio] is not installed")
pytest.importorskip("mcp.client.client", reason="npuify[mcp] is not installed")
pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from ..lsp import test_server as editors
from ..mcp import test_server as agents
from ..studio.served import serving
from ..studio.test_all_faces import Found, of_the_command_line, of_the_language_server, of_the_page
from .projects import PROJECTS, copied

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.thorough, pytest.mark.slow]


def _of_the_server_for_agents(project: Path) -> Found:
    """As agents read it: page by page."""
    found: Found = []

    async def questions(client: Any) -> None:
        offset: int | None = 0
        while offset is not None:
            asked = {"path": project.name, "limit": 500, "offset": offset}
            told = (await client.call_tool("scan", asked)).structured_content
            found.extend((one["file"], one["line"], one["code"]) for one in told["findings"])
            offset = told["next_offset"]

    agents.ask(project.parent, questions)
    return sorted(found)


@PROJECTS
def test_all_faces_find_the_same(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "SECONDS", 580)
    monkeypatch.setattr(editors, "SECONDS", 580)
    project = copied(checkout, tmp_path / checkout.name)
    expected = of_the_command_line(project)
    print(f"\n{checkout.name}: {len(expected)} findings of the command line")
    assert len(expected) > 20
    with serving(tmp_path / "state") as served:
        assert of_the_page(served, project) == expected
    assert _of_the_server_for_agents(project) == expected
    assert of_the_language_server(project) == expected
