"""Scalars in TensorBoard's event files, without TensorFlow.

A file is a row of records: length (8 bytes, little-endian), a checksum of it (4), the data, a checksum of that (4).
The data is an ``Event`` message: 1 wall_time (double), 2 step (varint), 5 summary; a summary holds 1 value; a value
holds 1 tag, 2 simple_value (float), 8 tensor; a tensor holds 1 dtype, 4 content, 5 float_val, 6 double_val. Sources:
tensorflow/core: util/event.proto, framework/summary.proto, framework/tensor.proto, lib/io/record_writer.h.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase
from npuify.model import NpuifyError

from .choose import choose
from .points import make_curve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Curve

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_LARGEST: Final = 64 << 20
"""Bytes of one record that are read; pictures and graphs are larger and of no interest."""


def event_files(path: Path) -> list[Path]:
    """The event files that ``path`` is or holds, in the order of their names, which hold the time of their start."""
    if path.is_file():
        return [path]
    return sorted(
        (one for one in path.rglob("*tfevents*") if one.is_file()), key=lambda one: (str(one.parent), one.name)
    )


def read_events(path: Path, file: str, metric: str = "") -> Curve:
    """The loss in an event file, or in a folder with the files of one run.

    Raises:
        NpuifyError: it is no event file, holds no loss, several and none is chosen, or the folder holds several runs.
    """
    files = event_files(path)
    # A folder with files of its own is the run that is meant: an Estimator evaluates into one below it.
    files = [one for one in files if one.parent == path] or files
    if len({one.parent for one in files}) > 1:
        names = sorted({str(one.parent.relative_to(path)) for one in files})
        raise NpuifyError(
            phrase("this folder contains several runs: {names}", names=commas(names[:8])),
            advice="specify the folder of one run",
            file=file,
        )
    scalars: dict[str, list[tuple[int | None, float]]] = {}
    notes: list[str] = []
    for one in files:
        try:
            for tag, step, value in _scalars(one, notes):
                scalars.setdefault(tag, []).append((step, value))
        except OSError as error:
            raise NpuifyError(phrase("cannot be read: {value}", value=error.strerror or error), file=str(one)) from None
    tag = choose(scalars, metric, file)
    points = scalars[tag]
    if len({step for step, _ in points}) == 1 and len(points) > 1:
        points = [(None, value) for _, value in points]
    return make_curve(file, "tensorboard", tag, points, notes)


def _scalars(path: Path, notes: list[str]) -> Iterator[tuple[str, int, float]]:
    for record in _records(path, notes):
        step, summaries = 0, []
        try:
            for field, kind, value in _fields(record):
                if field == 2 and kind == _VARINT and isinstance(value, int):
                    step = value - (1 << 64) if value >> 63 else value
                elif field == 5 and isinstance(value, bytes):
                    summaries.append(value)
            for summary in summaries:
                for field, _, value in _fields(summary):
                    if field == 1 and isinstance(value, bytes):
                        found = _value(value)
                        if found is not None:
                            yield found[0], step, found[1]
        except (ValueError, struct.error):
            notes.append(phrase("{name}: a record could not be parsed and was ignored", name=path.name))


def _records(path: Path, notes: list[str]) -> Iterator[bytes]:
    with path.open("rb") as stream:
        first = True
        while True:
            head = stream.read(12)
            if not head:
                return
            length = int.from_bytes(head[:8], "little")
            if len(head) < 12 or _masked(head[:8]) != int.from_bytes(head[8:], "little"):
                if first:
                    raise NpuifyError("is not a TensorBoard event file", file=str(path))
                notes.append(phrase("{name}: truncated; the part before is used", name=path.name))
                return
            first = False
            if length > _LARGEST:
                stream.seek(length + 4, 1)
                continue
            data = stream.read(length)
            if len(data) < length or len(stream.read(4)) < 4:
                notes.append(phrase("{name}: truncated, as if a program is still writing it", name=path.name))
                return
            yield data


def _value(data: bytes) -> tuple[str, float] | None:
    tag, number = "", None
    for field, kind, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == 2 and kind == _FIXED32 and isinstance(value, bytes):
            number = struct.unpack("<f", value)[0]
        elif field == 8 and isinstance(value, bytes):
            number = _tensor(value)
    return (tag, number) if tag and number is not None else None


def _tensor(data: bytes) -> float | None:
    """The number in a tensor that holds one float or double; None for any other."""
    kinds = {1: "f", 2: "d"}
    dtype, content = 0, b""
    for field, _kind, value in _fields(data):
        if field == 1 and isinstance(value, int):
            dtype = value
        elif field == 4 and isinstance(value, bytes):
            content = value
        elif field in (5, 6) and isinstance(value, bytes):
            content = value
            dtype = field - 4
        elif field == 2 and isinstance(value, bytes) and b"\x08" in value:
            sizes = [
                one
                for name, _, shape in _fields(value)
                if name == 2 and isinstance(shape, bytes)
                for inner, _, one in _fields(shape)
                if inner == 1
            ]
            if any(size != 1 for size in sizes):
                return None
    code = kinds.get(dtype)
    if code is None or len(content) != struct.calcsize(code):
        return None
    return float(struct.unpack(f"<{code}", content)[0])


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field of a protobuf message."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield key >> 3, kind, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if place + size > len(data):
            raise ValueError("a field goes past the end")
        yield key >> 3, kind, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        if place >= len(data) or shift > 63:
            raise ValueError("a number goes past the end")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _table() -> tuple[int, ...]:
    made = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ 0x82F63B78 if byte & 1 else byte >> 1
        made.append(byte)
    return tuple(made)


_CRC: Final = _table()


def _masked(data: bytes) -> int:
    """The checksum that stands after a record's length: CRC-32C, turned by 15 bits and shifted."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
