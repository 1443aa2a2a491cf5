"""Whether a scan that knows an earlier state of a project finds what a first scan finds.

    python tools/check_incremental.py PROJECT [--rounds 20] [--seed 0] [--jobs 1]

The project is copied and scanned. Then, round by round, one file is changed at random (a line is put in, taken out,
doubled, moved, replaced by one of another file; a word is replaced; the old text comes back; only the time changes),
and the copy is scanned twice, with what is kept of earlier scans and without: all of both results has to be the same,
to the ledger's last entry. Prints how many files were analysed again, and what differs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from npuify.engine.scan import scan
from npuify.model import ScanResult
from npuify.options import Options

_KINDS = (".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".cfg", ".txt", ".ipynb", ".cu", ".cpp")
_LONGEST = 200_000
_WORDS = ("cuda", "npu", "cpu", "nccl", "device", "torch", "model", "self", "args", "True", "None", "import", "def")


class Changes:
    """Changes of a project's files, each by chance.

    Args:
        root: the project's folder.
        seed: the same changes come from the same.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._files = [
            path
            for path in sorted(root.rglob("*"))
            if path.suffix in _KINDS and path.is_file() and path.stat().st_size < _LONGEST
        ]
        self._python = [path for path in self._files if path.suffix == ".py"]
        self._before: list[tuple[Path, bytes]] = []

    def make(self) -> tuple[Path, str]:
        """Change one file; which, and how."""
        chosen = self._random
        if self._before and chosen.random() < 0.1:
            path, text = self._before.pop(chosen.randrange(len(self._before)))
            path.write_bytes(text)
            return path, "what it held before"
        path = chosen.choice(self._python if self._python and chosen.random() < 0.8 else self._files)
        self._before.append((path, path.read_bytes()))
        lines = path.read_bytes().split(b"\n")
        at = chosen.randrange(len(lines))
        kind = chosen.choice(
            ("touch", "comment", "leave out", "double", "move", "from another", "word", "word", "import")
        )
        if kind == "comment":
            lines.insert(at, b"# one more line")
        elif kind == "leave out":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "move":
            lines.insert(chosen.randrange(len(lines)), lines.pop(at))
        elif kind == "from another":
            others = chosen.choice(self._files).read_bytes().split(b"\n")
            lines[at] = chosen.choice(others)
        elif kind == "word":
            words = [word for word in _WORDS if word.encode() in path.read_bytes()] or ["x"]
            old, new = chosen.choice(words).encode(), chosen.choice(_WORDS).encode()
            having = [number for number, line in enumerate(lines) if old in line] or [at]
            number = chosen.choice(having)
            lines[number] = lines[number].replace(old, new, 1)
        elif kind == "import":
            other = chosen.choice(self._python or self._files)
            lines.insert(0, f"from {other.stem} import *".encode())
        path.write_bytes(b"\n".join(lines))
        return path, f"{kind}, line {at + 1}"


def differences(known: ScanResult, fresh: ScanResult) -> Iterator[str]:
    """What differs between two results, as texts."""
    for field in ScanResult.__struct_fields__:
        one, other = getattr(known, field), getattr(fresh, field)
        if one == other:
            continue
        if not isinstance(one, tuple):
            yield f"{field}: {one!r}, and from scratch {other!r}"
            continue
        for item in one:
            if item not in other:
                yield f"{field}, only with what was kept: {item!r}"
        for item in other:
            if item not in one:
                yield f"{field}, only from scratch: {item!r}"
        if set(map(repr, one)) == set(map(repr, other)):
            yield f"{field}: the order, or how often"


def age(root: Path, seconds: int) -> None:
    """As if all had been changed so long ago: of what is too new, stamps prove nothing."""
    then = time.time() - seconds
    for place in (*root.rglob("*"), root):
        os.utime(place, (then, then), follow_symlinks=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--style", default="npu")
    arguments = parser.parse_args()
    options = Options(jobs=arguments.jobs, style=arguments.style)
    without = msgspec.structs.replace(options, cache=False)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NPUIFY_CACHE_DIR"] = f"{folder}/cache"
        root = Path(folder) / arguments.project.name
        shutil.copytree(arguments.project, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        age(root, 1_000_000)
        scan([root], options)
        changes = Changes(root, arguments.seed)
        for number in range(1, arguments.rounds + 1):
            path, how = changes.make()
            then = time.time() - 900_000 + number
            os.utime(path, (then, then))
            again: list[int] = []
            begin = time.process_time()
            known = scan([root], options, progress=lambda done, _, again=again: again.append(done))
            middle = time.process_time()
            fresh = scan([root], without)
            seconds = f"{middle - begin:.2f} s, from scratch {time.process_time() - middle:.2f} s"
            print(f"{number}: {path.relative_to(root)}: {how}; {len(again)} files again; {seconds}", flush=True)
            found = list(differences(known, fresh))
            bad += bool(found)
            for one in found[:10]:
                print(f"    {one[:2000]}", flush=True)
    print(f"{bad} of {arguments.rounds} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
