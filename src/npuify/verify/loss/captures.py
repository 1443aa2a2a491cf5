"""The loss curve in a folder that ``npuify verify capture`` wrote.

A capture is a folder with ``capture.json`` and, for each process, ``rankN/records.jsonl``. The loss of a backward pass
is a record ``{"event": "loss", "step": 0, "number": 1, "value": 2.3, ...}``; several of one step are averaged, as they
are parts of an accumulated batch.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from npuify.language import phrase
from npuify.model import NpuifyError

from .points import make_curve, number, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Curve

_MANIFEST: Final = "capture.json"


def is_capture(path: Path) -> bool:
    """Whether ``path`` is such a folder."""
    return (path / _MANIFEST).is_file()


def read_capture(path: Path, metric: str = "") -> Curve:
    """The loss of the first process; that of each backward pass, with a scaler's scale taken off.

    Raises:
        NpuifyError: the capture holds no loss, or cannot be read.
    """
    if metric:
        raise NpuifyError("a capture contains only one loss, without a name", file=str(path))
    ranks = sorted(path.glob("rank*/records.jsonl"))
    if not ranks:
        raise NpuifyError("no process wrote to this capture", file=str(path))
    losses: defaultdict[int, list[float]] = defaultdict(list)
    process: dict[str, Any] = {}
    for record in records(ranks[0]):
        if record.get("event") == "process":
            process = record
        elif record.get("event") == "loss":
            step, value = whole(record.get("step")), number(record.get("value"))
            if step is not None and value is not None:
                losses[step].append(value)
    points = [(step, fmean(values)) for step, values in sorted(losses.items())]
    notes = [phrase("{number} processes: the loss is the first one's", number=len(ranks))] if len(ranks) > 1 else []
    return make_curve(str(path), "capture", "loss", points, notes, _device(path, process))


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Each record of a process; what a program that died left half written is left out.

    Raises:
        NpuifyError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record
    except OSError as error:
        raise NpuifyError(phrase("cannot be read: {value}", value=error.strerror or error), file=str(path)) from None


def _device(path: Path, process: dict[str, Any]) -> str:
    try:
        asked = json.loads((path / _MANIFEST).read_text(encoding="utf-8")).get("device")
    except (OSError, ValueError, AttributeError):
        asked = ""
    if process.get("simulated"):
        return "npu (simulated)"
    devices = process.get("devices") or {}
    if asked == "cpu" or not isinstance(devices, dict):
        return "cpu"
    return next((kind for kind in ("npu", "cuda") if kind in devices), "cpu")
