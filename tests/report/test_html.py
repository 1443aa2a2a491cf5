"""The HTML report: what a hostile project can do to it, and that it shows what it should."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import npuify
from npuify.html.escape import embedded, escaped
from npuify.model import (
    Change,
    Edit,
    EntryPoint,
    Evidence,
    FileError,
    Finding,
    Framework,
    Mention,
    MigrationResult,
    Position,
    Release,
    Safety,
    ScanResult,
    Severity,
    Survey,
)
from npuify.options import Options
from npuify.report import render_migration, render_scan, report_files
from npuify.report.html.charts import Bar, proportions, ranges, stacked
from npuify.report.html.diffs import block_at, narrowed, parse, patched
from npuify.visible import visible

replace = msgspec.structs.replace

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</style></title><svg onload=alert(1)>",
    "<!--<script>",
    '"\' onmouseover=\'alert(1)" x="',
    "javascript:alert(1)",
    "&lt;b&gt; &amp; &#60;",
    "{{7*7}} ${alert(1)} `<i>` `<i>",
    "\x00\x07\x1b[31m\x7f\x9b",
    "\u202etxt.exe\u2066 \u200b\ufeff \u2028\u2029",
    "\udce9\udcff\ud800",
    "x" * 20_000,
    "a/" * 3_000,
    "",
    "\r\n]]>\t",
)


class Page(HTMLParser):
    """What a browser would see of a page: elements, attributes, texts by element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._inside, []).append(data)

    def data(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.texts["script"][0])
        return loaded


def hostile_result(word: str) -> MigrationResult:
    """A migration of which every text that can come from a project, or from a rule, is ``word``."""
    finding = Finding(
        code="NPU101",
        name=word,
        severity=Severity.ERROR,
        safety=Safety.MANUAL,
        file=word,
        start=Position(1, 1),
        end=Position(1, 2),
        message=word,
        evidence=Evidence.ASSUMED,
        source=word,
        subject=word,
        advice=word,
    )
    survey = Survey(
        (EntryPoint(word, (Mention("launcher", word, 1, word),)),),
        (Framework(word, 1, word, word, word, True),),
        (word,),
    )
    release = Release(word, word, word, word)
    scan = ScanResult(
        "/nowhere/" + word.replace("\0", ""), release, (finding,), (FileError(word, word, 1, word),), 1, 1, 1
    )
    change = Change(word, "NPU101", word, Position(1, 1), Position(1, 2), word, word, word)
    flat = word.replace("\n", " ")
    diff = f"--- a/{flat}\n+++ b/{flat}\n@@ -1 +1 @@\n-{flat}\n+{flat}{flat}\n"
    return MigrationResult(replace(scan, survey=survey), (change,), (finding,), (word,), word, diff)


# --- a hostile project -----------------------------------------------------------------------------------------------


def assert_harmless(text: str, plain: Page) -> None:
    """``text`` has the elements and attribute names of a page of the same shape made of harmless words."""
    page = Page(text)
    assert page.tags == plain.tags
    assert [(tag, name) for tag, name, _ in page.attributes] == [(tag, name) for tag, name, _ in plain.attributes]
    page.data()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028\u2029]", text)
    text.encode("utf-8")


@pytest.mark.parametrize("word", HOSTILE)
def test_no_text_of_a_project_becomes_markup(word: str) -> None:
    result = hostile_result(word)
    plain = hostile_result("`w` `w" if word.count("`") else "word" if word.strip() else word)
    for render, one, other in (
        (render_migration, result, plain),
        (render_scan, result.scan, plain.scan),
    ):
        assert_harmless(render(one, "html"), Page(render(other, "html")))  # type: ignore[operator]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters() | st.sampled_from("<>&\"'`/\\!-]\u202e\0"), min_size=1, max_size=40))
