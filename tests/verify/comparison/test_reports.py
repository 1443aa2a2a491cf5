"""A comparison as text, JSON and HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import jsonschema
import pytest

from npuify.verify.comparison import refusals
from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.render import render, schema
from npuify.verify.comparison.result import TITLES, Kind

from .test_refusals import changed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.mark.parametrize("fault", ["attention scale", "half overflow", "LR off by two", "again"])
def test_json_keeps_to_its_schema(captures: Mapping[str, Path], fault: str) -> None:
    result = compare(captures["gpt: "], captures[f"gpt: {fault}"], allow=["same-device"])
    document = json.loads(render(result, "json"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    jsonschema.validate(document, json.loads(schema()))
    assert document["command"] == "verify compare"
    assert document["comparison"]["agrees"] is (fault == "again")


def test_text_names_the_module_first(captures: Mapping[str, Path]) -> None:
    text = render(compare(captures["gpt: "], captures["gpt: attention scale"], allow=["same-device"]), "text")
    assert text.splitlines()[0].startswith("differ: GPT.blocks.0.attention")
    assert "gpt.py:" in text
    assert "after qkv and before out" in text


def test_the_page_shows_a_curve_and_escapes_what_captures_say(captures: Mapping[str, Path], tmp_path: Path) -> None:
    def hostile(record: dict[str, Any]) -> dict[str, Any]:
        if "name" in record:
            record["name"] = record["name"].replace("attention", HOSTILE)
        if "place" in record:
            record["place"] = HOSTILE
        return record

    a = changed(captures["gpt: "], tmp_path / "a", hostile, "one")
    b = changed(captures["gpt: attention scale"], tmp_path / "b", hostile, "two")
    html = render(compare(a, b, allow=["same-device"]), "html")
    assert "<script" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<svg") == 2
    assert 'class="hit"' in html
    assert html.count('<line class="first"') == 1, "the place of the first difference"
    assert "step 2" in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    assert "default-src 'none'" in html


def test_the_page_of_the_documentation_names_everything_that_can_be_said() -> None:
    text = (Path(__file__).parents[3] / "docs" / "verify-compare.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([a-z0-9-]+)`", text))
    assert set(TITLES) == set(get_args(Kind))
    assert set(TITLES) <= told
    source = Path(refusals.__file__).read_text(encoding="utf-8")
    names = set(re.findall(r'Refused\(\s*"([a-z-]+)"', source))
    assert len(names) >= 7
    assert names <= told
    assert set(refusals.ALLOWABLE) <= names
