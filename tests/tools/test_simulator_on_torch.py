"""From the reports of the simulator's tests to the tables in the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.simulator_on_torch import features, page_with, result_of, table

if TYPE_CHECKING:
    from tools.simulator_on_torch import Results

REPORT = """<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="9">
<testcase classname="a" name="b"><properties>
<property name="devices" value="passed" /><property name="streams" value="failed: E: a &lt;b&gt;" />
</properties></testcase><testcase classname="a" name="c"><properties>
<property name="shards" value="lacking: for CUDA alone" />
</properties></testcase></testsuite></testsuites>"""
NEWER = """<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="0" tests="1">
<testcase classname="a" name="b"><properties>
<property name="devices" value="passed" /><property name="streams" value="passed" /><property name="graphs" value="failed: RuntimeError" />
</properties></testcase></testsuite></testsuites>"""


def results() -> Results:
    return {
        "2.10.0+cpu": {"a.py": result_of(NEWER)},
        "2.5.1+cpu": {"a.py": result_of(REPORT)},
        "2.11.0": {"a.py": result_of(NEWER.replace("failed: RuntimeError", "passed"))},
        "2.6.0": {"b.py": {"counts": {"passed": 3, "failed": 0, "skipped": 0}, "features": []}},
    }


def test_a_column_for_each_version_in_their_order() -> None:
    assert table(results()).splitlines() == [
        "| tests | 2.5.1+cpu | 2.6.0 | 2.10.0+cpu | 2.11.0 |",
        "|---|---|---|---|---|",
        "| a.py | 5 pass, **2 fail**, 2 skipped | not run | 1 pass | 1 pass |",
        "| b.py | not run | 3 pass | not run | not run |",
        "| together | 5 pass, **2 fail**, 2 skipped | 3 pass | 1 pass | 1 pass |",
    ]


def test_what_is_not_there_has_a_note() -> None:
    assert features(results()).splitlines() == [
        "| feature | 2.5.1+cpu | 2.10.0+cpu |",
        "|---|---|---|",
        "| devices | yes | yes |",
        "| streams | **no** (1) | yes |",
        "| graphs | not run | **no** (2) |",
        "| shards | not there (3) | not run |",
        "",
        "1. E: a &lt;b&gt;",
        "2. RuntimeError",
        "3. for CUDA alone",
    ]


def test_both_tables_stand_between_their_marks() -> None:
    marks = [
        f"<!-- {name}: {end} -->"
        for name in ("versions", "features")
        for end in ("begin (tools/simulator_on_torch.py)", "end")
    ]
    page = "\n".join(["before", marks[0], "old", marks[1], "between", marks[2], marks[3], "after"])
    once = page_with(page, results())
    assert "old" not in once and once.index("| tests |") < once.index("between") < once.index("| feature |")
    assert page_with(once, results()) == once
    with pytest.raises(SystemExit, match="features"):
        page_with("\n".join(marks[:2]), results())
