"""Loss curves in CSV files, JSON lines, and JSON: the trainer state of Hugging Face among them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.model import NpuifyError

from .choose import STEPS, choose, step_name
from .points import counted, make_curve, number, whole

if TYPE_CHECKING:
    from .model import Curve


def read_csv(text: str, file: str, metric: str = "") -> Curve:
    """A table with a line of names, as Lightning, W&B and TensorBoard's download write it; or two bare columns, step
    and loss.

    Raises:
        NpuifyError: it holds no loss, or several and none is chosen.
    """
    delimiter = _delimiter(text)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True) if row]
    if not rows:
        raise NpuifyError("is empty", file=file)
    head = [name.strip() for name in rows[0]]
    if all(number(cell) is not None for cell in head):
        if len(head) > 2 or metric:
            raise NpuifyError("has no header line", file=file)
        pairs = [(whole(row[0]) if len(row) > 1 else None, number(row[-1])) for row in rows]
        return make_curve(file, "csv", "loss", [(step, value) for step, value in pairs if value is not None])
    if [name.lower() for name in head] == ["wall time", "step", "value"] and not metric:
        column = head[2]
    else:
        column = choose(head, metric, file)
    place, step = head.index(column), step_name(head)
    where = head.index(step) if step else -1
    points = []
    for row in rows[1:]:
        value = number(row[place]) if place < len(row) else None
        if value is not None:
            points.append((whole(row[where]) if 0 <= where < len(row) else None, value))
    return make_curve(file, "csv", column, points)


def _delimiter(text: str) -> str:
    head = text.lstrip("\ufeff").split("\n", 1)[0]
    return max(",\t;", key=head.count) if any(mark in head for mark in ",\t;") else " "


def read_mlflow(text: str, file: str) -> Curve:
    """A file of MLflow's folder ``metrics``, which is called like its metric: milliseconds, value, step.

    Raises:
        NpuifyError: it holds no numbers.
    """
    rows = [line.split() for line in text.splitlines()]
    told = [(whole(row[2]), number(row[1])) for row in rows if len(row) == 3]
    points = [(step, value) for step, value in told if value is not None]
    return make_curve(file, "mlflow", file.replace("\\", "/").rpartition("/")[2], points)


def read_json_lines(text: str, file: str, metric: str = "") -> Curve:
    """One object a line, as fairseq, detectron2, MMEngine and many scripts write it. Lines of other kinds are left out.

    Raises:
        NpuifyError: it holds no loss, or several and none is chosen.
    """
    rows, bad = [], 0
    for line in text.splitlines():
        line = line.strip()
        if not line.startswith("{"):
            bad += bool(line)
            continue
        try:
            rows.append(json.loads(line))
        except ValueError:
            bad += 1
    return _rows(
        rows,
        file,
        metric,
        "json lines",
        [phrase("{lines} ignored, since they are not JSON", lines=counted(bad, "line"))] if bad else [],
    )


def read_json(text: str, file: str, metric: str = "") -> Curve:
    """``trainer_state.json`` of Hugging Face, a list of objects or of numbers, or an object of lists.

    Raises:
        NpuifyError: it is no JSON, or holds no loss.
    """
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise NpuifyError(phrase("is not JSON: {error}", error=error), file=file) from None
    if isinstance(value, dict) and isinstance(value.get("log_history"), list):
        return _rows(value["log_history"], file, metric, "trainer state")
    if isinstance(value, dict):
        lists = {name: item for name, item in value.items() if isinstance(item, list) and item}
        column = choose(lists, metric, file)
        step = step_name(list(lists))
        numbers = lists[step] if step and len(lists[step]) == len(lists[column]) else [None] * len(lists[column])
        points = [(whole(one), number(two)) for one, two in zip(numbers, lists[column], strict=False)]
        return make_curve(file, "json", column, [(step, value) for step, value in points if value is not None])
    if isinstance(value, list) and value and all(number(one) is not None for one in value):
        return make_curve(file, "json", "loss", [(None, number(one) or 0.0) for one in value])
    if isinstance(value, list) and value and all(isinstance(one, list) and len(one) == 3 for one in value):
        # TensorBoard's download: time, step, value.
        told = [(whole(step), number(found)) for _, step, found in value]
        return make_curve(file, "json", "loss", [(step, found) for step, found in told if found is not None])
    if isinstance(value, list):
        return _rows(value, file, metric, "json")
    raise NpuifyError("this JSON contains no curve", file=file)


def _rows(rows: list[Any], file: str, metric: str, kind: str, notes: list[str] | None = None) -> Curve:
    flat = [_flat(row) for row in rows if isinstance(row, dict) and not _of_validation(row)]
    notes = list(notes or ())
    names: dict[str, None] = {}
    for row in flat:
        names.update(dict.fromkeys(name for name, value in row.items() if number(value) is not None))
    column = choose(names, metric, file)
    found = step_name([name for name in names if name.lower() in STEPS])
    points = []
    for row in flat:
        value = number(row.get(column))
        if value is not None:
            points.append((whole(row.get(found)), value))
    named = [point for point in points if point[0] is not None]
    if len(points) > len(named) > len(points) // 2:
        notes.append(
            phrase(
                "{rows} without a step ignored, such as a final summary", rows=counted(len(points) - len(named), "row")
            )
        )
        points = named
    return make_curve(file, kind, column, points, notes)


def _of_validation(row: dict[str, Any]) -> bool:
    """Whether a row says of itself that it is not about training: ``{"mode": "val", "loss": 3}``."""
    words = {str(row.get(name)).lower() for name in ("mode", "split", "phase", "stage", "subset")}
    return bool(words & {"val", "valid", "validation", "eval", "evaluation", "test", "dev"})


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """``row`` with objects inside it named by a slash: ``{"train": {"loss": 1}}`` becomes ``train/loss``."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            made.update({f"{name}/{inner}": one for inner, one in value.items()})
        else:
            made[name] = value
    return made
