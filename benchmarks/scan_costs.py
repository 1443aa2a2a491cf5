"""What scans and migrations of one project cost, side by side in one run: CPU time of whole commands.

    python benchmarks/scan_costs.py PROJECT [--rounds 3]

The project is copied, so that nothing of it changes. Each figure is the CPU time of a process with its children, start
of Python included, and the best of some rounds, which run by turns. Measured are a first scan, one of the project
unchanged, one after a comment was added to the largest file, a migration, a scan of two copies side by side, and for
comparison ``ast.parse`` and, where they are installed, LibCST's parser and ruff over the project's Python files.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_PARSE = """
import ast, contextlib, gc, pathlib, sys, warnings
warnings.simplefilter("ignore")
gc.disable()
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        ast.parse(path.read_bytes())
"""
_LIBCST = """
import contextlib, pathlib, sys, libcst
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    with contextlib.suppress(Exception):
        libcst.parse_module(path.read_bytes())
"""


class Bench:
    """The measurements on one project.

    Args:
        project: its folder, which is copied.
        folder: where the copies and the cache go.
    """

    def __init__(self, project: Path, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "one" / project.name
        shutil.copytree(project, self.root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        self.double = folder / "two"
        for copy in ("a", "b"):
            shutil.copytree(self.root, self.double / copy, symlinks=True)
        _make_older(folder)
        self.environment = {**os.environ, "NPUIFY_CACHE_DIR": str(folder / "cache")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def first_scan(self) -> float:
        return self._npuify("scan", "--no-cache", self.root)

    def scan_of_two_copies(self) -> float:
        return self._npuify("scan", "--no-cache", self.double)

    def scan_again(self) -> float:
        self._npuify("scan", self.root)
        return self._npuify("scan", self.root)

    def one_file_changed(self) -> float:
        self._npuify("scan", self.root)
        largest = max(self.root.rglob("*.py"), key=lambda path: path.stat().st_size)
        with largest.open("a", encoding="utf-8") as stream:
            stream.write("\n# one more line\n")
        _make_older(largest)
        return self._npuify("scan", self.root)

    def migration(self) -> float:
        target = self.folder / "migrated"
        shutil.rmtree(target, ignore_errors=True)
        return self._npuify("migrate", "--no-cache", self.root, "-o", target)

    def ast_parse(self) -> float:
        return self._seconds([sys.executable, "-c", _PARSE, self.root])

    def libcst_parse(self) -> float:
        return self._seconds([sys.executable, "-c", _LIBCST, self.root])

    def ruff_check(self) -> float:
        return self._seconds([sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "-q", self.root])

    def start(self) -> float:
        return self._npuify("--version")

    def _npuify(self, *arguments: str | Path) -> float:
        jobs = ("--jobs", "1") if arguments[0] != "--version" else ()
        return self._seconds([sys.executable, "-m", "npuify", *arguments, *jobs])

    def _seconds(self, command: list[str | Path]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{command[2:]} failed: {done.stderr.decode(errors='replace')[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _make_older(place: Path) -> None:
    """As if it had been changed an hour ago: of what is too new, no scan keeps anything."""
    then = time.time() - 3600
    for one in (*place.rglob("*"), place):
        os.utime(one, (then, then), follow_symlinks=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.project.resolve(), Path(folder))
        kinds: dict[str, Callable[[], float]] = {
            "start of npuify": bench.start,
            "ast.parse": bench.ast_parse,
            "first scan": bench.first_scan,
            "scan of two copies": bench.scan_of_two_copies,
            "scan again": bench.scan_again,
            "one file changed": bench.one_file_changed,
            "migration": bench.migration,
        }
        if importlib.util.find_spec("libcst"):
            kinds["LibCST's parser"] = bench.libcst_parse
        if importlib.util.find_spec("ruff"):
            kinds["ruff check"] = bench.ruff_check
        best: dict[str, float] = {}
        for _ in range(arguments.rounds):
            for name, measure in kinds.items():
                seconds = measure()
                best[name] = min(seconds, best.get(name, seconds))
    for name, seconds in best.items():
        print(f"{name:20} {seconds:7.2f} s {seconds / best['ast.parse']:6.2f} of ast.parse")
    print(f"migration / first scan: {best['migration'] / best['first scan']:.2f}")
    print(f"two copies / one: {best['scan of two copies'] / best['first scan']:.2f}")
    for name in ("scan again", "one file changed"):
        print(f"{name}, beyond the start: {best[name] - best['start of npuify']:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
