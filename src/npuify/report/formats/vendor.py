"""The result files of the vendor's migration tool, with its names and columns, so that scripts built on them go on.

The columns are those of msFmkTransplt's own files. What stands in them comes from npuify's findings: the texts differ,
and so do the lists, since both tools know different things.
"""

from __future__ import annotations

import csv
import io
import time
from typing import TYPE_CHECKING, Final

from npuify.model import MigrationResult
from npuify.report.changes import defused
from npuify.rewrite.tree import fill_folder
from npuify.rules.topics import belongs_to
from npuify.visible import file_name, in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from npuify.model import Change, Finding, ScanResult

_OPERATORS: Final = ("File", "Start Line", "End Line", "OP", "Tips")
_CHANGES: Final = ("File", "Start Line", "End Line", "Operation Type", "Message")
_AFFINITY: Final = ("File", "Start Line", "End Line", "Api Type", "Api Call Name", "Affinity Api Name")
_FUSED: Final = {
    "NPU501": "torch_npu.npu_fusion_attention",
    "NPU502": "torch_npu.npu_fusion_attention",
    "NPU503": "torch_npu.npu_fusion_attention",
}
"""What the findings of a code name as the better form; others name it as their subject."""
LOG: Final = "msFmkTranspltlog.txt"
_LOG_LIMIT: Final = 1024 * 1024
_MOST_LOGS: Final = 10


def write_vendor_files(result: ScanResult | MigrationResult, folder: Path) -> None:
    """Write the files into a folder, which is made if need be: all of them, or none.

    Raises:
        NpuifyError: they cannot be written.
    """
    fill_folder(folder, vendor_files(result))


def vendor_files(result: ScanResult | MigrationResult) -> dict[str, bytes]:
    """The files by name: seven tables, and the log, in several files where it is longer than 1 MB, as there."""
    scan = result.scan if isinstance(result, MigrationResult) else result
    changes = result.changes if isinstance(result, MigrationResult) else ()
    findings = scan.findings
    tables: dict[str, tuple[tuple[str, ...], Iterable[tuple[object, ...]]]] = {
        "change_list.csv": (_CHANGES, map(_change, changes)),
        "unsupported_api.csv": (_OPERATORS, _rows(findings, "unsupported")),
        "unknown_api.csv": (_OPERATORS, _rows(findings, "doubtful")),
        "cuda_op_list.csv": (
            ("File", "Api"),
            ((one.file, one.name) for one in scan.survey.operators if one.difficulty != "host"),
        ),
        "api_precision_advice.csv": (_OPERATORS, _rows(findings, "precision")),
        "api_performance_advice.csv": (_OPERATORS, _rows(findings, "performance")),
        "affinity_api_call.csv": (_AFFINITY, _affinity(findings)),
    }
    files = {name: _table(columns, rows) for name, (columns, rows) in tables.items()}
    return files | _log(result, scan, {name: data.count(b"\r\n") - 1 for name, data in files.items()})


def _table(columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([defused(in_one_line(cell)) if isinstance(cell, str) else cell for cell in row])
    return stream.getvalue().encode("utf-8", "backslashreplace")


def _change(change: Change) -> tuple[object, ...]:
    before, after = in_one_line(change.before), in_one_line(change.after)
    if not before:
        kind, what = "INSERT", f"insert {after}"
    elif not after:
        kind, what = "DELETE", f"delete {before}"
    else:
        kind, what = "MODIFY", f"change {before} to {after}"
    return change.file, change.start.line, change.end.line, kind, f"{what}: {change.message}"


def _rows(findings: Iterable[Finding], topic: str) -> Iterator[tuple[object, ...]]:
    for one in findings:
        if belongs_to(topic, one.code) and not (topic == "unsupported" and one.edits):
            tips = f"{one.message.rstrip('.')}. {one.advice}" if one.advice else one.message
            yield one.file, one.start.line, one.end.line, one.subject or one.name, tips


def _affinity(findings: Iterable[Finding]) -> Iterator[tuple[object, ...]]:
    for one in findings:
        if not belongs_to("affinity", one.code):
            continue
        better = _FUSED.get(one.code, one.subject)
        called = one.subject if one.code in _FUSED else one.message.partition(" can run")[0]
        kind = "function" if one.code in _FUSED else "special"
        yield one.file, one.start.line, one.end.line, kind, called, better


def _log(result: ScanResult | MigrationResult, scan: ScanResult, counts: dict[str, int]) -> dict[str, bytes]:
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    lines = [f"{now} [INFO] Target: torch_npu {scan.release.torch_npu}: {scan.release.reason}"]
    lines += [
        f"{now} [WARNING] {file_name(error.file)}:{error.line}: {in_one_line(error.message)}" for error in scan.errors
    ]
    for change in result.changes if isinstance(result, MigrationResult) else ():
        place = f"{file_name(change.file)}:{change.start.line}"
        lines.append(f"{now} [INFO] {place}: {change.code} {in_one_line(change.message)}")
    lines += [f"{now} [INFO] {name}: {count} rows" for name, count in counts.items()]
    lines.append(f"{now} [INFO] {scan.files_seen} files looked at")
    parts = [b""]
    for line in lines:
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        if len(parts[-1]) + len(data) > _LOG_LIMIT and parts[-1]:
            parts.append(b"")
        parts[-1] += data
    # The newest part bears the plain name, as a log that is rotated.
    recent = list(reversed(parts))[: _MOST_LOGS + 1]
    return {f"{LOG}.{number}" if number else LOG: part for number, part in enumerate(recent)}
