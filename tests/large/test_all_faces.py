"""The command line, the page, the language server and the server for agents find the same in large projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="npuify[studio] is not installed")
pytest.importorskip("uvicorn", reason="npuify[studio] is not installed")
pytest.importorskip("mcp.client.client", reason="npuify[mcp] is not installed")
pytest.importorskip("pygls", reason="npuify[lsp] is not installed")

from ..lsp import test_server as editors
from ..mcp import test_server as agents
from ..studio.served import serving
from ..studio.test_all_faces import (
    of_the_command_line,
    of_the_language_server,
    of_the_page,
    of_the_server_for_agents,
)
from .projects import PROJECTS, copied

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.thorough, pytest.mark.slow]


@PROJECTS
def test_all_faces_find_the_same(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "SECONDS", 580)
    monkeypatch.setattr(editors, "SECONDS", 580)
    project = copied(checkout, tmp_path / checkout.name)
    expected, places = of_the_command_line(project)
    print(f"\n{checkout.name}: {len(expected)} findings of the command line")
    assert len(expected) > 20
    with serving(tmp_path / "state") as served:
        assert of_the_page(served, project) == places
    assert of_the_server_for_agents(project) == expected
    assert of_the_language_server(project) == places
