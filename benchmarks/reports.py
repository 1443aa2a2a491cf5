"""What a report costs, by format: CPU time against the scan that it tells of, and memory for very many findings.

    python benchmarks/reports.py [FOLDER ...] [--findings 150000]

The folders are scanned by one process without a cache, and each result is reported in each format, piece by piece as
the command line does; the share is that of all reports in a format on all scans. The columns behind it are for a
made-up result with very many findings in one file, each format in a process of its own; what the result itself takes
is not counted. Goal: a report takes at most 5 % of its scan.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

import npuify
from corpus import roots
from npuify.model import Edit, Evidence, Finding, Position, Release, Safety, ScanResult, Severity
from npuify.options import Options
from npuify.report import FORMATS, pieces

CALL = "torch.cuda.synchronize()\n"


def made(folder: str, count: int) -> ScanResult:
    """A result with ``count`` findings in one file, which is written to ``folder``."""
    (Path(folder) / "many.py").write_text("import torch\n" + CALL * count, encoding="utf-8")
    findings = []
    for number in range(count):
        start = len("import torch\n") + number * len(CALL) + len("torch.")
        findings.append(
            Finding(
                "NPU101",
                "cuda-name",
                Severity.ERROR,
                Safety.SAFE,
                "many.py",
                Position(number + 2, 1),
                Position(number + 2, 23),
                "torch.cuda.synchronize is torch.npu.synchronize on the NPU",
                Evidence.PACKAGE,
                "torch_npu",
                "torch.cuda.synchronize",
                "",
                (Edit(start, start + 4, "cuda", "npu"),),
                True,
            )
        )
    return ScanResult(folder, Release("2.7.1", "2.7.1", "", ""), tuple(findings), (), 1, 1, count * len(CALL))


def written(result: ScanResult, format: str) -> tuple[float, int]:
    """CPU seconds and bytes of a report."""
    start = time.process_time()
    size = sum(map(len, pieces(result, format)))
    return time.process_time() - start, size


def alone(folder: str, count: int, format: str) -> tuple[float, int, float]:
    """The same for the made-up result, with the MiB that the report added at its peak."""
    result = made(folder, count)
    before = memory("VmRSS")
    seconds, size = written(result, format)
    return seconds, size, memory("VmHWM") - before


def memory(name: str) -> float:
    """MiB of this process, as Linux tells; 0 elsewhere."""
    if sys.platform != "linux":
        return 0.0
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="default: this Python's own library")
    parser.add_argument("--findings", type=int, default=150_000)
    arguments = parser.parse_args()
    scans, reports = 0.0, dict.fromkeys(FORMATS, 0.0)
    for folder in roots(arguments.folders):
        start = time.process_time()
        result = npuify.scan([folder], Options(jobs=1, cache=False))
        scans += time.process_time() - start
        for format in FORMATS:
            # Twice, since the first loads the modules.
            reports[format] += min(written(result, format)[0] for _ in range(2))
    print(f"{'format':<10}{'CPU s':>8}{'of scan':>9}{'CPU s, many':>13}{'MB':>6}{'MiB':>6}")
    for format in FORMATS:
        with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, size, peak = pool.apply(alone, (folder, arguments.findings, format))
        share = reports[format] / scans
        print(f"{format:<10}{reports[format]:>8.3f}{share:>9.1%}{seconds:>13.2f}{size / 1e6:>6.0f}{peak:>6.0f}")
    print(f"scan: {scans:.1f} s; many: {arguments.findings} findings in one file")


if __name__ == "__main__":
    main()
