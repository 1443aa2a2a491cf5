"""The packages that decide how a project is moved, and the versions of them that it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.model import Framework
from npuify.project.known_frameworks import FRAMEWORKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from npuify.project.files import ProjectFile
    from npuify.project.traces import Trace


_PINNED: Final = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]*)["']?\s*(?:\[[^\]\n]*\])?\s*"""
    r"""(?:(?P<version>(?:[=<>~!]=?=?)\s*\d[\w.*+]*(?:\s*,\s*[=<>~!]=?\s*\d[\w.*+]*)*)"""
    r"""|=\s*["'](?P<poetry>[\^~=<>!]*\s*\d[^"'\n]*)["'])"""
)


def frameworks(traces: Mapping[str, Trace], requirements: Iterable[ProjectFile]) -> tuple[Framework, ...]:
    """The packages of ``FRAMEWORKS`` that the project imports, the most imported first.

    Args:
        traces: of the project's Python files, by relative path.
        requirements: files that may say which version is asked for; those that cannot be read are passed over.
    """
    count: dict[str, int] = {}
    first: dict[str, str] = {}
    for file, trace in traces.items():
        for name, line in trace.imports:
            count[name] = count.get(name, 0) + 1
            first.setdefault(name, f"{file}:{line}")
    if not count:
        return ()
    versions = _versions(requirements, set(count))
    found = []
    for name, files in sorted(count.items(), key=lambda item: (-item[1], item[0])):
        version, place = versions.get(name, ("", ""))
        found.append(Framework(name, files, first[name], version, place, FRAMEWORKS[name].cuda_only))
    return tuple(found)


def _versions(files: Iterable[ProjectFile], wanted: set[str]) -> dict[str, tuple[str, str]]:
    owners = {other: name for name in wanted for other in FRAMEWORKS[name].distributions}
    versions: dict[str, tuple[str, str]] = {}
    for file in files:
        try:
            text = file.path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            code = line.split("#", 1)[0][:2000]
            for match in _PINNED.finditer(code):
                name = owners.get(re.sub(r"[-_.]+", "-", match["name"]).lower())
                if name and name not in versions:
                    said = match["version"] or match["poetry"]
                    versions[name] = ("".join(said.split()), f"{file.relative}:{number}")
    return versions
