"""Comparisons that would prove nothing are refused, by name."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from npuify.model import NpuifyError
from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.result import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def changed(source: Path, target: Path, change: Callable[[dict[str, Any]], Any], manifest: str = "") -> Path:
    """A copy of a capture, with each record changed; a record that becomes None is left out."""
    shutil.copytree(source, target)
    records = target / "rank0" / "records.jsonl"
    lines = [change(json.loads(line)) for line in records.read_text().splitlines()]
    records.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))
    known = json.loads((target / "capture.json").read_text())
    known["run"] = manifest or "another"
    (target / "capture.json").write_text(json.dumps(known))
    return target


def refused(a: Path, b: Path, *allow: str) -> str:
    with pytest.raises(Refused) as caught:
        compare(a, b, allow=allow)
    assert caught.value.name in str(caught.value)
    return caught.value.name


def test_the_same_run(captures: Mapping[str, Path]) -> None:
    assert refused(captures["gpt: "], captures["gpt: "], "same-device") == "same-run"


def test_the_same_device(captures: Mapping[str, Path]) -> None:
    assert refused(captures["gpt: "], captures["gpt: again"]) == "same-device"


def test_other_data(captures: Mapping[str, Path], tmp_path: Path) -> None:
    def other(record: dict[str, Any]) -> dict[str, Any]:
        for tensor in record.get("inputs", ()):
            if "rows" in tensor and not record["within"]:
                tensor["rows"] = [value + 1 for value in tensor["rows"]]
                tensor["at"] = 0
        return record

    b = changed(captures["gpt: "], tmp_path / "b", other)
    assert refused(captures["gpt: "], b, "same-device") == "different-data"


def test_other_weights(captures: Mapping[str, Path], tmp_path: Path) -> None:
    def other(record: dict[str, Any]) -> dict[str, Any]:
        if record["event"] == "value" and record["when"] == "start":
            record["is"]["norm"] = record["is"].get("norm", 0) * 1.5
        return record

    b = changed(captures["gpt: "], tmp_path / "b", other)
    assert refused(captures["gpt: "], b, "same-device") == "different-weights"


def test_other_seeds(captures: Mapping[str, Path], tmp_path: Path) -> None:
    def other(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "seed": 8} if record["event"] == "seed" else record

    b = changed(captures["gpt: "], tmp_path / "b", other)
    assert refused(captures["gpt: "], b, "same-device") == "different-seeds"


def test_another_program(captures: Mapping[str, Path]) -> None:
    assert refused(captures["gpt: "], captures["cnn: "], "same-device") in {"different-seeds", "nothing-matches"}


def test_little_that_is_in_both(captures: Mapping[str, Path], tmp_path: Path) -> None:
    """As of replicas, whose calls belong to none of the model's modules: the few others must not agree for all."""

    def other(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "name": record["name"].replace("blocks", "replicas")} if "name" in record else record

    b = changed(captures["gpt: "], tmp_path / "b", other)
    assert refused(captures["gpt: "], b, "same-device") == "little-matches"
    assert compare(captures["gpt: "], b, allow=["same-device", "little-matches"]).matched > 0


def test_nothing_captured(captures: Mapping[str, Path], tmp_path: Path) -> None:
    b = changed(captures["gpt: "], tmp_path / "b", lambda record: None if record["event"] == "call" else record)
    with pytest.raises(NpuifyError, match="nothing was captured"):
        compare(captures["gpt: "], b)


def test_no_capture_at_all(captures: Mapping[str, Path], tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="contains no capture"):
        compare(captures["gpt: "], tmp_path)
    with pytest.raises(NpuifyError, match="no such folder"):
        compare(tmp_path / "nowhere", captures["gpt: "])


@pytest.mark.parametrize("text", ["", "{", '{"event":"call"}\n', '{"event":"call","step":"x","phase":1}\n', "[]\n"])
def test_a_damaged_capture_is_named(captures: Mapping[str, Path], tmp_path: Path, text: str) -> None:
    b = changed(captures["gpt: "], tmp_path / "b", lambda record: record)
    (b / "rank0" / "records.jsonl").write_text(text)
    with pytest.raises(NpuifyError) as caught:
        compare(captures["gpt: "], b)
    assert str(b) in str(caught.value)


def test_a_capture_that_was_cut_off_is_compared_up_to_there(captures: Mapping[str, Path], tmp_path: Path) -> None:
    b = changed(captures["gpt: "], tmp_path / "b", lambda record: record)
    records = b / "rank0" / "records.jsonl"
    whole = records.read_text()
    records.write_text(whole[: len(whole) // 2])
    result = compare(captures["gpt: "], b, allow=["same-device"])
    assert result.agrees
    assert result.unmatched[0] > 0
    assert any("truncated" in remark for remark in result.remarks)


def test_a_program_that_failed_does_not_agree(captures: Mapping[str, Path], tmp_path: Path) -> None:
    b = changed(captures["gpt: "], tmp_path / "b", lambda record: record if record.get("step", 0) < 1 else None)
    assert compare(captures["gpt: "], b, allow=["same-device"]).agrees, "only fewer steps"
    known = json.loads((b / "capture.json").read_text())
    known["result"]["code"] = 1
    (b / "capture.json").write_text(json.dumps(known))
    first = compare(captures["gpt: "], b, allow=["same-device"]).first
    assert first is not None
    assert first.kind == "ended"
    assert first.message == "B's program exited with code 1 in step 0; the other one's did not"
