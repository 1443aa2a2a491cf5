"""Writes the files of a job or a cluster: all of them, or none."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write(files: Mapping[str, str], folder: Path, *, force: bool) -> None:
    """Write ``files`` into ``folder``, with the line ends of Linux; scripts can be run.

    Raises:
        NpuifyError: a file is there already and is another (unless ``force``), or one cannot be written. Then none is.
    """
    from npuify.rewrite.tree import fill_folder

    data = {name: text.encode("utf-8", "surrogateescape") for name, text in files.items()}
    if not force:
        for name, content in data.items():
            path = folder / name
            if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content):
                raise NpuifyError(
                    "already exists",
                    advice="nothing was written; choose another folder, or use --force",
                    file=str(path),
                )
    fill_folder(folder, data)
    for name in files:
        if name.endswith((".sh", ".py")):
            # A file system without such modes is no reason to fail: the scripts are started with bash.
            with contextlib.suppress(OSError):
                path = folder / name
                path.chmod(path.stat().st_mode | 0o111)
