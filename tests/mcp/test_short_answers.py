"""What an agent is answered is short: pages end where they get long, and lists that are too long are cut and say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp.client.client", reason="npuify[mcp] is not installed")

from npuify.mcp.short import ANSWER, PAGE, page_of, part_of, shortened

from .test_server import ask

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("length", [1, 100, 999, 5_000, 20_000])
def test_pages_hold_all_rows_once(length: int) -> None:
    rows = [f"{number} {'x' * length}" for number in range(30)]
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page, offset = page_of(rows, offset, 25)
        assert page and (len(page) == 1 or sum(map(len, page)) <= PAGE)
        seen += page
    assert seen == rows


def test_a_page_beyond_the_end_is_empty() -> None:
    assert page_of(["x"], 5, 10) == ([], None)


@pytest.mark.parametrize("text", ["", "a\n" * 40_000, "b" * 25_000, "c" * 9_999 + "\n" + "d" * 9_999 + "\n"])
def test_parts_hold_all_of_a_text_once(text: str) -> None:
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part, offset = part_of(text, offset)
        assert len(part) <= PAGE
        parts.append(part)
    assert "".join(parts) == text
    assert all(part.endswith("\n") for part in parts[:-1]) or "\n" not in text, "a line is not broken where it need not"


def test_what_is_cut_is_counted() -> None:
    whole = {"a": [{"b": ["x" * 40] * 30}] * 50, "c": ["y" * 10] * 5_000, "d": "z"}
    made, lost = shortened(whole)
    assert len(json.dumps(made, separators=(",", ":"))) <= ANSWER
    assert lost["c"] + len(made["c"]) == 5_000 and made["d"] == "z"
    assert set(lost) <= {"a", "a.b", "c"}


def test_what_cannot_be_cut_is_left() -> None:
    assert shortened({"a": "x" * 50_000}) == ({"a": "x" * 50_000}, {})


def test_a_project_with_much_to_tell(tmp_path: Path) -> None:
    """Many programs and findings, a long patch, a log of many ranks, a name with many members."""
    project = tmp_path / "project"
    for number in range(300):
        folder = project / f"a_folder_with_a_long_name_{number:03}"
        folder.mkdir(parents=True)
        (folder / "train.py").write_text(
            "import torch\n\n\ndef main():\n"
            + "".join(f"    x{one} = torch.ones({one}).cuda()\n    torch.cuda.synchronize()\n" for one in range(6))
            + "\n\nif __name__ == '__main__':\n    main()\n"
        )
        (folder / "broken.py").write_text("import torch\ntorch.cuda.(\n")
    logs = tmp_path / "logs"
    logs.mkdir()
    for rank in range(256):
        (logs / f"rank_{rank}.log").write_text(
            f"[rank{rank}]: Traceback (most recent call last):\n"
            f'[rank{rank}]:   File "/data/project/train.py", line 12, in main\n'
            f"[rank{rank}]: RuntimeError: Distributed package doesn't have NCCL built in {'x' * 200}\n"
        )

    async def questions(client: Any) -> None:
        schemas = {one.name: one.output_schema for one in (await client.list_tools()).tools}
        for tool, arguments in (
            ("scan", {"path": "project", "limit": 500}),
            ("plan", {"path": "project"}),
            ("migrate", {"path": "project", "limit": 500}),
            ("distribute", {"path": "project", "entry": "a_folder_with_a_long_name_000/train.py", "limit": 500}),
            ("rules", {"limit": 500}),
            ("explain", {"what": "flash_attn"}),
            ("diagnose", {"logs": ["logs"], "project": "project"}),
            ("doctor", {"project": "project"}),
        ):
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, (tool, answer.content[0].text[:300])
            assert len(answer.content[0].text) <= ANSWER + 1_000, tool
            import jsonschema

            jsonschema.validate(answer.structured_content, schemas[tool])
            if answer.structured_content.get("more"):
                link = next(one for one in answer.content if one.type == "resource_link")
                assert (await client.read_resource(link.uri)).contents[0].text
        scanned = (await client.call_tool("scan", {"path": "project"})).structured_content
        assert scanned["entry_points_total"] == 300 > len(scanned["entry_points"])
        assert scanned["errors_total"] == 300 > len(scanned["errors"])
        diagnosed = (await client.call_tool("diagnose", {"logs": ["logs"]})).structured_content
        assert diagnosed["more"]["ranks"] + len(diagnosed["ranks"]) == 256

    ask(tmp_path, questions)
