"""The TensorFlow tables, each read when it is first asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase
from npuify.model import NpuifyError

from .schema import FORMAT, Adapter, AdapterFile, AdapterOption, Form, KerasFile, StatusFile, Use

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = DATA / "tensorflow"
PACKAGES: Final = ("npu_bridge", "npu_device")
"""Packages of the adapter that a file was generated for."""
STATUS_OF: Final = ("1.15", "2.6")
"""Versions of TensorFlow that the vendor has a list of names for."""

_File = TypeVar("_File", AdapterFile, StatusFile, KerasFile)


@cache
def forms() -> tuple[Form, ...]:
    """The rows of ``forms.toml``."""
    return tuple(read_rows(FOLDER / "forms.toml", "form", Form))


@cache
def adapter_options() -> Mapping[str, AdapterOption]:
    """The rows of ``options.toml`` by option; a row for several stands there for each of them."""
    found: dict[str, AdapterOption] = {}
    for row in read_rows(FOLDER / "options.toml", "option", AdapterOption):
        for name in row.name.removeprefix("env ").split(", "):
            found[name] = row
    return found


@cache
def adapters() -> tuple[Adapter, ...]:
    """The rows of ``adapters.toml``: each version of TensorFlow that runs on an NPU, the oldest first."""
    return tuple(read_rows(FOLDER / "adapters.toml", "adapter", Adapter))


@cache
def uses() -> tuple[Use, ...]:
    """The rows of ``uses.toml``."""
    return tuple(read_rows(FOLDER / "uses.toml", "use", Use))


@cache
def package(name: str) -> AdapterFile:
    """The names of one of ``PACKAGES``.

    Raises:
        NpuifyError: the file is not there, or not of the layout that this version reads.
    """
    return _read(f"{name}.json", AdapterFile)


@cache
def vendor_status(tensorflow: str) -> Mapping[str, str]:
    """What the vendor's list says of the names of one of ``STATUS_OF``, by name without ``tf.`` before it.

    It is a hint: much of what runs is called "in analysis" there, which is left out here, or even unsupported.

    Raises:
        NpuifyError: as :func:`package`.
    """
    file = _read(f"api_{tensorflow}.json", StatusFile)
    return {name: status for status, names in file.status.items() for name in names.split()}


@cache
def keras_names(tensorflow: str) -> Mapping[str, frozenset[str]]:
    """The names that tf.keras of one of ``STATUS_OF`` has, by module; that of tf.keras itself is empty.

    Raises:
        NpuifyError: as :func:`package`.
    """
    modules = _read("keras.json", KerasFile).names[tensorflow]
    return {module: frozenset(names.split()) for module, names in modules.items()}


def _read(name: str, kind: type[_File]) -> _File:
    path = FOLDER / name
    try:
        file = msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise NpuifyError(phrase("cannot read the table: {error}", error=error), file=str(path)) from error
    if file.format != FORMAT:
        raise NpuifyError(
            phrase("the table has layout {format}, not {FORMAT}", format=file.format, FORMAT=FORMAT), file=str(path)
        )
    return file
