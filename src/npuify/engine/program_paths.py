"""The programs of a project, as far as something is to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.model import Program
from npuify.rules.impact import Impact, impact_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import EntryPoint, FileError, Finding, NativeOperator
    from npuify.project.programs import Programs


def programs_of(
    programs: Programs,
    python: Sequence[str],
    entries: Iterable[EntryPoint],
    findings: Iterable[Finding],
    errors: Iterable[FileError],
    operators: Iterable[NativeOperator],
) -> tuple[Program, ...]:
    """Each entry point with those of the files that it imports in which something may decide its verdict.

    Args:
        programs: of the project.
        python: its Python files.
        entries: its entry points.
        findings, errors, operators: all of the project.
    """
    told = {one.file for one in findings if impact_of(one) is not Impact.GOES_ON}
    told.update(one.file for one in errors)
    told.update(place.rpartition(":")[0] for one in operators for place in one.calls)
    known = frozenset(python)
    found = []
    for entry in entries:
        if entry.file not in known:
            # A notebook: what it imports of the project is not followed, and may be anything.
            found.append(Program(entry.file, (entry.file,), tuple(sorted(told & known))))
        elif told:
            files, maybe = programs.closure(entry.file)
            found.append(Program(entry.file, tuple(sorted(files & told)), tuple(sorted(maybe & told))))
        else:
            found.append(Program(entry.file, ()))
    return tuple(found)
