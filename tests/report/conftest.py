from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import (
    Change,
    Edit,
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

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = Release("2.7.1", "2.7.1", "8.3.RC1", "requirements.txt line 3 pins torch==2.7.1")
SOURCE = b"import torch\n\xe9 = 1  # \xe4\xb8\xad\nx = torch.cuda.Event()\n".replace(b"\xe9 = 1", b"y = 1")


@pytest.fixture
def finding() -> Finding:
    """With a safe edit, on line 3 of train.py."""
    return Finding(
        code="NPU101",
        name="cuda-name",
        severity=Severity.ERROR,
        safety=Safety.SAFE,
        file="train.py",
        start=Position(3, 5),
        end=Position(3, 21),
        message="torch.cuda.Event is torch.npu.Event on the NPU",
        evidence=Evidence.PACKAGE,
        source="torch-npu 2.7.1, its wheel",
        subject="torch.cuda.Event",
        edits=(Edit(SOURCE.index(b"cuda"), SOURCE.index(b"cuda") + 4, "cuda", "npu"),),
        needs_torch_npu=True,
    )


@pytest.fixture
def scan_result(tmp_path: Path, finding: Finding) -> ScanResult:
    (tmp_path / "train.py").write_bytes(SOURCE)
    other = Finding(
        code="NPU131",
        name="device-property",
        severity=Severity.WARNING,
        safety=Safety.MANUAL,
        file="pkg/gate, 100%.py",
        start=Position(7, 1),
        end=Position(8, 2),
        message="the gate\nnow chooses: `False`, <always> | *maybe*",
        evidence=Evidence.ASSUMED,
        advice="look at [it]",
    )
    note = Finding(
        code="NPU140",
        name="cuda-backend-switch",
        severity=Severity.INFO,
        safety=Safety.REVIEW,
        file="train.py",
        start=Position(1, 1),
        end=Position(1, 7),
        message="has no effect",
        evidence=Evidence.DOCUMENTED,
        edits=(Edit(0, 6, "import", ""), Edit(6, 6, "", "x")),
    )
    return ScanResult(
        root=str(tmp_path),
        release=RELEASE,
        findings=(other, note, finding),
        errors=(FileError("broken.py", "cannot be parsed: invalid syntax", 4, "mend it"),),
        files_seen=12,
        files_parsed=3,
        bytes_seen=1000,
    )


@pytest.fixture
def clean_result(tmp_path: Path) -> ScanResult:
    return ScanResult(str(tmp_path), RELEASE, (), (), 12, 0, 1000)


@pytest.fixture
def migration_result(scan_result: ScanResult, tmp_path: Path) -> MigrationResult:
    changes = (
        Change(
            "train.py",
            "NPU101",
            "cuda-name",
            Position(3, 11),
            Position(3, 15),
            "cuda",
            "npu",
            "torch.cuda.Event is torch.npu.Event on the NPU",
        ),
        Change(
            "train.py",
            "NPU100",
            "torch-npu-not-imported",
            Position(2, 1),
            Position(2, 1),
            "",
            "import torch_npu\n",
            "m",
        ),
    )
    return MigrationResult(
        scan=scan_result,
        changes=changes,
        left=scan_result.findings[:2],
        changed_files=("train.py",),
        destination=str(tmp_path / "out"),
    )
