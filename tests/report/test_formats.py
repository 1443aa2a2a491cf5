from __future__ import annotations

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jsonschema
import msgspec
import pytest

from npuify.model import (
    Change,
    Edit,
    EntryPoint,
    FileError,
    Finding,
    Framework,
    Mention,
    MigrationResult,
    NpuifyError,
    Position,
    Safety,
    ScanResult,
    Severity,
    Survey,
)
from npuify.report import FORMATS, json_schema, pieces, render_migration, render_scan, report_files
from npuify.report.summary import nothing_left, summarise

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.core

replace = msgspec.structs.replace


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def both(scan: ScanResult, migration: MigrationResult, format: str) -> list[str]:
    return [render_scan(scan, format), render_migration(migration, format)]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_stable_and_ends_in_a_line_end(
    scan_result: ScanResult, migration_result: MigrationResult, clean_result: ScanResult, format: str
) -> None:
    for render in (
        lambda: render_scan(scan_result, format),
        lambda: render_scan(clean_result, format),
        lambda: render_migration(migration_result, format),
    ):
        text = render()
        assert text.endswith("\n") and not text.endswith("\n\n")
        assert text == render()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_can_be_written_as_utf8_whatever_a_file_is_called(
    scan_result: ScanResult, migration_result: MigrationResult, format: str
) -> None:
    name = os.fsdecode(b"caf\xe9.py") if os.name != "nt" else "caf\udce9.py"
    odd = replace(scan_result.findings[0], file=name, message="\udce9", edits=(Edit(0, 1, "\udce9", "\x00"),))
    scan = replace(scan_result, findings=(odd,), errors=(FileError(name, "\udc80"),))
    change = Change(name, "NPU101", "x", Position(1, 1), Position(1, 2), "\udce9", "\udc80", "\udce9")
    migration = replace(
        migration_result, scan=scan, left=(odd,), changes=(change,), changed_files=(name,), diff="\udce9"
    )
    for text in both(scan, migration, format):
        text.encode("utf-8")


@pytest.mark.parametrize("format", ["json", "jsonl", "sarif"])
def test_many_findings_come_in_pieces_that_are_the_whole(
    scan_result: ScanResult, migration_result: MigrationResult, format: str
) -> None:
    many = tuple(replace(scan_result.findings[0], subject=f"s{number}\n\x7f☃") for number in range(600))
    scan = replace(scan_result, findings=many, tensorflow="TensorFlow 2.6.5")
    changes = migration_result.changes * 300
    for result in (scan, replace(migration_result, scan=scan, left=many, changes=changes)):
        found = list(pieces(result, format))
        assert len(found) >= 3 and max(map(len, found)) < sum(map(len, found)) / 2
        text = b"".join(found).decode()
        assert text == (render_scan if isinstance(result, ScanResult) else render_migration)(result, format)
        if format == "jsonl":
            lines = [json.loads(line) for line in text.splitlines()]
            assert sum(line["type"] == "finding" for line in lines) == 600
            continue
        whole = json.loads(text)
        assert text == json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        shown = whole["findings"] if format == "json" else whole["runs"][0]["results"]
        subjects = [one["subject"] if format == "json" else one["properties"]["subject"] for one in shown]
        assert subjects == [one.subject for one in many]
        if format == "json":
            assert whole["tensorflow"] == "TensorFlow 2.6.5"


def test_an_unknown_format(scan_result: ScanResult) -> None:
    with pytest.raises(NpuifyError, match=r"'xml'.*\n.*formats: text"):
        render_scan(scan_result, "xml")


# --- text ------------------------------------------------------------------------------------------------------------


