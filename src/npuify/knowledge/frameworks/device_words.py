"""Words by which packages beside PyTorch ask for a GPU: what they mean on a machine with NPUs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence, Severity  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Mapping


class DeviceWord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/device_words.toml``: how a package asks for a GPU, and what comes of it."""

    package: str
    """As people call it."""
    modules: tuple[str, ...]
    """What it is imported as; of a name with dots all that lies below it."""
    message: str
    advice: str
    severity: Severity
    evidence: Evidence
    source: str
    names: tuple[str, ...] = ()
    """Functions, classes and constants; a star at the end stands for any ending."""
    arguments: tuple[str, ...] = ()
    """Parameters of its calls; one that is given 0, None or False asks for nothing."""
    methods: tuple[str, ...] = ()
    """Last names of calls that take the arguments although nobody sees whose they are: of an object of the package."""

    def has(self, name: str) -> bool:
        """Whether a qualified name is the package's."""
        return any(name == module or name.startswith(f"{module}.") for module in self.modules)


@cache
def device_words() -> tuple[DeviceWord, ...]:
    """All rows."""
    return tuple(read_rows(DATA / "frameworks" / "device_words.toml", "word", DeviceWord))


@cache
def device_word(name: str) -> DeviceWord | None:
    """The row of a qualified name."""
    return _exact().get(name) or next((row for start, row in _beginnings() if name.startswith(start)), None)


@cache
def word_arguments() -> Mapping[str, tuple[DeviceWord, ...]]:
    """The rows by the parameters that ask for a GPU."""
    found: dict[str, tuple[DeviceWord, ...]] = {}
    for row in device_words():
        for name in row.arguments:
            found[name] = (*found.get(name, ()), row)
    return found


@cache
def _exact() -> Mapping[str, DeviceWord]:
    return {name: row for row in device_words() for name in row.names if not name.endswith("*")}


@cache
def _beginnings() -> tuple[tuple[str, DeviceWord], ...]:
    return tuple((name[:-1], row) for row in device_words() for name in row.names if name.endswith("*"))
