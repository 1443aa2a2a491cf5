"""Results come from strangers: whatever is no result is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from npuify.knowledge.hardware.results import MachineSeen, Outcome, SelftestResult, Status, read_result
from npuify.model import NpuifyError
from npuify.selftest.text import json_schema, render_html, render_json, render_text

if TYPE_CHECKING:
    from pathlib import Path

RESULT = SelftestResult(
    version=1,
    tool="0.1.0",
    language="en",
    complete=False,
    machine=MachineSeen(kind="npu", chip="Ascend910B3", cards=8, cann="9.1.0", torch="2.14.0", torch_npu="2.14.0"),
    outcomes=(
        Outcome(
            id="names/torch.npu.Event",
            claim="It is there.",
            status=Status.HELD,
            expected={"kind": "class"},
            seen={"kind": "class"},
        ),
        Outcome(
            id="behaviour/torch.cuda.x no-effect",
            claim="<b>It does nothing.",
            status=Status.DIFFERS,
            expected=True,
            seen=False,
        ),
        Outcome(id="collectives/all_reduce", claim="It sums.", status=Status.NOT_ASKED, why="needs 2 cards"),
    ),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = render_json(RESULT)
    jsonschema.validate(json.loads(text), json.loads(json_schema()))
    path = tmp_path / "result.json"
    path.write_text(text)
    assert read_result(path) == RESULT


def test_text_and_page_say_what_did_not_hold() -> None:
    text, page = render_text(RESULT), render_html(RESULT)
    assert text.startswith("1 of 2 claims that were asked hold.")
    assert "DIFFERS behaviour/torch.cuda.x no-effect" in text and "1 collectives: needs 2 cards" in text
    assert "&lt;b&gt;It does nothing." in page and "<b>It does" not in page


def _deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    return value


BAD = {
    "another form": {"version": 2},
    "a field too many": {"host": "node7"},
    "no machine": {"machine": {"kind": "gpu"}},
    "a path for a chip": {"machine": {"kind": "npu", "chip": "../../etc/passwd"}},
    "a path in an answer": {"outcomes": [{"id": "names/a", "claim": "c", "status": "held", "seen": "/home/me/x"}]},
    "a path in a claim": {"outcomes": [{"id": "names/a", "claim": "see C:\\x", "status": "held"}]},
    "an id with a line end": {"outcomes": [{"id": "names/a\nb", "claim": "c", "status": "held"}]},
    "an id twice": {"outcomes": [{"id": "names/a", "claim": "c", "status": "held"}] * 2},
    "a status of its own": {"outcomes": [{"id": "names/a", "claim": "c", "status": "fine"}]},
    "control characters": {"outcomes": [{"id": "names/a", "claim": "\x1b[31m", "status": "held"}]},
    "a large answer": {"outcomes": [{"id": "names/a", "claim": "c", "status": "held", "seen": "x" * 9000}]},
    "a deep answer": {"outcomes": [{"id": "names/a", "claim": "c", "status": "held", "seen": _deep()}]},
    "too many": {"outcomes": [{"id": f"names/{i}", "claim": "c", "status": "held"} for i in range(50_001)]},
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_result_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    try:
        path.write_text(json.dumps({**json.loads(render_json(RESULT)), **BAD[name]}))
    except RecursionError:
        path.write_text("[" * 100_000)
    with pytest.raises(NpuifyError, match="no result of npuify selftest"):
        read_result(path)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 200_000])
def test_what_is_no_json_is_refused(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(raw)
    with pytest.raises(NpuifyError):
        read_result(path)