def test_text_of_a_scan(scan_result: ScanResult) -> None:
    assert render_scan(scan_result) == (
        "pkg/gate, 100%.py:7:1 NPU131 warning the gate now chooses: `False`, <always> | *maybe* [assumed]\n    look "
        "at [it]\ntrain.py:1:1 NPU140 info has no effect [edit to review]\ntrain.py:3:5 NPU101 error "
        "torch.cuda.Event is torch.npu.Event on the NPU [safe edit]\nbroken.py:4 not treated: cannot be parsed: "
        "invalid syntax\n    mend it\n\nFound 3 places in 2 of 12 files: 1 error, 1 warning, 1 note.\n  NPU101  "
        "cuda-name                1  error     safe edit\n  NPU131  device-property          1  warning   to review\n "
        " NPU140  cuda-backend-switch      1  info      to review\n1 can be edited safely (npuify migrate); 2 need "
        "review.\nFor those that need review, an edit is offered (--unsafe).\nNot processed properly: 1 file (see "
        "above).\nTarget: torch_npu 2.7.1 (torch 2.7.1, CANN 8.3.RC1): requirements.txt line 3 pins "
        "torch==2.7.1.\nVerdict: needs review. 2 places to review and 1 file that could not be processed; none is "
        "known to stop the program.\n  To review: 2 places in 2 files (NPU131, NPU140): pkg/gate, 100%.py:7, "
        "train.py:1\n  Estimate 10 hours (4 to 25) for one person: a judgment, not a measurement; the sum of:\n    "
        "Environment: 1.0 to 6.0 h (a matching set of driver, CANN, torch and torch_npu)\n    First run on one "
        "card: 1.0 to 6.0 h (start it, fix what only a run shows)\n    Acceptance: 2.0 to 12.0 h (compare losses "
        "and results with the GPU's)\n    Try each entry point: 0.1 to 0.5 h (1 entry point, 5 to 30 minutes "
        "each)\n    Review the edits: 0.0 to 0.1 h (1 edited place, 2 minutes per rule)\n    Devices and names: 0.3 "
        "to 1.2 h (what needs manual work in this area)\n    Files not processed: 0.1 to 0.5 h (1 file, 5 to 30 "
        "minutes each)\n"
    )


def test_a_code_says_how_many_of_its_places_are_whose(scan_result: ScanResult, finding: Finding) -> None:
    missing = replace(finding, safety=Safety.MANUAL, edits=())
    result = replace(scan_result, findings=(finding, finding, missing))
    assert "  NPU101  cuda-name      3  errors    2 safe edits, 1 by hand\n" in render_scan(result)
    assert "| NPU101 | cuda-name | 3 | error | 2 safe edits, 1 by hand |" in render_scan(result, "markdown")
    assert "3  错误      2 处可安全修改、1 处需手工处理\n" in render_scan(replace(result, language="zh"))


def test_text_of_a_scan_that_found_nothing(clean_result: ScanResult) -> None:
    first, _, verdict, _ = render_scan(clean_result).splitlines()
    assert first == "Found nothing to do in 12 files."
    assert verdict.startswith("Verdict: nothing to migrate. ")


def test_text_of_a_migration(migration_result: MigrationResult, tmp_path: Path) -> None:
    text = render_migration(migration_result)
    assert "out/pkg/gate, 100%.py:7:1 NPU131 warning" in text
    assert "Changed 1 of 12 files, 2 edits (1 of them an added import):\n  train.py  2 edits\n" in text
    assert "Left to do: 2 places in 2 files: 1 warning, 1 note.\n" in text
    assert f"Written to {tmp_path / 'out'}; the full report is in npuify-report/.\n" in text
    assert "Nothing was run" in text
    done = replace(migration_result, left=(), scan=replace(migration_result.scan, errors=()))
    assert "Left to do: nothing that npuify knows of.\n" in render_migration(done)


def test_text_of_a_migration_that_wrote_nothing(migration_result: MigrationResult) -> None:
    text = render_migration(replace(migration_result, destination=""))
    assert "Would change 1 of 12" in text
    assert "Their lines are those of the migrated files." in text
    assert "Written to" not in text


def test_text_of_a_migration_in_place(migration_result: MigrationResult) -> None:
    text = render_migration(replace(migration_result, destination=migration_result.scan.root))
    assert "Changed 1 of 12" in text
    assert "Written to" not in text


def test_paths_lead_from_the_working_folder_to_the_file(
    scan_result: ScanResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    inner = replace(scan_result, root=str(tmp_path / "a" / "b"))
    assert "\na/b/train.py:3:5 NPU101" in render_scan(inner)
    assert (
        f"\n{tmp_path.as_posix()}/train.py:3:5 NPU101"
        in (
            monkeypatch.chdir(tmp_path / "elsewhere"),  # type: ignore[func-returns-value]
            render_scan(scan_result),
        )[1]
    )
    monkeypatch.chdir(tmp_path)
    assert "\ntrain.py:3:5 NPU101" in render_scan(replace(scan_result, root="."))


# --- JSON ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json_schema())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def test_json_fits_the_schema(
    schema: dict[str, Any], scan_result: ScanResult, clean_result: ScanResult, migration_result: MigrationResult
) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    for text in (*both(scan_result, migration_result, "json"), render_scan(clean_result, "json")):
        validator.validate(json.loads(text))


