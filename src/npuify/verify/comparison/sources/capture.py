"""Reads a capture's folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.verify.comparison.model import Call, Capture, Gradient, Loss, Module, OptimizerStep, Rank, Tensor, Value
from npuify.verify.comparison.values import Values

if TYPE_CHECKING:
    from collections.abc import Callable


def read(folder: Path) -> Capture:
    """The capture, or the dump of msprobe, in a folder.

    Raises:
        NpuifyError: there is none, it is damaged, or of a format that this npuify does not know.
    """
    if not folder.exists():
        raise NpuifyError("no such folder", file=str(folder))
    manifest = folder / "capture.json"
    if manifest.is_file():
        return _own(folder, manifest)
    from npuify.verify.comparison.sources.msprobe import find, read_dump

    dumps = find(folder)
    if dumps:
        return read_dump(folder, dumps)
    raise NpuifyError(
        "contains no capture",
        file=str(folder),
        advice="Create one with `npuify verify capture -o DIR PROGRAM`, or specify a folder with an msprobe dump.json.",
    )


def _own(folder: Path, manifest: Path) -> Capture:
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
        if known.get("format") != 1:
            raise NpuifyError(
                phrase("format {get!r} of a capture is unknown", get=known.get("format")), file=str(manifest)
            )
        ranks = [_rank(one) for one in sorted(folder.glob("rank*"), key=_numbers) if (one / "records.jsonl").is_file()]
        capture = Capture(
            source=str(folder),
            form="npuify",
            run=str(known.get("run", "")),
            settings=dict(known.get("settings", {})),
            arguments=tuple(map(str, known.get("arguments", ()))),
            ranks=sorted(ranks, key=lambda one: one.rank),
            notes=list(known.get("result", {}).get("notes", [])),
            code=int(known.get("result", {}).get("code", 0)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NpuifyError(phrase("the capture is damaged: {error}", error=error), file=str(folder)) from error
    if not any(rank.calls for rank in capture.ranks):
        raise NpuifyError("nothing was captured: it contains no module call", file=str(folder))
    return capture


def _numbers(folder: Path) -> list[int]:
    """``rank3-2`` → 3 and 2: the second process of that rank."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _rank(folder: Path) -> Rank:
    values = Values(folder / "values.bin")
    found = Rank(rank=0, process={})
    with (folder / "records.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                found.notes.append("the last record is truncated")
                break
            record = json.loads(line)
            reader = _READERS.get(record["event"])
            if reader is not None:
                reader(found, record, values)
    return found


def _process(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.process = record
    rank.rank = int(record["rank"])


def _call(rank: Rank, record: dict[str, Any], values: Values) -> None:
    rank.calls.append(
        Call(
            name=record["name"],
            step=record["step"],
            phase=record["phase"],
            root=record["root"],
            number=record["number"],
            start=record["from"],
            end=record["to"],
            within=record["within"],
            inputs=tuple(_tensor(one, values) for one in record["inputs"]),
            outputs=tuple(_tensor(one, values) for one in record["outputs"]),
            training=record.get("training", True),
            autocast=record.get("autocast", ""),
            operator=record["event"] == "operator",
            place=record.get("place", ""),
            numbers=record.get("numbers", {}),
        )
    )


def _gradient(rank: Rank, record: dict[str, Any], values: Values) -> None:
    targets = tuple((int(start), str(slot)) for start, slot in record["of"])
    rank.gradients.append(Gradient(record["step"], record["at"], targets, _tensor(record["is"], values)))


def _value(rank: Rank, record: dict[str, Any], values: Values) -> None:
    tensor = _tensor(record["is"], values) if "is" in record else None
    rank.values.append(
        Value(
            record["kind"],
            record["when"],
            record["name"],
            record["step"],
            record["at"],
            record["optimizer"],
            tensor,
        )
    )


def _loss(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.losses.append(
        Loss(
            record["step"],
            record["number"],
            record["at"],
            float(record["value"]),
            float(record["scale"]),
            record["dtype"],
        )
    )


def _optimizer(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    groups = tuple((group["settings"], tuple(group["parameters"])) for group in record["groups"])
    rank.optimizers.append(OptimizerStep(record["step"], record["number"], record["at"], record["class"], groups))


def _module(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.modules[record["name"]] = Module(
        record["name"], record["class"], record["place"], record["settings"], record.get("package", "")
    )


def _seed(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.seeds.append(int(record["seed"]))


def _loader(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.loaders.append(record)


def _switches(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    rank.switches.update(record["switches"])


def _note(rank: Rank, record: dict[str, Any], _values: Values) -> None:
    if record["text"] not in rank.notes:
        rank.notes.append(record["text"])


_READERS: dict[str, Callable[[Rank, dict[str, Any], Values], None]] = {
    "process": _process,
    "call": _call,
    "operator": _call,
    "gradient": _gradient,
    "value": _value,
    "loss": _loss,
    "optimizer": _optimizer,
    "module": _module,
    "seed": _seed,
    "loader": _loader,
    "switches": _switches,
    "note": _note,
}


def _tensor(record: dict[str, Any], values: Values) -> Tensor:
    at, kept = record.get("at", -1), record.get("kept", 0)
    dtype = record["dtype"]
    return Tensor(
        slot=record.get("slot", ""),
        dtype=dtype,
        shape=tuple(record["shape"]),
        device=record.get("device", ""),
        requires_grad=record.get("grad", False),
        count=record.get("count", 0),
        low=record.get("min"),
        high=record.get("max"),
        mean=record.get("mean"),
        norm=record.get("norm"),
        nan=record.get("nan", 0),
        inf=record.get("inf", 0),
        zero=record.get("zero", 0),
        rows=tuple(record.get("rows", ())),
        key=at if at >= 0 else None,
        load=(lambda: values.read(at, kept, dtype)) if at >= 0 and kept else None,
    )
