"""Reads one tensor from a .pt or .npy file, without torch and without running anything that the file names."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.verify.comparison.values import numpy, widened

if TYPE_CHECKING:
    from pathlib import Path

_STORAGES = {
    "DoubleStorage": ("<f8", "float64"),
    "FloatStorage": ("<f4", "float32"),
    "HalfStorage": ("<f2", "float16"),
    "BFloat16Storage": ("<u2", "bfloat16"),
    "LongStorage": ("<i8", "int64"),
    "IntStorage": ("<i4", "int32"),
    "ShortStorage": ("<i2", "int16"),
    "CharStorage": ("|i1", "int8"),
    "ByteStorage": ("|u1", "uint8"),
    "BoolStorage": ("|u1", "bool"),
}
_LARGEST = 1 << 31
"""Bytes of values that are read at most."""


def load(path: Path) -> Any:
    """The tensor's values, flat, as NumPy has them; None where the file holds anything but one plain tensor."""
    np = numpy()
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False).reshape(-1)
        if path.suffix == ".pt":
            return _from_archive(path)
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile):
        return None
    return None


def _from_archive(path: Path) -> Any:
    np = numpy()
    with zipfile.ZipFile(path) as archive:
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        if any(info.file_size > _LARGEST for info in archive.infolist()):
            return None
        found = _Plain(io.BytesIO(archive.read(names["data.pkl"]))).load()
        if not isinstance(found, _Found):
            return None
        kind, dtype = _STORAGES[found.storage]
        values = np.frombuffer(archive.read(names[f"data/{found.key}"]), dtype=kind)
    if found.offset or values.size != found.count or not found.contiguous:
        step = values.itemsize
        strided = np.lib.stride_tricks.as_strided(
            _checked(values, found), found.shape, [one * step for one in found.stride], writeable=False
        )
        values = np.ascontiguousarray(strided).reshape(-1)
    return widened(values, dtype)


def _checked(values: Any, found: _Found) -> Any:
    """The storage from its offset on; strides that would leave it are an error."""
    reach = sum((size - 1) * step for size, step in zip(found.shape, found.stride, strict=True)) if found.count else 0
    if found.offset < 0 or min(found.stride, default=0) < 0 or found.offset + reach >= max(values.size, 1):
        raise ValueError("strides beyond the storage")
    return values[found.offset :]


class _Found:
    """A tensor as the pickle describes it."""

    def __init__(self, storage: tuple[str, str], offset: int, shape: Any, stride: Any, *_rest: Any) -> None:
        self.storage, self.key = storage
        self.offset = int(offset)
        self.shape = tuple(map(int, shape))
        self.stride = tuple(map(int, stride))
        self.count = 1
        for size in self.shape:
            self.count *= size
        wanted, step = [], 1
        for size in reversed(self.shape):
            wanted.append(step)
            step *= size
        pairs = zip(self.shape, self.stride, reversed(wanted), strict=True)
        self.contiguous = all(size == 1 or own == right for size, own, right in pairs)


def _parameter(data: Any, *_rest: Any) -> Any:
    return data


def _nothing(*_rest: Any) -> dict[str, Any]:
    return {}


class _Plain(pickle.Unpickler):
    """Knows the few names that a pickled tensor is made of, and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Found
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _parameter
        if (module, name) == ("collections", "OrderedDict"):
            return _nothing
        if module == "torch" and name in _STORAGES:
            return name
        raise pickle.UnpicklingError(phrase("{module}.{name} is no part of a plain tensor", module=module, name=name))

    def persistent_load(self, pid: Any) -> Any:
        _, storage, key, *_ = pid
        return storage, str(key)