def test_json_lines_fit_the_schema(
    schema: dict[str, Any], scan_result: ScanResult, migration_result: MigrationResult
) -> None:
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/Line", "$defs": schema["$defs"]})
    for text in both(scan_result, migration_result, "jsonl"):
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            validator.validate(line)
        assert lines[0]["type"] == "header" and lines[-1]["type"] == "summary"
    kinds = [line["type"] for line in lines]
    assert kinds == ["header", "change", "change", "finding", "finding", "error", "summary"]


@pytest.mark.parametrize(
    "breakage",
    [
        lambda document: document.pop("version"),
        lambda document: document.update(version=2),
        lambda document: document.update(command="dance"),
        lambda document: document.pop("findings"),
        lambda document: document["findings"][0].pop("line"),
        lambda document: document["findings"][0].update(line=0),
        lambda document: document["findings"][0].update(severity="fatal"),
        lambda document: document["findings"][0].update(code="X1"),
        lambda document: document["findings"][2]["edits"][0].update(start=-1),
        lambda document: document["release"].pop("torch_npu"),
    ],
)
def test_the_schema_refuses_what_is_wrong(schema: dict[str, Any], scan_result: ScanResult, breakage: Any) -> None:
    document = json.loads(render_scan(scan_result, "json"))
    breakage(document)
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


def test_json_of_a_scan(scan_result: ScanResult, finding: Finding) -> None:
    document = json.loads(render_scan(scan_result, "json"))
    assert document["version"] == 1
    assert document["findings"][2] == {
        "code": "NPU101",
        "name": "cuda-name",
        "severity": "error",
        "safety": "safe",
        "file": "train.py",
        "line": 3,
        "column": 5,
        "end_line": 3,
        "end_column": 21,
        "message": "torch.cuda.Event is torch.npu.Event on the NPU",
        "evidence": "package",
        "source": "torch-npu 2.7.1, its wheel",
        "subject": "torch.cuda.Event",
        "advice": "",
        "edits": [{"start": finding.edits[0].start, "end": finding.edits[0].end, "before": "cuda", "after": "npu"}],
        "also": [],
    }
    assert document["errors"] == [
        {"file": "broken.py", "line": 4, "message": "cannot be parsed: invalid syntax", "advice": "mend it"}
    ]
    assert document["summary"]["by_severity"] == {"error": 1, "warning": 1, "info": 1}
    assert document["summary"]["remaining"] == 2
    assert document["release"]["reason"] == "requirements.txt line 3 pins torch==2.7.1"


def test_json_of_a_migration(migration_result: MigrationResult) -> None:
    document = json.loads(render_migration(migration_result, "json"))
    assert [change["code"] for change in document["changes"]] == ["NPU101", "NPU100"]
    assert document["changed_files"] == ["train.py"]
    assert len(document["findings"]) == document["summary"]["findings"] == 2
    assert document["summary_before"]["findings"] == 3


# --- addresses of the documentation ----------------------------------------------------------------------------------


