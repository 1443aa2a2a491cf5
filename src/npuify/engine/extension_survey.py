"""The operators of the project's own C++ and CUDA code, read from its files or known from an earlier scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.engine.cache import Entry, stamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.engine.cache import ScanCache, Stamp
    from npuify.model import NativeOperator
    from npuify.project import ProjectFile
    from npuify.rules.packages.extensions.build import Build
    from npuify.source.native_file import NativeFile


_LARGEST: Final = 4_000_000
"""Bytes; larger files hold tables of numbers, or are made by a program."""


def native_operators(
    everything: Sequence[ProjectFile], cache: ScanCache, stamps: Mapping[str, Stamp | None]
) -> tuple[NativeOperator, ...]:
    """What the project's own C++ and CUDA code hands to Python.

    Args:
        everything: the project's files, those of the kinds ``cuda``, ``native`` and ``python`` among them.
        cache: holds what is known of files that have not changed.
        stamps: those of the project's Python files, by relative path.
    """
    native = [file for file in everything if file.kind in ("cuda", "native")]
    python = [file for file in everything if file.kind == "python"]
    if not native or not (any(file.kind == "cuda" for file in native) or _builds_extensions(python)):
        return ()
    # Most projects have none, and should not wait for what reads them.
    from npuify.rules.operator_calls import CallSearch
    from npuify.rules.packages.extensions.operators import Operators

    if not any(_may_bind(file, cache) for file in native):
        return ()
    read = {file.relative: found for file in native if (found := _read(file, cache)) is not None}
    if not any(file.bindings for file in read.values()):
        return ()
    builds = [build for file in python for build in _builds(file, cache, stamps.get(file.relative))]
    locations = {file.relative: file.location for file in native}
    operators = Operators(read, builds, lambda relative: _bytes(locations[relative]))
    search = CallSearch(operators.names(), {build.loader: build.module for build in builds if build.loader})
    calls: dict[tuple[str, str], set[str]] = {}
    same = cache.seek(search.told)
    for file in python:
        known = cache.calls(file.relative, stamps.get(file.relative)) if same else None
        if known is None:
            data = _bytes(file.location)
            known = search.places(file.relative, data) if any(word in data for word in search.words) else []
            cache.learn_calls(file.relative, known)
        for key, place in known:
            calls.setdefault(key, set()).add(place)
    return operators.all({key: tuple(sorted(places, key=_by_line)) for key, places in calls.items()})


def _builds(file: ProjectFile, cache: ScanCache, now: Stamp | None) -> list[Build]:
    known = cache.builds(file.relative, now)
    if known is not None:
        return known
    from npuify.rules.packages.extensions.builds import builds_in

    data = _bytes(file.location)
    found = builds_in(file.relative, data) if b"xtension" in data or b"OpBuilder" in data else []
    cache.learn_builds(file.relative, found)
    return found


def _builds_extensions(python: Sequence[ProjectFile]) -> bool:
    """Whether a setup.py builds anything in C++."""
    setups = [file for file in python if file.relative.rpartition("/")[2] == "setup.py"]
    return any(b"Extension" in (data := _bytes(file.location)) or b"op_builder" in data for file in setups)


def _read(file: ProjectFile, cache: ScanCache) -> NativeFile | None:
    now = stamp(file.location)
    if now is None or now[1] > _LARGEST:
        return None
    known = cache.entry(file.relative, now)
    if known is None or known.native is None:
        from npuify.source.native import read_native

        native = read_native(_bytes(file.location))
        known = Entry(now, False, False, native=native, may_bind=bool(native.bindings))
    cache.remember(file.relative, known)
    return known.native


def _may_bind(file: ProjectFile, cache: ScanCache) -> bool:
    """Whether a file can hand anything to Python; where none does, none needs to be read closely."""
    now = stamp(file.location)
    known = cache.entry(file.relative, now)
    if known is None or known.may_bind is None:
        data = _bytes(file.location)
        may = b"PYBIND11_MODULE" in data or b"TORCH_LIBRARY" in data
        known = Entry(now or (0, len(data)), False, False, may_bind=may)
    if now is not None:
        cache.remember(file.relative, known)
    return bool(known.may_bind)


def _bytes(location: str) -> bytes:
    try:
        with open(location, "rb") as stream:  # noqa: PTH123 - asked of every file
            return stream.read()
    except OSError:
        return b""


def _by_line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)
