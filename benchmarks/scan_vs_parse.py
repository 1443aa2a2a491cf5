"""The whole of ``npuify scan`` against bare ``ast.parse`` of the same files: CPU time of one process, and memory.

    python benchmarks/scan_vs_parse.py [FOLDER ...] [--rounds 3]

Both sides run in this process, by turns, so that a change of the machine's speed hits both. ``ast.parse`` runs with the
garbage collector off and on bytes already in memory, which is the harder opponent; ``scan`` finds, reads, parses and
judges the files with one job and no cache, and with the collector as a user has it. The best round of each side counts.
Then come a second scan that has the cache of a first, in CPU time, and scans by one process and by two, in time on the
clock: that part needs a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import multiprocessing
import os
import sys
import tempfile
import time
import unittest.mock
import warnings
from pathlib import Path

import npuify
from corpus import python_files, roots
from npuify.options import Options

REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What ``ast.parse`` raises on a file that is not Python of this version."""


def parse_all(sources: list[bytes]) -> float:
    """CPU seconds that ``ast.parse`` takes for all ``sources``; those it refuses count with the time they took."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for source in sources:
            with contextlib.suppress(*REFUSALS):
                ast.parse(source)
        return time.process_time() - start
    finally:
        gc.enable()


def scan_all(folders: list[Path], torch_npu: str | None) -> tuple[float, list[npuify.ScanResult]]:
    """CPU seconds of one ``scan`` per folder, and what they found."""
    options = Options(jobs=1, cache=False, torch_npu=torch_npu)
    gc.collect()
    start = time.process_time()
    results = [npuify.scan([folder], options) for folder in folders]
    return time.process_time() - start, results


def cached(folders: list[Path], torch_npu: str | None, rounds: int) -> float:
    """CPU seconds of a scan whose files have not changed since an earlier one; the best of ``rounds``."""
    options = Options(jobs=1, torch_npu=torch_npu)
    times = []
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, NPUIFY_CACHE_DIR=folder):
        for _ in range(rounds + 1):
            start = time.process_time()
            for one in folders:
                npuify.scan([one], options)
            times.append(time.process_time() - start)
    return min(times[1:])


def on_the_clock(folders: list[Path], torch_npu: str | None, jobs: int) -> float:
    """Seconds of one scan of all ``folders`` together by ``jobs`` processes, without a cache."""
    start = time.perf_counter()
    npuify.scan(folders, Options(jobs=jobs, cache=False, torch_npu=torch_npu))
    return time.perf_counter() - start


def peak_memory(work: str, folders: list[Path], torch_npu: str | None) -> float | None:
    """MiB at the peak of a fresh process that does ``work``: "import", "scan" or "parse". None on Windows."""
    if sys.platform == "win32":
        return None
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (work, folders, torch_npu))


def _measure(work: str, folders: list[Path], torch_npu: str | None) -> float:
    warnings.simplefilter("ignore")
    if work == "scan":
        scan_all(folders, torch_npu)
    elif work == "parse":
        gc.disable()
        for path in python_files(folders):
            with contextlib.suppress(*REFUSALS):
                ast.parse(path.read_bytes())
    return _peak()


def _peak() -> float:
    """MiB at the peak of this process. On Linux ``ru_maxrss`` counts the parent too, so it is not used."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="default: this Python's own library")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch-npu", help="the release to aim at (default: as scan chooses)")
    parser.add_argument("--limit", type=float, help="exit with 1 when the ratio is above this")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    folders = roots(arguments.folders)
    files = python_files(folders)
    sources = [path.read_bytes() for path in files]
    lines = sum(source.count(b"\n") for source in sources)
    size = sum(map(len, sources)) / 2**20
    print(f"{len(files)} Python files, {lines} lines, {size:.1f} MiB, Python {sys.version.split()[0]}")

    parse_times, scan_times = [], []
    results: list[npuify.ScanResult] = []
    for number in range(arguments.rounds):
        parse_times.append(parse_all(sources))
        seconds, results = scan_all(folders, arguments.torch_npu)
        scan_times.append(seconds)
        print(f"round {number + 1}: ast.parse {parse_times[-1]:.2f} s, scan {seconds:.2f} s")
    seen = sum(result.files_seen for result in results)
    parsed = sum(result.files_parsed for result in results)
    findings = sum(len(result.findings) for result in results)
    ratio = min(scan_times) / min(parse_times)
    print(f"scan saw {seen} files, parsed {parsed} of them, made {findings} findings")
    print(f"ratio of CPU time, scan / ast.parse: {ratio:.3f}")

    again = cached(folders, arguments.torch_npu, arguments.rounds)
    print(f"ratio of CPU time, second scan with the cache / ast.parse: {again / min(parse_times):.4f} ({again:.2f} s)")
    pairs = [[on_the_clock(folders, arguments.torch_npu, jobs) for jobs in (1, 2)] for _ in range(arguments.rounds)]
    one, two = (min(pair[place] for pair in pairs) for place in (0, 1))
    print(f"ratio of time on the clock, two processes / one: {two / one:.2f} ({two:.1f} s, {one:.1f} s)")

    if not arguments.no_memory:
        del sources, results
        for work in ("import", "parse", "scan"):
            peak = peak_memory(work, folders, arguments.torch_npu)
            print(f"peak memory, {work}: " + (f"{peak:.0f} MiB" if peak is not None else "not measured on this system"))
    return int(arguments.limit is not None and ratio > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