def test_reports_link_to_a_site_that_is_named(scan_result: ScanResult, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "https://docs.example.org/n/reference/rules/npu1xx.html#npu101"
    for form in ("sarif", "markdown", "html"):
        assert place not in render_scan(scan_result, form)
    monkeypatch.setenv("NPUIFY_DOCS_URL", "https://docs.example.org/n/")
    for form in ("sarif", "markdown", "html"):
        assert place in render_scan(scan_result, form)


@pytest.mark.parametrize("root", ["javascript:alert(1)", "docs", "https:"])
def test_what_is_no_site_is_refused(root: str, scan_result: ScanResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUIFY_DOCS_URL", root)
    with pytest.raises(NpuifyError, match="no address of a site"):
        render_scan(scan_result, "sarif")


# --- SARIF -----------------------------------------------------------------------------------------------------------


def test_sarif_of_a_scan(scan_result: ScanResult, tmp_path: Path) -> None:
    log = json.loads(render_scan(scan_result, "sarif"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["NPU101", "NPU131", "NPU140"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "SRCROOT"
        assert min(place["region"].values()) >= 1
    gate, note, event = run["results"]
    assert gate["level"] == "warning" and note["level"] == "note" and event["level"] == "error"
    uri = gate["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert " " not in uri and unquote(uri) == "pkg/gate, 100%.py"
    (fix,) = event["fixes"]
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 3, "startColumn": 11, "endLine": 3, "endColumn": 15},
        "insertedContent": {"text": "npu"},
    }
    assert len(note["fixes"][0]["artifactChanges"][0]["replacements"]) == 2
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == 3


def test_sarif_offers_no_fix_for_a_file_that_changed(scan_result: ScanResult, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("something else\n")
    (run,) = json.loads(render_scan(scan_result, "sarif"))["runs"]
    assert not any("fixes" in result for result in run["results"])
    (tmp_path / "train.py").unlink()
    (run,) = json.loads(render_scan(scan_result, "sarif"))["runs"]
    assert not any("fixes" in result for result in run["results"])


def test_sarif_columns_count_characters(scan_result: ScanResult, finding: Finding, tmp_path: Path) -> None:
    text = 'n = "中文"; torch.cuda.Event()\n'
    start = len(text[: text.index("cuda")].encode())
    (tmp_path / "train.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    moved = replace(finding, edits=(Edit(start, start + 4, "cuda", "npu"),))
    (run,) = json.loads(render_scan(replace(scan_result, findings=(moved,)), "sarif"))["runs"]
    region = run["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0]["deletedRegion"]
    assert region["startColumn"] == text.index("cuda") + 1


# --- GitHub ----------------------------------------------------------------------------------------------------------


def test_github_commands(scan_result: ScanResult) -> None:
    assert render_scan(scan_result, "github").splitlines() == [
        (
            "::warning file=pkg/gate%2C 100%25.py,line=7,endLine=8,title=NPU131 device-property"
            "::the gate%0Anow chooses: `False`, <always> | *maybe*%0Alook at [it]"
        ),
        "::notice file=train.py,line=1,endLine=1,col=1,endColumn=7,title=NPU140 cuda-backend-switch::has no effect",
        (
            "::error file=train.py,line=3,endLine=3,col=5,endColumn=21,title=NPU101 cuda-name"
            "::torch.cuda.Event is torch.npu.Event on the NPU"
        ),
        "::error file=broken.py,line=4,title=npuify::cannot be parsed: invalid syntax%0Amend it",
        "npuify: 3 findings (1 error, 1 warning, 1 note)",
    ]


def test_a_message_cannot_smuggle_in_a_command(scan_result: ScanResult) -> None:
    evil = replace(scan_result.findings[0], message="x\r\n::error::y", file="a\n::set-output name=x::y,b:c.py")
    text = render_scan(replace(scan_result, findings=(evil,), errors=()), "github")
    assert len(text.splitlines()) == 2
    assert text.startswith("::warning file=a%0A%3A%3Aset-output name=x%3A%3Ay%2Cb%3Ac.py,")


# --- Markdown and the report files -----------------------------------------------------------------------------------


def test_report_lists_everything_left_as_a_checklist_by_file(migration_result: MigrationResult) -> None:
    page = render_migration(migration_result, "markdown")
    boxes = [line for line in page.splitlines() if line.startswith("- [ ] ")]
    assert len(boxes) == len(migration_result.left) + len(migration_result.scan.errors)
    assert page.index("### `pkg/gate, 100%.py`") < page.index("### `train.py`")
    assert (
        "- [ ] line 7: **warning** NPU131 `device-property`: the gate now chooses: `False`, "
        "\\<always\\> \\| \\*maybe\\* *(assumed, not confirmed)*\n  - What to do: look at \\[it\\]\n"
    ) in page
    assert "| NPU101 | cuda-name | 1 | 1 | torch.cuda.Event is torch.npu.Event on the NPU |" in page
    assert "**torch_npu 2.7.1**, with torch 2.7.1 and CANN 8.3.RC1." in page
    assert "Why: requirements.txt line 3 pins torch==2.7.1." in page
    assert "Nothing was run" in page


def test_markdown_of_a_scan(scan_result: ScanResult) -> None:
    page = render_scan(scan_result, "markdown")
    assert page.count("- [ ] ") == 3
    todo, _, by_itself = page.partition("## What npuify changes automatically")
    assert "NPU131" in todo
    assert "- line 3: NPU101 `cuda-name`: torch.cuda.Event is torch.npu.Event on the NPU: `cuda` → `npu`" in by_itself


def test_what_breaks_nothing_is_not_to_be_ticked_off(scan_result: ScanResult) -> None:
    note = replace(scan_result.findings[1], edits=(), safety=Safety.MANUAL)
    page = render_scan(replace(scan_result, findings=(note,), errors=()), "markdown")
    assert "- [ ] " not in page
    assert "No work was found." in page.partition("## Worth knowing")[0]
    assert "- line 1: NPU140" in page.partition("## Worth knowing")[2]


def test_places_of_one_file_that_need_nothing_are_told_together(scan_result: ScanResult) -> None:
    note = replace(scan_result.findings[1], edits=(), safety=Safety.MANUAL, advice="leave it")
    notes = tuple(replace(note, start=Position(line, 1)) for line in (4, 9, 9))
    page = render_scan(replace(scan_result, findings=notes, errors=()), "markdown")
    assert "- lines 4, 9: NPU140 `cuda-backend-switch`: has no effect\n  - What to do: leave it\n" in page


MARKUP = (
    "a | b",
    "`a|b` and ``",
    "```<b>`",
    "``<script>alert(1)</script>``",
    "x `<i>` y `a\\|b` <u> &lt; &#x202e; $x$",
    "a\\|b",
    "a\\",
    "`",
    "``",
    "[l](javascript:alert(1)) ![i](x) <http://x> https://x/",
    "# - [ ] 1. > ~~x~~ ***",
)


@pytest.mark.parametrize("word", MARKUP)
def test_markdown_shows_the_text_of_a_project_as_it_is(scan_result: ScanResult, word: str) -> None:
    from markdown_it import MarkdownIt

    finding = replace(scan_result.findings[0], file=word, message=word, advice=word, name=word, subject=word)
    survey = Survey(
        (EntryPoint(word, (Mention("launcher", word, 1, word),)),), (Framework(word, 1, "a.py:1", word, word),)
    )
    result = replace(
        scan_result, root=word, findings=(finding,), errors=(FileError(word, word, 1, word),), survey=survey
    )
    plain = replace(
        scan_result,
        root="w",
        findings=(replace(finding, file="w", message="w", advice="w", name="w", subject="w"),),
        errors=(FileError("w", "w", 1, "w"),),
        survey=Survey(
            (EntryPoint("w", (Mention("launcher", "w", 1, "w"),)),), (Framework("w", 1, "a.py:1", "w", "w"),)
        ),
    )
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    inline = ("code_inline", "text", "text_special", "strong_open", "strong_close", "em_open", "em_close", "softbreak")
    shapes = []
    for one in (result, plain):
        tokens = markdown.parse(render_scan(one, "markdown"))
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert kinds <= set(inline)
        shapes.append([token.type for token in tokens])
    assert shapes[0] == shapes[1]
    for kind in ("file", "message"):
        shown = word.replace("`", "") if kind == "message" else word
        texts = [
            "".join(child.content for child in token.children or ())
            for token in markdown.parse(render_scan(result, "markdown"))
        ]
        assert any(shown in text.replace("`", "") if kind == "message" else shown in text for text in texts)


def test_the_project_has_a_name_where_it_is_the_working_folder(scan_result: ScanResult, tmp_path: Path) -> None:
    assert f"| Project | `{tmp_path.name}` |" in render_scan(replace(scan_result, root="."), "markdown")


def test_markdown_of_nothing(clean_result: ScanResult) -> None:
    assert "No work was found." in render_scan(clean_result, "markdown")


def test_report_files(migration_result: MigrationResult) -> None:
    files = report_files(migration_result)
    assert sorted(files) == [
        "npuify-report/changes.csv",
        "npuify-report/findings.json",
        "npuify-report/report.html",
        "npuify-report/report.md",
    ]
    assert json.loads(files["npuify-report/findings.json"])["command"] == "migrate"
    rows = list(csv.DictReader(io.StringIO(files["npuify-report/changes.csv"].decode(), newline="")))
    assert rows == [
        {"file": "train.py", "start_line": "3", "end_line": "3", "code": "NPU101", "before": "cuda", "after": "npu"},
        {
            "file": "train.py",
            "start_line": "2",
            "end_line": "2",
            "code": "NPU100",
            "before": "",
            "after": "import torch_npu\n",
        },
    ]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "  @x", "＝1", "=cmd|' /C calc'!A0", "|x", "%x"],
)
def test_no_cell_is_a_formula(migration_result: MigrationResult, text: str) -> None:
    change = replace(migration_result.changes[0], file=text, before=text, after=text)
    content = report_files(replace(migration_result, changes=(change,)))["npuify-report/changes.csv"].decode()
    (row,) = csv.DictReader(io.StringIO(content, newline=""))
    assert row["file"] == row["before"] == row["after"] == "'" + text


# --- counts ----------------------------------------------------------------------------------------------------------


def test_what_counts_as_left(scan_result: ScanResult, clean_result: ScanResult, finding: Finding) -> None:
    gate, note, error = scan_result.findings
    assert nothing_left(clean_result)
    assert nothing_left(replace(clean_result, findings=(note,)))
    assert not nothing_left(replace(clean_result, findings=(gate,)))
    assert not nothing_left(replace(clean_result, findings=(error,)))
    assert not nothing_left(replace(clean_result, errors=scan_result.errors))


def test_the_worst_of_a_code_counts(scan_result: ScanResult, finding: Finding) -> None:
    gate, _, _ = scan_result.findings
    mixed = (finding, replace(gate, code="NPU101", name="cuda-name"), finding)
    (count,) = summarise(scan_result, mixed).by_code
    assert (count.count, count.severity.value, count.safety.value) == (3, "error", "manual")


def test_a_hostile_name_neither_ends_a_line_nor_speaks_to_the_terminal(scan_result: ScanResult) -> None:
    name = "new\nline\x1b[31m\u202e.py"
    finding = replace(scan_result.findings[0], file=name, message="says \x1b]0;title\x07 \u2066", advice="a\nb\x9b")
    result = replace(scan_result, findings=(finding,), errors=(FileError(name, "cannot\nbe read\x1b"),))
    for kind in ("text", "markdown"):
        page = render_scan(result, kind)
        assert not {char for char in page if not char.isprintable()} - {"\n"}
        assert "⟨U+001B⟩[31m⟨U+202E⟩.py" in page
    assert "new⟨U+000A⟩line" in render_scan(result, "text")


def test_gitlab_code_quality(scan_result: ScanResult) -> None:
    issues = json.loads(render_scan(scan_result, "gitlab"))
    assert len(issues) == len(scan_result.findings) + len(scan_result.errors)
    for issue, one in zip(issues, scan_result.findings, strict=False):
        assert issue["check_name"] == f"{one.code} {one.name}" and one.message in issue["description"]
        assert issue["location"]["path"].endswith(one.file)
        assert issue["location"]["lines"] == {"begin": one.start.line, "end": one.end.line}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    # Lines above a finding do not make it another one.
    moved = tuple(
        replace(one, start=Position(one.start.line + 7, 1), end=Position(one.end.line + 7, 2))
        for one in scan_result.findings
    )
    again = json.loads(render_scan(replace(scan_result, findings=moved), "gitlab"))
    assert [issue["fingerprint"] for issue in again] == [issue["fingerprint"] for issue in issues]


def test_junit(scan_result: ScanResult, clean_result: ScanResult) -> None:
    from xml.etree import ElementTree

    first, *rest = scan_result.findings
    odd = replace(first, file='a"&<\x01>.py', message="]]> & <b> \x00", severity=Severity.ERROR)
    note = replace(first, file="note.py", severity=Severity.INFO)
    result = replace(scan_result, findings=(odd, note, *rest), errors=(FileError("b.py", "broken", 3),))
    root = ElementTree.fromstring(render_scan(result, "junit").encode())
    assert root.tag == "testsuites" and root.get("errors") == "1"
    assert (
        int(root.get("failures", ""))
        == len(root.findall(".//failure"))
        == sum(one.severity is not Severity.INFO for one in result.findings)
    )
    assert int(root.get("tests", "")) == len(root.findall(".//testcase")) == len(result.findings) + 1
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    case = root.find(".//testcase")
    assert case is not None and case.get("file", "").endswith('a"&<\\x01>.py')
    assert (case.findtext("failure") or "").splitlines()[0].endswith("]]> & <b> \\x00")
    assert root.findtext(".//system-out")
    (passed,) = ElementTree.fromstring(render_scan(clean_result, "junit")).findall(".//testcase")
    assert not list(passed)
