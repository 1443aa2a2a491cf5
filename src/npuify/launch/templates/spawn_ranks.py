"""Starts a program once per card of this machine, with torch.multiprocessing.spawn.

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment,
as under torchrun, and runs the program as if it had been started alone. Written by npuify; it needs torch only.
"""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any


def settings() -> argparse.Namespace:
    """The command line; what follows ``--`` is the program and its arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--node-rank", type=int, required=True)
    parser.add_argument("--cards", type=int, required=True)
    parser.add_argument("--master-addr", required=True)
    parser.add_argument("--master-port", required=True)
    parser.add_argument("--log-dir", type=Path, required=True)
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program", nargs="+")
    return parser.parse_args()


def log_of(folder: Path, rank: int) -> Path:
    """Where a rank writes."""
    return folder / f"rank_{rank}.log"


def run_rank(local_rank: int, given: argparse.Namespace) -> None:
    """One process: takes its place among the ranks, and becomes the program."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    rank = given.node_rank * given.cards + local_rank
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(local_rank),
        GROUP_RANK=str(given.node_rank),
        WORLD_SIZE=str(given.nodes * given.cards),
        LOCAL_WORLD_SIZE=str(given.cards),
        MASTER_ADDR=given.master_addr,
        MASTER_PORT=given.master_port,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    log = os.open(log_of(given.log_dir, rank), os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = list(given.program)
    try:
        if given.module:
            sys.path[0] = str(Path.cwd())
            runpy.run_module(given.program[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(given.program[0]).resolve().parent)
            runpy.run_path(given.program[0], run_name="__main__")
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit(1)


def show(log: Path, ended: threading.Event) -> None:
    """Print what is written to ``log``, until the end."""
    with log.open(encoding="utf-8", errors="backslashreplace") as stream:
        while True:
            last = ended.is_set()
            text = stream.read()
            if text:
                sys.stdout.write(text)
                sys.stdout.flush()
            elif last:
                return
            else:
                time.sleep(0.2)


def end(processes: list[Any]) -> None:
    """Stop processes: first with a request, after ten seconds by force."""
    for process in processes:
        if process.is_alive():
            process.terminate()
    limit = time.monotonic() + 10
    for process in processes:
        process.join(max(0.1, limit - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


def stopped(number: int, frame: FrameType | None) -> None:
    """A signal's handler: leave with the exit code that belongs to it."""
    sys.exit(128 + number)


def main() -> int:
    """Start the ranks of this machine and wait for them; the first failure stops all.

    Returns:
        0, or the exit code of the rank that failed first.
    """
    import torch.multiprocessing as processes

    given = settings()
    first = given.node_rank * given.cards
    for rank in range(first, first + given.cards):
        log_of(given.log_dir, rank).write_text("", encoding="utf-8")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    context = processes.spawn(run_rank, args=(given,), nprocs=given.cards, join=False)
    ended = threading.Event()
    viewer = threading.Thread(target=show, args=(log_of(given.log_dir, first), ended), daemon=True)
    viewer.start()
    code = 0
    try:
        while not context.join():
            pass
    except processes.ProcessExitedException as error:
        code = error.exit_code if error.exit_code > 0 else 128 - error.exit_code
        log = log_of(given.log_dir, first + error.error_index)
        print(
            f"spawn_ranks.py: rank {first + error.error_index} failed with exit code {code}; see {log}", file=sys.stderr
        )
    except processes.ProcessRaisedException as error:
        code = 1
        print(f"spawn_ranks.py: rank {first + error.error_index} could not start: {error}", file=sys.stderr)
    finally:
        end(context.processes)
        ended.set()
        viewer.join(5)
    return code


if __name__ == "__main__":
    sys.exit(main())
