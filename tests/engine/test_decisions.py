"""One finding for one decision: places of a file that a person settles together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

import npuify
from npuify.engine.scan import scan
from npuify.model import State
from npuify.options import Options
from npuify.project.git import ChangedLines
from npuify.report import render_scan
from npuify.report.narrow import on_changed_lines
from npuify.report.verdicts.verdict import judge

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import ScanResult

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)
FIRST = """import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
session = tf.Session()
rate = 0.1 * hvd.size()
if hvd.rank() == 0:
    print(rate)
"""
SECOND = """import horovod.tensorflow as hvd
import tensorflow as tf


def late():
    return hvd.rank()


@tf.function
def step(x):
    return hvd.allreduce(x)


hvd.init()
step(tf.ones(2))
"""


def scanned(folder: Path, text: str) -> ScanResult:
    (folder / "train.py").write_text(text)
    return scan([folder], OPTIONS)


def test_edits_of_one_decision_are_one_finding(tmp_path: Path) -> None:
    first, one = [one for one in scanned(tmp_path, FIRST).findings if one.code == "NPU915"]
    assert first.advice and not first.also, "what is to be done at the end of the program is said of hvd.init alone"
    assert [place.line for place in one.places] == [6, 7]
    assert one.message.endswith("the same on line 7")
    assert len({(edit.start, edit.end) for edit in one.edits}) == len(one.edits) >= 2


def test_what_has_no_edit_is_one_finding_and_every_place_stays_in_the_ledger(tmp_path: Path) -> None:
    result = scanned(tmp_path, SECOND)
    (one,) = [one for one in result.findings if one.code == "NPU903" and one.subject.startswith("hvd.")]
    assert [place.line for place in one.places] == [6, 11, 14]
    assert all(entry.state is not State.CLEARED for entry in result.ledger if entry.word == "horovod")
    told = json.loads(render_scan(result, "json"))["findings"]
    assert [item["also"] for item in told if item["code"] == "NPU903"] == [[11, 14]]


def test_a_place_that_surely_runs_decides_wherever_it_stands(tmp_path: Path) -> None:
    """The first place is in a function that nobody calls; the last one stops the program."""
    assert judge(scanned(tmp_path, SECOND)).level.name in ("WORK", "BLOCKED")


def test_a_changed_line_of_further_places_counts(tmp_path: Path) -> None:
    result = scanned(tmp_path, SECOND)
    changed = ChangedLines("HEAD", {"train.py": [(14, 14)]})
    assert "NPU903" in {one.code for one in on_changed_lines(result, changed).findings}
    elsewhere = ChangedLines("HEAD", {"train.py": [(9, 9)]})
    assert "NPU903" not in {one.code for one in on_changed_lines(result, elsewhere).findings}


def test_a_migration_that_is_unsafe_edits_every_place(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.py").write_text(FIRST)
    result = npuify.migrate(tmp_path / "in", tmp_path / "out", msgspec.structs.replace(OPTIONS, unsafe=True))
    written = (tmp_path / "out" / "train.py").read_text()
    assert "hvd." not in written and "get_rank_size()" in written and "get_rank_id() == 0" in written
    assert not [one for one in result.left if one.code == "NPU915"]


def test_places_with_one_message_are_one_finding_in_text_files_too(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM ubuntu\nRUN pip install mmcv==2.0.0\nRUN echo\nRUN pip install mmcv==2.0.0\n"
    )
    found = [one for one in scan([tmp_path], OPTIONS).findings if one.code == "NPU606"]
    assert len(found) == 1
    assert [place.line for place in found[0].places] == [2, 4]
    assert ".;" not in found[0].message


def test_layers_are_notes_where_the_import_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "def layer(n):\n    import bitsandbytes as bnb\n    return bnb.nn.Linear8bitLt(n, n), bnb.nn.Linear4bit(n, n)\n"
    )
    found = [(one.code, one.severity.value) for one in scan([tmp_path], OPTIONS).findings]
    assert found[0] == ("NPU620", "warning")
    assert set(found[1:]) == {("NPU623", "info")}
