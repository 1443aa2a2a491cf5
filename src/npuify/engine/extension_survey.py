"""The operators of the project's own C++ and CUDA code, read from its files or known from an earlier scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.engine.kept.cache import CachedExtensions, CachedFile, stamp
from npuify.engine.kept.files import content_digest, digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from npuify.engine.kept.cache import ScanCache, Stamp
    from npuify.model import NativeOperator
    from npuify.project import ProjectFile
    from npuify.rules.common.operator_calls import CallSearch
    from npuify.rules.common.packages.computed_imports import Computed
    from npuify.rules.packages.extensions.build import Build


_LARGEST: Final = 4_000_000
"""Bytes; larger files hold tables of numbers, or are made by a program."""


_BINDING: Final = (b"PYBIND11_MODULE", b"TORCH_LIBRARY", b"RegisterOperators")
"""Words of which one stands in every file that hands something to Python."""


_WRITTEN: Final = 4
"""Characters of an extension's name that are worth a search for variables that hold such a name, too."""


class ExtensionSurvey(NamedTuple):
    """What the project's own extensions hand to Python, and what is known now of the files that say so."""

    operators: tuple[NativeOperator, ...] = ()
    native: Mapping[str, CachedFile] = {}
    """Of the files of C++ and CUDA that were read."""
    python: Mapping[str, CachedExtensions] = {}
    """Of the Python files, where any file of C++ or CUDA hands something to them."""
    sought: str | None = None
    """Digest of the operators whose calls were sought; None where none were."""


def survey_extensions(
    everything: Sequence[ProjectFile], cache: ScanCache, stamps: Mapping[str, Stamp | None]
) -> ExtensionSurvey:
    """What the project's own C++ and CUDA code hands to Python.

    Args:
        everything: the project's files, those of the kinds ``cuda``, ``native`` and ``python`` among them.
        cache: holds what is known of files that have not changed.
        stamps: those of the project's Python files, by relative path.
    """
    native = [file for file in everything if file.kind in ("cuda", "native")]
    python = [file for file in everything if file.kind == "python"]
    if not native or not (any(file.kind == "cuda" for file in native) or _builds_extensions(python)):
        return ExtensionSurvey()
    known = _until_one_may_bind(native, cache)
    if not any(file.may_bind for file in known.values()):
        return ExtensionSurvey(native=known)
    # Most projects have none, and should not wait for what reads them.
    from npuify.rules.common.operator_calls import CallSearch
    from npuify.rules.packages.extensions.operators import Operators

    known |= {file.relative: found for file in native if (found := _read(file, cache)) is not None}
    holds = {relative: file.native for relative, file in known.items() if file.native is not None}
    if not any(file.bindings for file in holds.values()):
        return ExtensionSurvey(native=known)
    builds_of = {file.relative: _builds(file, cache, stamps.get(file.relative)) for file in python}
    builds = [build for found in builds_of.values() for build in found]
    locations = {file.relative: file.location for file in native}
    operators = Operators(holds, builds, lambda relative: _bytes(locations[relative]))
    loaders = {build.loader: build.module for build in builds if build.loader}
    search = CallSearch(operators.names(), loaders, _computed(builds, python))
    sought = digest(search.sought)
    extensions = {
        file.relative: CachedExtensions(
            builds_of[file.relative], _calls(file, search, sought, cache, stamps.get(file.relative))
        )
        for file in python
    }
    places = _places(extensions, frozenset(builds_of))
    return ExtensionSurvey(operators.all(places), known, extensions, sought)


def _builds_extensions(python: Sequence[ProjectFile]) -> bool:
    """Whether a setup.py builds anything in C++."""
    setups = [file for file in python if file.relative.rpartition("/")[2] == "setup.py"]
    return any(b"Extension" in (data := _bytes(file.location)) or b"op_builder" in data for file in setups)


# --- files of C++ and CUDA ---


