"""The programs of a project, as far as something is to be said of them."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.engine.programs.reach import Reaches
from npuify.engine.programs.ways import Ways
from npuify.language import phrase
from npuify.model import FileError, Program, Start
from npuify.project.closures import bits_of
from npuify.rules.common.device_options import device_options, left_on_cpu, may_choose_device, without
from npuify.rules.impact import Impact, impact_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.programs.ways import Once
    from npuify.model import EntryPoint, Finding, NativeOperator
    from npuify.project.programs import Programs
    from npuify.rules.run import Run


_SETTINGS: Final = (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env", ".properties", ".gin")
_STARTS: Final = tuple[Start, ...]
_MANIFESTS: Final = frozenset(("pyproject.toml", "setup.cfg", "tox.ini"))
"""Files that say what is to be installed: a program that names one, for a version or a release, sets nothing by it."""
_IMPORT: Final = rb"^(?:from|import)[ \t]+[^\n]*"


def programs_of(
    programs: Programs,
    run: Run,
    python: Sequence[str],
    entries: Iterable[EntryPoint],
    findings: Iterable[Finding],
    errors: Iterable[FileError],
    operators: Sequence[NativeOperator],
    once: Once,
) -> tuple[tuple[Program, ...], list[FileError]]:
    """Each entry point with those of the files that it imports in which something may decide its verdict.

    Args:
        programs: of the project.
        run: what the run is about.
        python: the project's Python files.
        entries: its entry points.
        findings, errors, operators: all of the project.
        once: gives answers that rest on files alone, as :meth:`npuify.engine.kept.standing.Standing.once` does.

    Returns:
        the programs, and an error for each of which that is not known.
    """
    mattering = [one for one in findings if impact_of(one) is not Impact.GOES_ON]
    told = {one.file for one in mattering}
    told.update(one.file for one in errors)
    told.update(place.rpartition(":")[0] for one in operators for place in one.calls)
    known = frozenset(python)
    judge = _Judge(programs, run, told, known, mattering, operators, once)
    found: list[Program] = []
    failed: list[FileError] = []
    for entry in entries:
        unknown = Program(entry.file, (entry.file,), tuple(sorted(told & known)))
        if entry.file not in known:
            # A notebook: what it imports of the project is not followed, and may be anything.
            found.append(unknown)
            continue
        try:
            found.append(judge.program(entry.file))
        except Exception as error:  # one program's failure must not end the run
            found.append(unknown)
            said = phrase(
                "npuify failed on what this program imports: {name}: {error}",
                name=type(error).__name__,
                error=error,
            )
            failed.append(FileError(entry.file, said))
    return tuple(found), failed


class _Judge:
    """Says of each program what may decide its verdict.

    Args:
        programs: of the project.
        run: what the run is about.
        told: the files in which there is anything to say.
        python: the project's Python files.
        mattering: the findings that may decide.
        operators: those of the project's own.
        once: gives answers that rest on files alone.
    """

    def __init__(
        self,
        programs: Programs,
        run: Run,
        told: set[str],
        python: frozenset[str],
        mattering: Sequence[Finding],
        operators: Sequence[NativeOperator],
        once: Once,
    ) -> None:
        self._programs = programs
        self._told = told
        self._supporting = programs.graph.numbers.mask(run.project.supports_npu)
        self._settings = _readers(told - python, programs, run.project)
        ways = Ways(programs, run, once)
        self._reaches = Reaches(programs, told, ways)
        self._fails = cache(lambda file: _fails(programs.read(file), file, mattering, operators))
        stops = self._stops = _lines_that_stop(mattering)
        # Nothing here holds itself: the project's files would stay until the collector comes.
        self._unsure_in = cache(lambda file: sorted(ways.unsure_lines(file, tuple(sorted(stops[file])))))
        word = "cuda" if run.plan.style == "auto" else "npu"
        self._starts_of = _starts(
            programs,
            lambda file: once(f"starts {file}", _STARTS, run.project, lambda view: tuple(_starts_in(file, view))),
        )
        self._on_cpu_of = _starts(
            programs,
            lambda file: once(f"on CPU {file}", _STARTS, run.project, lambda view: tuple(_on_cpu_in(file, view, word))),
        )

    def program(self, entry: str) -> Program:
        """The program that is started by a file."""
        supports = bool(self._supporting) and bool(self._supporting & self._programs.graph.reached_mask(entry))
        starts = self._starts_of(entry) if supports else self._on_cpu_of(entry)
        if not self._told:
            return Program(entry, (), supports_npu=supports, starts=starts)
        reach = self._reaches.of(entry)
        aside = dict(reach.switched)
        files = set(reach.files)
        for file, place in reach.optional.items():
            if self._fails(file):
                aside[file] = phrase("the optional import at {place}", place=place)
            else:
                files.add(file)
        return Program(
            entry,
            tuple(sorted(files)),
            tuple(sorted({*reach.maybe, *_read_by(entry, self._settings, self._programs)})),
            tuple(sorted(aside.items())),
            supports,
            starts,
            tuple((file, line) for file in sorted(files & self._stops.keys()) for line in self._unsure_in(file)),
        )


def _lines_that_stop(findings: Iterable[Finding]) -> dict[str, set[int]]:
    """The lines of each file on which something stops a program, whatever its options."""
    lines: dict[str, set[int]] = {}
    for one in findings:
        if impact_of(one) is Impact.STOPS and not one.only_with:
            lines.setdefault(one.file, set()).add(one.start.line)
    return lines


def _readers(files: Iterable[str], programs: Programs, project: ProjectIndex) -> dict[str, int]:
    """Of files of settings, the Python files that name them, as sets of bits."""
    last = {one: one.rpartition("/")[2] for one in sorted(files) if one.endswith(_SETTINGS)}
    named = {one: name.encode() for one, name in last.items() if name not in _MANIFESTS}
    readers = {one: programs.graph.numbers.mask(project.files_with(name)) for one, name in named.items()}
    return {one: mask for one, mask in readers.items() if mask}


def _read_by(entry: str, readers: Mapping[str, int], programs: Programs) -> list[str]:
    """The files of settings that a program names; it may read them."""
    reached = programs.graph.reached_mask(entry) if readers else 0
    return [one for one, mask in readers.items() if mask & reached]


def _fails(raw: bytes, file: str, findings: Iterable[Finding], operators: Iterable[NativeOperator]) -> bool:
    """Whether a file surely cannot be imported: for a package without a form, or kernels that are not built."""
    lines = raw.splitlines()
    for one in findings:
        if one.file == file and impact_of(one) is Impact.STOPS and not one.only_with:
            line = lines[one.start.line - 1] if one.start.line <= len(lines) else b""
            if line.startswith((b"import ", b"from ")):
                return True
    modules = {one.module for one in operators if one.module and not one.has_npu and one.difficulty != "host"}
    said = b"\n".join(re.findall(_IMPORT, raw, re.MULTILINE))
    return any(re.search(rb"\b%b\b" % re.escape(one.encode()), said) for one in modules)


_HYDRA: Final = re.compile(rb"^\s*@hydra\.main\b", re.MULTILINE)


def _is_for_hydra(raw: bytes) -> bool:
    return b"@hydra.main" in raw and _HYDRA.search(raw) is not None


def _starts(programs: Programs, starts_in: Callable[[str], tuple[Start, ...]]) -> Callable[[str], tuple[Start, ...]]:
    """What to say to a program so that it runs on an NPU: of its own file, else of what it imports."""
    numbers = programs.graph.numbers
    starts: dict[str, tuple[Start, ...]] = {}
    asked = having = 0

    def starts_of(entry: str) -> tuple[Start, ...]:
        nonlocal asked, having
        own = starts_in(entry)
        if own or _is_for_hydra(programs.read(entry)):
            return own  # hydra takes the command line: options of what is imported are not read
        reached = programs.graph.reached_mask(entry) & ~(1 << numbers.of(entry))
        for number in bits_of(reached & ~asked):
            file = numbers.names[number]
            starts[file] = starts_in(file)
            having |= bool(starts[file]) << number
        asked |= reached
        return tuple(one for file in sorted(numbers.listed(reached & having)) for one in starts[file])

    return starts_of


def _starts_in(file: str, project: ProjectIndex) -> Iterator[Start]:
    raw = _text(file, project)
    source = project.load(file) if may_choose_device(raw) else None
    for option in device_options(source) if source is not None else ():
        default = ast.unparse(option.default) if option.default is not None else ""
        yield Start(option.start, file, option.line, default, without(option, default))


def _on_cpu_in(file: str, project: ProjectIndex, word: str) -> Iterator[Start]:
    """The options of a file by which a program that does not ask for an NPU stays on the CPU, unless they are given."""
    raw = _text(file, project)
    is_meant = b"cpu" in raw and b"torch" in raw and may_choose_device(raw)
    source = project.load(file) if is_meant else None
    for option in left_on_cpu(source, "npu" if b"npu" in raw else word) if source is not None else ():
        default = ast.unparse(option.default) if option.default is not None else ""
        yield Start(option.start, file, option.line, default, without(option, default))


def _text(file: str, project: ProjectIndex) -> bytes:
    """The content of a file; empty where it cannot be read."""
    try:
        return project.read(file)
    except OSError:
        return b""
