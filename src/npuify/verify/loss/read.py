"""Tell what a path holds, and read the loss curve in it."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError

from .events import event_files, read_events
from .logs import read_log
from .tables import read_csv, read_json, read_json_lines, read_mlflow

if TYPE_CHECKING:
    from .model import Curve

_LARGEST: Final = 1 << 30
"""Bytes of text that are read."""


def read_curve(path: Path, *, metric: str = "", pattern: str = "") -> Curve:
    """The loss curve in ``path``: a capture, TensorBoard's event files, a CSV file, JSON lines, JSON, or a plain log.

    What it is, is told by its content and not by its name alone.

    Args:
        metric: the name of the loss, where there are several.
        pattern: for a plain log; see :func:`.logs.read_log`.

    Raises:
        NpuifyError: there is no such path, or no loss in it.
    """
    file = str(path)
    if not path.exists():
        raise NpuifyError("no such file or folder", file=file)
    if path.is_dir():
        return _folder(path, file, metric)
    if "tfevents" in path.name and not pattern:
        return read_events(path, file, metric)
    text = _text(path)
    if pattern:
        return read_log(text, file, metric, pattern)
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise NpuifyError("is empty", file=file)
    if start[0] in "{[":
        return _json(text, file, metric)
    head = start.split("\n", 1)[0].strip()
    if re.fullmatch(r"\d{13} \S+ \d+", head):
        return read_mlflow(text, file)
    if path.suffix.lower() in (".csv", ".tsv"):
        return read_csv(text, file, metric)
    if re.fullmatch(r'[\w/."\' -]+(?:[,\t;][\w/."\' -]*)+', head):
        try:
            return read_csv(text, file, metric)
        except NpuifyError as error:
            # A sentence with a comma looks like the names of columns.
            try:
                return read_log(text, file, metric)
            except NpuifyError:
                raise error from None
    return read_log(text, file, metric)


def _folder(path: Path, file: str, metric: str) -> Curve:
    from .captures import is_capture, read_capture

    if is_capture(path):
        return read_capture(path, metric)
    if event_files(path):
        return read_events(path, file, metric)
    for name in ("trainer_state.json", "metrics.csv", "scalars.json", "metrics.json"):
        if (path / name).is_file():
            return read_curve(path / name, metric=metric)
    states = sorted(path.glob("checkpoint-*/trainer_state.json"), key=lambda one: _number(one.parent.name))
    if states:
        return read_curve(states[-1], metric=metric)
    raise NpuifyError(
        "no loss curve was found in this folder",
        advice="a folder must be a capture, or contain TensorBoard event files or trainer_state.json; otherwise "
        "specify the file",
        file=file,
    )


def _number(name: str) -> int:
    match = re.search(r"(\d+)$", name)
    return int(match[1]) if match else 0


def _json(text: str, file: str, metric: str) -> Curve:
    first = text.lstrip("\ufeff \t\r\n").split("\n", 1)[0]
    try:
        alone = isinstance(json.loads(first), dict)
    except ValueError:
        alone = False
    if alone and len([line for line in text.splitlines() if line.strip()]) > 1:
        return read_json_lines(text, file, metric)
    try:
        json.loads(text)
    except ValueError:
        # Hugging Face prints {'loss': 0.5, ...}, which is Python and no JSON: a log.
        return read_log(text, file, metric)
    return read_json(text, file, metric)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise NpuifyError("is larger than 1 GiB", advice="reduce it to the lines about the loss", file=str(path))
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise NpuifyError(
            phrase("cannot be read: {value}", value=getattr(error, "strerror", "") or error), file=str(path)
        ) from None
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return data.decode("utf-8-sig", "replace")
