"""How fast ``npuify diagnose`` reads: MB/s, against plain reading of the same lines, and the memory it takes.

    python benchmarks/diagnose_throughput.py [--megabytes 128]

Three kinds of logs are made, from a fixed seed: a training run whose lines differ in numbers, a program that prints
text that never repeats, and CANN's own logs in which every line is an error. Each is read by ``for line in file`` and
by ``diagnose``, by turns; the best of three counts.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.diagnosis.run import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = "the model reads tokens from a long text and writes words that nobody has seen before in this order".split()


def training(random_: random.Random) -> Iterator[str]:
    """Progress of eight ranks, as torchrun writes it."""
    step = 0
    while True:
        step += 1
        time_ = f"2025-06-01 12:{step // 60 % 60:02d}:{step % 60:02d},{random_.randrange(1000):03d}"
        for rank in range(8):
            figures = f"loss {random_.random():.4f} lr {random_.random():.3e} grad_norm {random_.random():.3f}"
            yield f"[rank{rank}]: {time_} INFO step {step} {figures} tokens/s {random_.randrange(9999)}"


def text(random_: random.Random) -> Iterator[str]:
    """Samples that a model writes."""
    while True:
        yield " ".join(random_.choices(WORDS, k=18)) + f" {random_.getrandbits(64):x}"


def plog(random_: random.Random) -> Iterator[str]:
    """CANN's own log when everything fails."""
    files = [f"hccl_{name}.cc" for name in ("socket", "communicator", "manager", "link", "ping", "host")]
    while True:
        time_ = (
            f"2025-07-23-03:47:{random_.randrange(60):02d}.{random_.randrange(1000):03d}.{random_.randrange(1000):03d}"
        )
        where = f"[{random_.choice(files)}:{random_.randrange(2000)}] [{random_.randrange(99999)}]"
        what = f"wait socket establish timeout, role[1] rank[{random_.randrange(64)}] timeout[120]"
        yield f"[ERROR] HCCL({random_.randrange(9999)},python3):{time_} {where}[Wait][LinkEstablish]{what}"


def write(path: Path, lines: Iterator[str], size: int) -> None:
    """Write about ``size`` bytes and, at the end, a failure."""
    written = 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(next(lines).encode() + b"\n")
        file.write(
            b"[rank3]: RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity\n"
        )


def read_lines(path: Path) -> int:
    """What anything that looks at lines has to do."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def main() -> None:
    """Print one line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=128)
    size = parser.parse_args().megabytes << 20
    print(f"{'log':<10}{'MB':>6}{'lines':>10}{'diagnose MB/s':>15}{'plain MB/s':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in (training, text, plog):
            path = Path(folder) / f"{kind.__name__}.log"
            write(path, kind(random.Random(7)), size)
            megabytes = path.stat().st_size / 1e6
            plain = ours = float("inf")
            for _ in range(3):
                start = time.process_time()
                lines = read_lines(path)
                plain = min(plain, time.process_time() - start)
                start = time.process_time()
                found = diagnose([path])
                ours = min(ours, time.process_time() - start)
                assert found.cause in ("out-of-memory", "link-setup"), found.cause
                assert found.lines == lines
            print(
                f"{kind.__name__:<10}{megabytes:>6.0f}{lines:>10}{megabytes / ours:>15.0f}{megabytes / plain:>12.0f}"
                f"{ours / plain:>8.1f}"
            )
            path.unlink()
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
