"""Runs many small programs one after the other in this process, each as if it were alone: main.py of each folder that is named.

A program that did otherwise here than it should is run again by itself, so that what is left over of others decides nothing.
A line of JSON for each goes to the file that is named first: what it printed and where, and where it stopped.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import logging
import os
import random
import runpy
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed
from torch.distributed import distributed_c10d

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 60
"""Seconds after which the process is ended: a program takes some milliseconds."""
_groups: list[Any] = []
"""Groups of processes that programs made: none is taken down, which gloo's threads may keep from ending."""


def _run(folder: Path) -> dict[str, Any]:
    said: list[tuple[str, list[tuple[str, int]]]] = []
    real = builtins.print

    def note(*values: Any, **options: Any) -> None:
        text = io.StringIO()
        real(*values, **{**options, "file": text})
        frame, callers = sys._getframe(1), list[tuple[str, int]]()
        while frame is not None:
            inside = _inside(frame.f_code.co_filename, folder)
            if inside:
                callers.append((inside, frame.f_lineno))
            frame = frame.f_back
        said.append((text.getvalue().rstrip("\n"), callers))

    error, places = "", list[tuple[str, int]]()
    try:
        with _alone(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            builtins.print = note
            try:
                runpy.run_path("main.py", run_name="__main__")
            finally:
                builtins.print = real
    except BaseException as caught:
        error = f"{type(caught).__name__}: {caught}"
        # Of an error with a cause, each: the first may be all that names a place of the program's.
        for frame in traceback.extract_tb(caught.__traceback__):
            inside = _inside(frame.filename, folder)
            if inside and frame.lineno:
                places.append((inside, frame.lineno))
    return {"said": said, "error": error, "places": places}


def _inside(file: str, folder: Path) -> str:
    path = folder / file
    inside = path.is_relative_to(folder) and not file.startswith("<")
    return path.relative_to(folder).as_posix() if inside else ""


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """What a program changes of this process is put back."""
    modules, variables, path, arguments = set(sys.modules), dict(os.environ), list(sys.path), sys.argv
    loggers = set(logging.Logger.manager.loggerDict)
    os.chdir(folder)
    for name in ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"):
        os.environ.pop(name, None)
    sys.path[0] = str(folder)
    sys.argv = ["main.py"]
    random.seed(0)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), _devices(), _transfer():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        for name in set(logging.Logger.manager.loggerDict) - loggers:
            del logging.Logger.manager.loggerDict[name]  # the next may have one of this name
        os.environ.clear()
        os.environ.update(variables)
        sys.path[:], sys.argv = path, arguments
        sys.path_importer_cache.pop(str(folder), None)


@contextlib.contextmanager
def _devices() -> Iterator[None]:
    fake = sys.modules.get("tests.fuzz.fake_cuda")
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        _forget_groups()
        if fake is not None:
            fake.reset()
        else:
            sys.modules["torch_npu"].npu.set_device(0)


def _forget_groups() -> None:
    """As no program had made a group of processes yet; those that there are live on, or gloo's threads might hang."""
    if torch.distributed.is_initialized():
        world = distributed_c10d._world
        _groups.extend(world.pg_map.items())
        distributed_c10d._update_default_pg(None)
        for kept in ("map", "names", "group_ranks", "backend_config", "to_tag", "coalesce_state"):
            getattr(world, f"pg_{kept}").clear()
        world.tags_to_pg.clear()
        world.group_count = 0
        distributed_c10d._unregister_all_process_groups()


@contextlib.contextmanager
def _transfer() -> Iterator[None]:
    """Undoes ``transfer_to_npu``."""
    simulated = sys.modules.get("tests.fuzz.npu")
    try:
        yield
    finally:
        if simulated is not None:
            simulated.undo_transfer()


def main(output: str, *folders: str) -> None:
    """Run them all."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with Path(output).open("w", encoding="utf-8") as file:
        for folder in folders:
            signal.alarm(LONGEST)
            file.write(json.dumps(_run(Path(folder))) + "\n")
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
