"""The values of tensors that a capture kept, as NumPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

_TYPES = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "complex128": "<f8",
    "complex64": "<f4",
    "complex32": "<f2",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "bool": "|u1",
}


def numpy() -> Any:
    """NumPy, which only the comparison needs.

    Raises:
        NpuifyError: it is not installed.
    """
    try:
        import numpy
    except ImportError as error:
        raise NpuifyError(
            "comparing captures needs NumPy", advice="pip install 'npuify[verify]', or pip install numpy"
        ) from error
    return numpy


class Values:
    """A file of values, mapped into memory rather than read."""

    def __init__(self, path: Path) -> None:
        np = numpy()
        size = path.stat().st_size if path.is_file() else 0
        self._bytes = np.memmap(path, dtype="|u1", mode="r") if size else np.zeros(0, dtype="|u1")

    def read(self, start: int, count: int, dtype: str) -> Any:
        """``count`` values from a byte on; None for types that NumPy cannot hold, and where the file is too short."""
        if dtype not in _TYPES:
            return None
        np = numpy()
        kind = np.dtype(_TYPES[dtype])
        end = start + count * kind.itemsize
        if end > self._bytes.size:
            return None
        found = np.frombuffer(self._bytes[start:end].tobytes(), dtype=kind)
        return widened(found, dtype)


def widened(found: Any, dtype: str) -> Any:
    """bfloat16, which NumPy has as whole numbers, as the float32 that it is a part of."""
    np = numpy()
    if dtype == "bfloat16":
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found
