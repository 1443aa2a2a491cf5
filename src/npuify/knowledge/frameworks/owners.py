"""Frameworks that have words of their own for devices and backends, which PyTorch's rules must not write."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - msgspec reads the annotation

if TYPE_CHECKING:
    from collections.abc import Mapping


class Framework(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/owners.toml``: a library whose arguments are not PyTorch's."""

    name: str
    modules: tuple[str, ...]
    """Top-level modules, or names of two or three parts where not all of a module is meant."""
    arguments: tuple[str, ...] = ("device",)
    """Parameters of its functions that name a device."""
    positions: tuple[str, ...] = ()
    """The same by position, from 0: ``WhisperModel:1``."""
    methods: tuple[str, ...] = ()
    """Methods of its objects that no other library has: they tell whose object it is, where nothing else does."""
    tables: tuple[str, ...] = ()
    """Arguments of other libraries that hold a table of arguments for this one: ``ray.serve.llm:engine_kwargs``."""
    device: str = ""
    """Its word for an NPU where CUDA is ``cuda`` or ``gpu``; empty: it has none."""
    backend: str = ""
    """Its word where NCCL is ``nccl``; empty: it has none."""
    takes_index: bool = True
    """Whether ``cuda:1`` has a counterpart."""
    message: str
    advice: str
    evidence: Evidence
    source: str


@cache
def frameworks() -> Mapping[str, Framework]:
    """Every row, by top-level module."""
    rows = read_rows(DATA / "frameworks" / "owners.toml", "framework", Framework)
    return {module: row for row in rows for module in row.modules}


@cache
def device_arguments() -> frozenset[str]:
    """Every parameter that names a device to one of the frameworks."""
    return frozenset(name for row in frameworks().values() for name in row.arguments)


@cache
def words() -> tuple[str, ...]:
    """One word for each module, which stands in every file that imports it."""
    return tuple(sorted({_word(module, row) for module, row in frameworks().items()}))


def _word(module: str, row: Framework) -> str:
    """The last part of a name, or its first where that tells more: of many functions of one module, or by length."""
    first, _, last = module.partition(".")[0], "", module.rpartition(".")[2]
    among = sum(one.startswith(f"{first}.") for one in row.modules)
    return first if among > 1 or len(last) < 4 else last


@cache
def methods() -> Mapping[str, Framework]:
    """The rows by the methods that tell whose an object is."""
    return {method: row for row in frameworks().values() for method in row.methods}


@cache
def tables() -> Mapping[str, tuple[tuple[str, Framework], ...]]:
    """The rows by the keywords that hold tables of their arguments, each with the module whose calls take it."""
    found: dict[str, tuple[tuple[str, Framework], ...]] = {}
    for row in dict.fromkeys(frameworks().values()):
        for text in row.tables:
            module, _, keyword = text.partition(":")
            found[keyword] = (*found.get(keyword, ()), (module, row))
    return found


def framework_of(qualname: str) -> Framework | None:
    """The framework that a qualified name belongs to; None for PyTorch and everything else."""
    known, parts = frameworks(), qualname.split(".")
    return known.get(parts[0]) or known.get(".".join(parts[:3])) or known.get(".".join(parts[:2]))