def test_any_text_can_be_embedded_and_escaped(word: str) -> None:
    block = embedded({word: 1, "x": [word]})
    assert not set("<>&") & set(block) and block.isascii()
    assert json.loads(block)["x"] == [visible(word)]
    page = Page(f'<p title="{escaped(word)}">{escaped(word)}</p>')
    assert page.tags == ["p"] and page.attributes == [("p", "title", visible(word))]
    assert "".join(page.texts.get("p", [])) == visible(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, 训练 é", "plain text, 训练 é"),
        ("a\x00b\x1b", "a⟨U+0000⟩b⟨U+001B⟩"),
        ("\u202egnp.py", "⟨U+202E⟩gnp.py"),
        ("tab\tand\r\nline\n", "tab\tand\nline\n"),
        ("lone\rreturn", "lone⟨U+000D⟩return"),
        ("caf\udce9", "caf\\udce9"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_huge_names_are_shortened_where_they_would_fill_the_page() -> None:
    result = hostile_result("x" * 20_000)
    page = Page(render_migration(result, "html"))
    assert max(map(len, page.texts["bdi"])) < 130
    assert max(map(len, page.texts["code"])) < 300
    assert max(len(value) for _, name, value in page.attributes if name == "title") < 400


# --- a page that is alone --------------------------------------------------------------------------------------------


def test_the_page_loads_nothing_and_runs_only_its_own_script(migration_result: MigrationResult) -> None:
    text = render_migration(migration_result, "html")
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "a"} & set(page.tags)
    names = {name for _, name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} and not {"src", "href", "style", "action"} & names
    assert "http:" not in text and "https:" not in text and "url(" not in text and "@import" not in text
    policy = next(value for tag, name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        content = page.texts[element][-1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_the_script_never_makes_markup_of_text() -> None:
    import npuify.report.html as package

    script = (Path(package.__file__).parent / "script.js").read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval",
        "Function(",
        "setAttribute",
        "fetch",
    ):
        assert word not in script


# --- what it shows ---------------------------------------------------------------------------------------------------


def test_a_scan_shows_verdict_release_findings_and_code(scan_result: ScanResult) -> None:
    text = render_scan(scan_result, "html")
    page = Page(text)
    assert page.texts["h1"] == ["Needs review"]
    assert {"2.7.1", "8.3.RC1"} <= set(page.texts["dd"])
    rows = page.data()["rows"]
    assert [row["status"] for row in rows] == ["review", "review", "migrated"]
    assert rows[2]["lines"] == [["-", 3, "x = torch.cuda.Event()"], ["+", 3, "x = torch.npu.Event()"]]
    assert rows[2]["evidence"] == "package"
    assert "broken.py:4" in page.texts["bdi"]
    assert text.count('class="chart"') == 3


def test_code_of_a_file_that_has_changed_is_not_shown_as_an_edit(scan_result: ScanResult) -> None:
    (Path(scan_result.root) / "train.py").write_text("a = 1\nb = 2\nc = 3\nd = 4\n")
    rows = Page(render_scan(scan_result, "html")).data()["rows"]
    assert rows[2]["lines"] == [[" ", 2, "b = 2"], [" ", 3, "c = 3"], [" ", 4, "d = 4"]]


def test_nothing_found(clean_result: ScanResult) -> None:
    page = Page(render_scan(clean_result, "html"))
    assert page.texts["h1"] == ["Nothing to migrate"]
    assert page.data()["rows"] == []


def test_a_real_migration_shows_every_change_with_its_lines(tmp_path: Path) -> None:
    source = tmp_path / "project"
    source.mkdir()
    code = "import torch\n\n\nx = torch.cuda.Event()\n\n\n\n\n\n\n\ny = torch.cuda.nccl.version()\n"
    (source / "a.py").write_bytes(code.replace("\n", "\r\n").encode())
    result = npuify.migrate(source, tmp_path / "out", Options(cache=False, jobs=1))
    text = (tmp_path / "out/npuify-report/report.html").read_text(encoding="utf-8")
    assert text == report_files(result)["npuify-report/report.html"].decode()
    data = Page(text).data()
    by_code = {row["code"]: row for row in data["rows"]}
    assert by_code["NPU101"]["lines"] == [["-", 4, "x = torch.cuda.Event()"], ["+", 5, "x = torch.npu.Event()"]]
    left = by_code["NPU134"]
    assert (left["status"], left["line"]) == ("review", 13)
    assert left["lines"][1] == [" ", 13, "y = torch.cuda.nccl.version()"]
    (changed,) = data["diffs"]
    assert (changed["file"], changed["added"], changed["removed"]) == ("a.py", 2, 1)


# --- diffs and charts ------------------------------------------------------------------------------------------------

DIFF = (
    "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n a\n+new\n b\n--- a/trap\n+++ b/trap\n"
    "--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+now\n"
)


def test_content_that_looks_like_a_header_stays_content() -> None:
    files = parse(DIFF)
    assert list(files) == ["x.py", "y.py"]
    (hunk,) = files["x.py"]
    assert [(line.kind, line.old, line.new, line.text) for line in hunk] == [
        (" ", 1, 1, "a"),
        ("+", 0, 2, "new"),
        (" ", 2, 3, "b"),
        ("-", 3, 0, "-- a/trap"),
        ("+", 0, 4, "++ b/trap"),
    ]
    assert [line.text for line in block_at(files["x.py"], 3)] == ["-- a/trap", "++ b/trap"]
    assert [line.text for line in block_at(files["x.py"], 2)] == ["new"]
    assert block_at(files["x.py"], 9) == []


def test_a_diff_is_applied_only_to_the_file_that_it_was_made_for() -> None:
    hunks = parse(DIFF)["x.py"]
    assert patched(["a", "b", "-- a/trap", "rest"], hunks) == ["a", "new", "b", "++ b/trap", "rest"]
    assert patched(["a", "other", "-- a/trap"], hunks) is None


def test_of_a_very_long_line_the_part_that_differs_is_shown() -> None:
    long = "x" * 100_000
    before, after = (f"{long}{word}{long}" for word in ("cuda", "npu"))
    texts = narrowed([(" ", long), ("-", before), ("+", "import torch_npu"), ("+", after)], 300)
    assert texts[2] == "import torch_npu"
    assert "cuda" in texts[1] and "npu" in texts[3]
    assert all(len(text) <= 302 for text in texts)
    (around,) = narrowed([(" ", before)], 300, column=100_000)
    assert "cuda" in around and around.startswith("…") and around.endswith("…")
    assert narrowed([("+", long)], 300) == [long[:300] + "…"]


def test_charts_without_numbers_and_with_large_ones() -> None:
    assert stacked([], ("migrated",), "t", "area").startswith("<ul")
    assert proportions({"migrated": 0}, "t") == ""
    assert ranges((), "t").startswith("<ul")
    chart = stacked([Bar("a", {"manual": 1_000_000}), Bar("b", {"note": 1})], ("manual", "note"), "t", "area")
    widths = [float(width) for width in re.findall(r'class="s-\w+" x="[\d.]+" width="([\d.]+)"', chart)]
    assert len(widths) == 2 and widths[0] > 900 and 0 < widths[1] < 10
    full = stacked([Bar("a", dict.fromkeys("abcd", 1))], "abcd", "t", "area")
    ends = [float(x) + float(width) for x, width in re.findall(r'x="([\d.]+)" width="([\d.]+)"', full)]
    assert max(ends) <= 1000


def test_an_edit_is_shown_with_all_lines_that_it_touches(scan_result: ScanResult) -> None:
    path = Path(scan_result.root) / "train.py"
    path.write_bytes(b"f(\n  cuda,\n)\ng(cuda)\n")
    edits = (Edit(5, 9, "cuda", "npu,\n  more"), Edit(15, 19, "cuda", "npu"))
    finding = replace(scan_result.findings[2], edits=edits)
    (row,) = Page(render_scan(replace(scan_result, findings=(finding,)), "html")).data()["rows"]
    assert row["lines"] == [
        ["-", 2, "  cuda,"],
        ["+", 2, "  npu,"],
        ["+", 3, "  more,"],
        ["-", 4, "g(cuda)"],
        ["+", 4, "g(npu)"],
    ]