def _until_one_may_bind(native: Sequence[ProjectFile], cache: ScanCache) -> dict[str, CachedFile]:
    """What is known of files up to the first that can hand anything to Python; where none can, none is read closely."""
    known: dict[str, CachedFile] = {}
    for file in native:
        now = stamp(file.location)
        if now is None:
            continue
        found = cache.file(file.relative, now)
        if found is None or found.may_bind is None:
            data = _bytes(file.location)
            may_bind = any(word in data for word in _BINDING)
            found = CachedFile(now, content_digest(data), False, False, may_bind=may_bind)
        known[file.relative] = found
        if found.may_bind:
            break
    return known


def _read(file: ProjectFile, cache: ScanCache) -> CachedFile | None:
    """What is known of a file once its functions and bindings were read; None where it is not to be read."""
    now = stamp(file.location)
    if now is None or now[1] > _LARGEST:
        return None
    known = cache.file(file.relative, now)
    if known is not None and known.native is not None:
        return known
    from npuify.source.native.reader import read_native

    data = _bytes(file.location)
    native = read_native(data)
    return CachedFile(now, content_digest(data), False, False, native=native, may_bind=bool(native.bindings))


# --- Python files ---


def _builds(file: ProjectFile, cache: ScanCache, now: Stamp | None) -> list[Build]:
    """The extensions that a file builds."""
    known = cache.extensions(file.relative, now)
    if known is not None:
        return known.builds
    from npuify.rules.packages.extensions.builds import builds_in

    data = _bytes(file.location)
    return builds_in(file.relative, data) if b"xtension" in data or b"OpBuilder" in data else []


def _computed(builds: Sequence[Build], python: Sequence[ProjectFile]) -> list[Computed]:
    """What is known of the extensions' names, for imports under names that Python computes."""
    from npuify.rules.common.packages.computed_imports import ANY, Computed, form_of_variable, variables_of

    found = {Computed(build.module, build.module) for build in builds if build.module}
    unnamed = [build for build in builds if not build.module and build.form]
    for build in unnamed:
        form = build.form
        if form == ANY and build.variable:
            # Many a setup.py has the name from a file that it executes, or imports.
            word = build.variable.encode()
            forms = (
                form_of_variable(build.variable, data) for file in python if word in (data := _bytes(file.location))
            )
            form = next((one for one in forms if one != ANY), ANY)
        found.add(Computed("", form, build.variable))
        written = max(form.split(ANY), key=len).encode()
        if len(written) >= _WRITTEN:
            texts = (_bytes(file.location) for file in python if file.relative != build.file)
            variables = {name for data in texts if written in data for name in variables_of(form, data)}
            found |= {Computed("", form, name) for name in variables}
    return sorted(found)


def _calls(
    file: ProjectFile, search: CallSearch, sought: str, cache: ScanCache, now: Stamp | None
) -> list[tuple[tuple[str, str], str]]:
    """The operators that a file calls, each with the place."""
    known = cache.extensions(file.relative, now)
    if known is not None and cache.has_calls_of(sought):
        return known.calls
    data = _bytes(file.location)
    return search.places(file.relative, data) if any(word in data for word in search.words) else []


def _places(extensions: Mapping[str, CachedExtensions], python: Set[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Where each operator is called; not where a Python file under the extension's name takes its place."""
    calls: dict[tuple[str, str], set[str]] = {}
    for relative, found in extensions.items():
        for operator, place in found.calls:
            module = f"{operator[0].replace('.', '/')}.py"
            if module not in python and f"{relative.rpartition('/')[0]}/{module}" not in python:
                calls.setdefault(operator, set()).add(place)
    return {operator: tuple(sorted(places, key=_by_line)) for operator, places in calls.items()}


def _by_line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _bytes(location: str) -> bytes:
    try:
        with open(location, "rb") as stream:  # noqa: PTH123 - asked of every file
            return stream.read()
    except OSError:
        return b""
