"""The project's own C++ and CUDA code as a whole: its operators, for the survey, and a finding for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.engine.cache import Entry, stamp
from npuify.model import Evidence, Finding, Position, Safety, Severity
from npuify.rules.packages.extensions.inline_code import DIFFICULTIES
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from npuify.engine.cache import ScanCache, Stamp
    from npuify.model import NativeOperator
    from npuify.project import ProjectFile
    from npuify.rules.packages.extensions.builds import Build
    from npuify.source.native_file import NativeFile

_LARGEST: Final = 4_000_000
"""Bytes; larger files hold tables of numbers, or are made by a program."""


def _documentation(node: object, file: object) -> Iterator[object]:
    """A function of the project's own CUDA code, handed to Python by pybind11 or TORCH_LIBRARY.

    The finding says which kernels are behind it, what makes them hard, where Python calls it, and the ways to have it
    on an NPU, the least work first: an equivalent in torch or torch_npu, the project's implementation for the CPU,
    triton-ascend, Ascend C. It is an error where the project's Python calls it. The code is read, never compiled: what
    macros or generators make is not seen.
    """
    raise NotImplementedError("operators are found for the whole project")


RULE = list_rule(
    Rule(
        "NPU630",
        "cuda-operator",
        Safety.MANUAL,
        Severity.ERROR,
        Evidence.ASSUMED,
        "the project's C++ and CUDA code, read without compiling it",
        (),
        (),
        _documentation,
    )
)


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
    from npuify.analysis.operator_calls import CallSearch
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


_NOT_CALLED: Final = "no Python of the project was seen to call it"
_MODULE_UNKNOWN: Final = "under which name Python loads it could not be told, so that its calls were not sought"


def findings_of(operators: Sequence[NativeOperator]) -> list[Finding]:
    """A finding for each operator that runs on a GPU."""
    return [_finding(one) for one in operators if one.difficulty != "host"]


def _finding(one: NativeOperator) -> Finding:
    name = f"{one.module}.{one.name}" if one.module else one.name
    kernels = f"{len(one.kernels)} kernel{'' if len(one.kernels) == 1 else 's'}" if one.kernels else "CUDA code"
    uses = f" ({', '.join(one.uses)})" if one.uses else ""
    called = f"; called in {one.calls[0]}" if one.calls else f"; {_NOT_CALLED if one.module else _MODULE_UNKNOWN}"
    if len(one.calls) > 1:
        called += f" and {len(one.calls) - 1} more places"
    may_be_called = one.calls or not one.module
    severity = Severity.INFO if one.has_npu or not may_be_called else Severity.ERROR if one.calls else Severity.WARNING
    return Finding(
        code=RULE.code,
        name=RULE.name,
        severity=severity,
        safety=Safety.MANUAL,
        file=one.file,
        start=Position(one.line, 1),
        end=Position(one.line, 1),
        message=f"{name} is {kernels} for NVIDIA GPUs: {DIFFICULTIES[one.difficulty]}{uses}{called}",
        evidence=RULE.evidence,
        source=RULE.source,
        subject=name,
        advice="; or ".join(one.ways[:3]),
    )


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
