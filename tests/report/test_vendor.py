"""The vendor tool's result files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec

import npuify
from npuify.model import (
    Change,
    Evidence,
    FileError,
    Finding,
    MigrationResult,
    Position,
    Release,
    Safety,
    ScanResult,
    Severity,
)
from npuify.options import Options
from npuify.report.formats.vendor import LOG, vendor_files

OPERATORS = ["File", "Start Line", "End Line", "OP", "Tips"]


def _tables(result: ScanResult | MigrationResult) -> dict[str, list[list[str]]]:
    return {
        name: list(csv.reader(io.StringIO(data.decode(), newline="")))
        for name, data in vendor_files(result).items()
        if name.endswith(".csv")
    }


def _result(*findings: Finding, changes: tuple[Change, ...] = ()) -> MigrationResult:
    scan = ScanResult(
        root="/p",
        release=Release("2.14.0", "2.14.0", "9.1.0", "said so"),
        findings=findings,
        errors=(FileError("broken.py", "cannot\nbe parsed", 3),),
        files_seen=4,
        files_parsed=2,
        bytes_seen=9,
    )
    return MigrationResult(scan=scan, changes=changes, left=findings, changed_files=())


def _finding(code: str, subject: str, message: str = "a message", advice: str = "") -> Finding:
    return Finding(
        code=code,
        name="some-name",
        severity=Severity.ERROR,
        safety=Safety.MANUAL,
        file="a b.py",
        start=Position(3, 1),
        end=Position(4, 2),
        message=message,
        evidence=Evidence.PACKAGE,
        subject=subject,
        advice=advice,
    )


def _change(before: str, after: str) -> Change:
    return Change("a.py", "NPU101", "cuda-name", Position(1, 1), Position(2, 1), before, after, "why")


def test_names_and_columns() -> None:
    tables = _tables(_result())
    assert {name: rows[0] for name, rows in tables.items()} == {
        "change_list.csv": ["File", "Start Line", "End Line", "Operation Type", "Message"],
        "unsupported_api.csv": OPERATORS,
        "unknown_api.csv": OPERATORS,
        "cuda_op_list.csv": ["File", "Api"],
        "api_precision_advice.csv": OPERATORS,
        "api_performance_advice.csv": OPERATORS,
        "affinity_api_call.csv": ["File", "Start Line", "End Line", "Api Type", "Api Call Name", "Affinity Api Name"],
    }
    assert all(len(rows) == 1 for rows in tables.values())


def test_findings_go_where_they_belong() -> None:
    tables = _tables(
        _result(
            _finding("NPU102", "torch.cuda.nope", advice="do this"),
            _finding("NPU104", "torch.cuda.odd"),
            _finding("NPU802", "torch.utils.data.DataLoader"),
            _finding("NPU804", "clip"),
            _finding("NPU501", "flash_attn.flash_attn_func"),
            _finding("NPU508", "torch_npu.npu_swiglu", "SwiGLU can run as one operator on the NPU"),
        )
    )
    assert tables["unsupported_api.csv"][1:] == [["a b.py", "3", "4", "torch.cuda.nope", "a message. do this"]]
    assert [row[3] for row in tables["unknown_api.csv"][1:]] == ["torch.cuda.odd"]
    assert [row[3] for row in tables["api_performance_advice.csv"][1:]] == [
        "torch.utils.data.DataLoader",
        "torch_npu.npu_swiglu",
    ]
    assert [row[3] for row in tables["api_precision_advice.csv"][1:]] == ["clip"]
    assert [row[3:] for row in tables["affinity_api_call.csv"][1:]] == [
        ["function", "flash_attn.flash_attn_func", "torch_npu.npu_fusion_attention"],
        ["special", "SwiGLU", "torch_npu.npu_swiglu"],
    ]


def test_a_message_that_ends_in_a_point_gets_no_second_one() -> None:
    tables = _tables(_result(_finding("NPU620", "torch_scatter", "it refuses NPU tensors.", "use another")))
    assert [row[4] for row in tables["unsupported_api.csv"][1:]] == ["it refuses NPU tensors. use another"]


def test_changes() -> None:
    changes = (_change("cuda", "npu"), _change("", "import torch_npu\n"), _change("x,", ""))
    assert [row[1:] for row in _tables(_result(changes=changes))["change_list.csv"][1:]] == [
        ["1", "2", "MODIFY", "change cuda to npu: why"],
        ["1", "2", "INSERT", "insert import torch_npu: why"],
        ["1", "2", "DELETE", "delete x,: why"],
    ]


def test_no_cell_is_a_formula_and_no_row_is_two() -> None:
    rows = _tables(_result(_finding("NPU102", "=cmd|' /C calc'!A0", "@SUM(1)\n=2"), changes=(_change("", "=1+1"),)))
    cells = [cell for table in rows.values() for row in table for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@", "\t", "|"))]
    assert not [cell for cell in cells if "\n" in cell]
    assert len(rows["unsupported_api.csv"]) == 2


def test_the_log() -> None:
    log = vendor_files(_result(changes=(_change("cuda", "npu"),)))[LOG].decode()
    assert "[WARNING] broken.py:3: cannot be parsed" in log
    assert "[INFO] a.py:1: NPU101 why" in log
    assert "change_list.csv: 1 rows" in log


def test_a_long_log_is_several_files_the_newest_with_the_plain_name() -> None:
    changes = tuple(_change("cuda", f"npu{number:09}" * 20) for number in range(30000))
    files = vendor_files(_result(changes=changes))
    logs = sorted(name for name in files if name.startswith(LOG))
    assert len(logs) > 1
    assert all(len(files[name]) <= 1024 * 1024 for name in logs)
    assert b"files looked at" in files[LOG]
    assert b"Target" in files[logs[-1]]


def test_of_a_real_migration(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    result = npuify.migrate(tmp_path, None, Options(cache=False, jobs=1), mode="diff")
    rows = _tables(result)["change_list.csv"][1:]
    assert [row[3] for row in rows] == ["INSERT", "MODIFY"]


def test_texts_of_a_project_neither_hide_nor_begin_a_line_of_the_log() -> None:
    name, text = "a\n2026 [INFO] b\x1b[31m.py", "is\u202e torch\nnew"
    change = Change(name, "NPU101", "n", Position(1, 1), Position(1, 2), text, "x", text)
    result = msgspec.structs.replace(_result(_finding("NPU102", text), changes=(change,)), scan=_result().scan)
    scan = msgspec.structs.replace(result.scan, errors=(FileError(name, text, 3),))
    files = vendor_files(msgspec.structs.replace(result, scan=scan))
    for data in files.values():
        assert {char for char in data.decode() if not char.isprintable()} <= set("\r\n")
    log = files[LOG].decode().splitlines()
    assert sum("⟨U+000A⟩2026 [INFO] b⟨U+001B⟩[31m.py:" in line for line in log) == 2
    assert len(log) == 2 + 1 + len([one for one in files if one.endswith(".csv")]) + 1
    (row,) = list(csv.reader(io.StringIO(files["change_list.csv"].decode(), newline="")))[1:]
    assert row[4] == "change is⟨U+202E⟩ torch new to x: is⟨U+202E⟩ torch new"
