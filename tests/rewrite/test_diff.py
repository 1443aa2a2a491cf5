"""Diffs of long files, and the application of many edits: right, and with work that grows with the length."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.rewrite import diff
from npuify.rewrite.edits import apply_findings

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


def _changed(lines: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    after = []
    for line in lines:
        roll = chance.random()
        if roll < 0.02:
            continue
        after.append(f"changed {line}" if roll < 0.1 else line)
        if roll > 0.97:
            after += ["import something\n"] * chance.randrange(1, 4)
    return after


@pytest.mark.parametrize("seed", range(12))
def test_a_diff_of_a_long_file_applies(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "_LONG", 0)
    chance = random.Random(seed)
    old = [
        chance.choice(["def f(x):\n", "    return x.cuda()\n", "\n", f"y = {chance.random()}\n"]) for _ in range(400)
    ]
    new = _changed(old, seed) if seed != 11 else []
    if seed % 3 == 0 and new:
        new[-1] = new[-1].rstrip("\n")
    (tmp_path / "a.py").write_text("".join(old))
    text = diff.unified(old, new, "a/a.py", "b/a.py")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=text, text=True, check=True)
    assert (tmp_path / "a.py").read_text() == "".join(new)


def test_a_diff_of_a_long_file_holds_what_changed_only() -> None:
    old = ["def f(x):\n", "    return x.cuda()\n"] * 2000
    new = list(old)
    new[1001] = "    return x.npu()\n"
    new.insert(3000, "import torch_npu\n")
    lines = diff.unified(old, new, "a", "b").splitlines()
    assert [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")] == [
        "-    return x.cuda()",
        "+    return x.npu()",
        "+import torch_npu",
    ]


def _finding(start: int, end: int) -> Finding:
    edit = Edit(start, end, "a" * (end - start), "bb")
    place = Position(1, 1)
    return Finding(
        code="NPU101",
        name="x",
        severity=Severity.ERROR,
        safety=Safety.SAFE,
        file="a.py",
        start=place,
        end=place,
        message="",
        evidence=Evidence.PACKAGE,
        edits=(edit,),
    )


def test_work_for_many_edits_grows_with_their_number() -> None:
    def lines(count: int) -> int:
        """Lines of Python that run, which no other work on the machine makes more."""
        findings, seen = [_finding(3 * number, 3 * number + 2) for number in range(count)], 0

        def line(frame: FrameType, event: str, _: object) -> Any:
            nonlocal seen
            seen += event == "line"
            return line

        before = sys.gettrace()
        sys.settrace(line)
        try:
            applied = apply_findings(b"a" * (3 * count), findings)
        finally:
            sys.settrace(before)
        assert len(applied.edits) == count
        return seen

    lines(10)
    assert lines(3200) < 40 * lines(100)  # its square would be 1024 times as much


@pytest.mark.parametrize(
    ("spans", "kept"),
    [
        ([(0, 5), (2, 3)], [(0, 5)]),
        ([(0, 5), (5, 7)], [(0, 5), (5, 7)]),
        ([(5, 5), (5, 5)], [(5, 5)]),
        ([(0, 5), (5, 5), (5, 8)], [(0, 5), (5, 5), (5, 8)]),
        ([(0, 5), (3, 3)], [(0, 5)]),
        ([(0, 2), (4, 9), (6, 6), (9, 9)], [(0, 2), (4, 9), (9, 9)]),
    ],
)
def test_of_edits_that_overlap_the_outer_one_is_kept(spans: list[tuple[int, int]], kept: list[tuple[int, int]]) -> None:
    applied = apply_findings(b"a" * 20, [_finding(*span) for span in spans])
    assert [(edit.start, edit.end) for edit in applied.edits] == kept
