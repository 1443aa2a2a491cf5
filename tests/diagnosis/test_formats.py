"""Diagnoses as JSON that keeps to its schema, and as a page on which a hostile log does nothing."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import jsonschema
import pytest

from npuify.diagnosis.page import render_html
from npuify.diagnosis.text import json_schema, render_json, render_text

from .samples import diagnosed, samples

TEXTS = [
    "all is well\n",
    "nothing here is known: FATAL strange\n",
    *(row["lines"] for row in samples("held_out")[::6]),
    """[rank0]: EI0002: The wait execution of the Notify register times out. remote rank:[1]
[rank1]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB
""",
]


@pytest.mark.parametrize("text", TEXTS)
def test_json_keeps_to_its_schema(text: str) -> None:
    schema = json.loads(json_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(render_json(diagnosed(text)))
    jsonschema.validate(document, schema)
    document["confidence"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(page: str) -> _Tags:
    found = _Tags()
    found.feed(page)
    return found


HOSTILE = """\
Traceback (most recent call last):
  File "<script>alert(1)</script>/train.py", line 7, in <img src=x onerror=alert(2)>
RuntimeError: NPU out of memory. Tried to allocate </pre><script src="http://evil.example/x.js"></script> \u202etxt\x1b[31m
(Worker_TP1 pid=4"><svg onload=alert(3)>) ERROR nothing
[ERROR] OP <iframe src="javascript:alert(4)"></iframe> Op Cast"><b> does not has any binary
"""


def test_a_hostile_log_puts_nothing_into_the_page() -> None:
    page = render_html(diagnosed(HOSTILE))
    plain = _read(render_html(diagnosed("RuntimeError: NPU out of memory. Tried to allocate 1.00 GiB\n")))
    found = _read(page)
    assert found.tags - plain.tags <= {"th", "td", "tr", "table", "h2"}
    assert found.attributes == plain.attributes
    assert "<script src=" in found.text, "it is shown as the text that it is"
    assert "\u202e" not in page and "\x1b" not in page
    assert "Content-Security-Policy" in page and "default-src 'none'" in page


@pytest.mark.parametrize("text", TEXTS)
def test_the_page_says_what_the_text_says(text: str) -> None:
    diagnosis = diagnosed(text)
    shown = " ".join(_read(render_html(diagnosis)).text.split())
    told = render_text(diagnosis)
    for line in (
        diagnosis.title,
        diagnosis.why,
        diagnosis.fix,
        diagnosis.question,
        *diagnosis.commands,
        *diagnosis.notes,
    ):
        if line and line in told:
            assert " ".join(line.split()) in shown
    for story in diagnosis.ranks:
        assert f"{story.rank}{story.said}" in shown.replace(" ", "") or story.said in shown
