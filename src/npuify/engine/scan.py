"""A whole scan: find the files, choose the release, show each file to the rules, in as many processes as asked."""

from __future__ import annotations

import gc
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.analysis.project import EVERY_FILE, ProjectIndex
from npuify.engine.analysers import analysers_for, kinds
from npuify.engine.cache import Outcome, ScanCache, stamp
from npuify.engine.catalog import unknown_words
from npuify.engine.extension_survey import native_operators
from npuify.engine.prefilter import WORTH_A_PROCESS as FIRST_LOOKS
from npuify.engine.prefilter import FirstLook, Seen, Unseen
from npuify.engine.processes import Processes
from npuify.engine.visitor import RuleSet
from npuify.engine.worker import WORTH_A_PROCESS, Candidate, Worker
from npuify.model import FileError, Finding, NpuifyError, Release, ScanResult, Survey
from npuify.options import check_style
from npuify.project import common_root, find_files, torch_requirement
from npuify.project.included import included_requirements
from npuify.project.survey import KINDS, survey
from npuify.rules.opt_ins import Wishes
from npuify.rules.packages.extensions.survey import RULE as NATIVE
from npuify.rules.packages.extensions.survey import findings_of
from npuify.rules.packages.third_party import RULE as THIRD_PARTY
from npuify.rules.packages.third_party import Package, third_party_findings
from npuify.rules.selection import Selection
from npuify.rules.style_plan import StylePlan
from npuify.styles.project import plan_style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.engine.cache import Stamp
    from npuify.model import NativeOperator
    from npuify.options import Options
    from npuify.project import ProjectFile
    from npuify.project.traces import Trace

    Progress = Callable[[int, int], None]


_LARGEST = {"json": 300_000, **dict.fromkeys(("yaml", "toml", "ini", "env"), 1_000_000)}
"""Bytes, by kind. A longer file of settings is data, and is not read."""


class Work(NamedTuple):
    """What a scan has to do, and what it already knows."""

    root: Path
    release: Release
    selection: Selection
    rules: RuleSet
    project: ProjectIndex
    plan: StylePlan
    soc: str
    candidates: list[Candidate]
    errors: list[FileError]
    files_seen: int
    bytes_seen: int
    cache: ScanCache
    survey: Survey
    whole: tuple[Finding, ...]
    """Findings about the project as a whole, that no single file shows."""
    files: tuple[ProjectFile, ...] = ()
    """All files that were looked at."""

    def worker(self) -> Worker:
        """What analyses the files."""
        return Worker(self.release.torch_npu, self.selection, self.project, self.plan, self.soc, self.rules)


def scan(paths: Sequence[Path], options: Options, *, progress: Progress | None = None) -> ScanResult:
    """Everything that stands in the way of running ``paths`` on an NPU.

    Args:
        paths: files and folders; the project's root is the folder that holds them all.
        options: see :class:`npuify.options.Options`.
        progress: called with the number of files done and of files to do.

    Raises:
        NpuifyError: a path is not there, or an option names what does not exist.
    """
    # Nothing here makes cycles; the collector would only walk the growing list of findings.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with Processes(options.jobs) as processes:
            work = prepare(paths, options, processes)
            outcomes = _outcomes(work, processes, progress)
        work.project.forget()
    finally:
        if collecting:
            if not gc.get_freeze_count():
                # Freed at once, the collector would first walk all that is new, and find nothing; this makes it old.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
    findings: list[Finding] = list(work.whole)
    errors = list(work.errors)
    for outcome in outcomes:
        findings += outcome.findings
        errors += outcome.errors
    findings.sort(key=lambda finding: (finding.file, finding.start, finding.end, finding.code))
    return ScanResult(
        root=str(work.root),
        release=work.release,
        findings=tuple(findings),
        errors=tuple(sorted(errors, key=lambda error: (error.file, error.line))),
        files_seen=work.files_seen,
        files_parsed=len(work.candidates),
        bytes_seen=work.bytes_seen,
        survey=work.survey,
        style=options.style,
    )


def _outcomes(work: Work, processes: Processes, progress: Progress | None) -> list[Outcome]:
    """What the rules find in each candidate, from the cache where it is known."""
    stamp_now = _Stamps(work.project)
    known = {candidate.relative: work.cache.outcome(candidate.relative, stamp_now) for candidate in work.candidates}
    fresh = [candidate for candidate in work.candidates if known[candidate.relative] is None]
    if fresh:
        worker = work.worker()
        lost: list[str] = []

        def lose(error: FileError) -> Outcome:
            lost.append(error.file)
            return Outcome([], [error], [])

        task = partial(_analyse, worker, stamp_now)
        found = processes.each(task, fresh, worth=WORTH_A_PROCESS, lost=lose, progress=progress)
        worker.close()
        for candidate, outcome in zip(fresh, found, strict=True):
            known[candidate.relative] = outcome
            if candidate.relative not in lost:
                work.cache.learn(candidate.relative, outcome)
    work.cache.save()
    return [outcome for outcome in known.values() if outcome is not None]


class _Stamps:
    """The stamps of a project's files, asked for once. That of ``EVERY_FILE`` differs where one of a module does."""

    def __init__(self, project: ProjectIndex) -> None:
        self._project = project
        self._known: dict[str, Stamp | None] = {}

    def __reduce__(self) -> tuple[type[_Stamps], tuple[ProjectIndex]]:
        return _Stamps, (self._project,)

    def __call__(self, relative: str) -> Stamp | None:
        if relative not in self._known:
            self._known[relative] = self._of_all() if relative == EVERY_FILE else stamp(self._location(relative))
        return self._known[relative]

    def _location(self, relative: str) -> str:
        return f"{self._project.root}/{relative}"

    def _of_all(self) -> Stamp:
        modules = sorted(self._project.modules.values())
        text = " ".join(f"{relative} {stamp(self._location(relative))}" for relative in modules)
        return int.from_bytes(sha256(text.encode("utf-8", "surrogateescape")).digest()[:7], "big"), len(modules)


def _analyse(worker: Worker, stamp_now: _Stamps, candidate: Candidate) -> Outcome:
    findings, errors, looked_at = worker.analyse_file(candidate)
    depends = [(relative, stamp_now(relative) or (0, 0)) for relative in sorted(looked_at - {candidate.relative})]
    return Outcome(findings, errors, depends)


def checked_selection(options: Options) -> Selection:
    """The selection that the options ask for.

    Raises:
        NpuifyError: a code or name in it is unknown.
    """
    from npuify.rules.custom.reader import check_together, read_rules

    custom = tuple(rule for path in options.rules for rule in read_rules(Path(path)))
    check_together(", ".join(options.rules), custom)
    wishes = Wishes(
        custom=custom,
        cpu_fallback=options.cpu_fallback,
        replace_unsupported=options.replace_unsupported,
    )
    selection = Selection(options.select, options.ignore, wishes)
    unknown = unknown_words(selection)
    if unknown:
        raise NpuifyError(f"no rule is called {unknown[0]!r}", advice="`npuify rules` lists them all")
    return selection


def prepare(paths: Sequence[Path], options: Options, processes: Processes | None = None) -> Work:
    """Find and read the files of ``paths``; see :func:`scan`. Without ``processes`` this one does it all."""
    from npuify import knowledge

    check_style(options.style)
    for path in paths:
        if not path.exists():
            raise NpuifyError("there is no such file or folder", file=str(path))
    selection = checked_selection(options)
    errors: list[FileError] = []
    root = common_root(paths)
    everything, files = _files(paths, options, errors)
    requirement = torch_requirement(root) if options.torch_npu is None else None
    release = knowledge.choose_release(options.torch_npu, requirement.specifier if requirement else None)
    soc = ""
    if options.soc:
        product = knowledge.product(options.soc)
        soc = product.name
        release = msgspec.structs.replace(release, reason=f"{release.reason}; for {product.title}")
    style = f"{options.style} {options.place_on_npu}"
    cache = ScanCache(root, selection, f"{release.torch_npu} {soc}", enabled=options.cache, style=style)
    stamps = {file.relative: stamp(file.location) for file in files}
    read = [file for file in files if not _is_data(file, stamps[file.relative])]
    unseen = [file for file in read if cache.entry(file.relative, stamps[file.relative]) is None]
    processes = processes or Processes(1)
    processes.expect(FirstLook, len(unseen), worth=FIRST_LOOKS)
    operators = native_operators(everything, cache, stamps)
    selection = _with_operators(selection, operators)
    rules = RuleSet(selection, options.style, placing=options.place_on_npu, soc=soc)
    look = FirstLook(selection, options.style, options.place_on_npu, soc, rules)
    looks = processes.each(
        look,
        [Unseen(file.relative, file.location, file.kind, stamps[file.relative]) for file in unseen],
        worth=FIRST_LOOKS,
        lost=lambda error: Seen(error=error),
    )
    shown = {file.relative: seen for file, seen in zip(unseen, looks, strict=True)}
    candidates: list[Candidate] = []
    own_cuda: dict[str, Stamp] = {}
    supporting: list[str] = []
    traces: dict[str, Trace] = {}
    total = 0
    for file in read:
        now = stamps[file.relative]
        seen = shown.get(file.relative) or Seen(cache.entry(file.relative, now))
        if seen.error is not None:
            errors.append(seen.error)
        entry = seen.entry
        if entry is None:
            continue
        cache.remember(file.relative, entry)
        traces[file.relative] = entry.trace
        total += entry.stamp[1]
        if entry.concerns or entry.supports_npu:
            candidates.append(Candidate(file.relative, file.location, file.kind, now, seen.hits))
            if entry.own_cuda:
                own_cuda[file.relative] = entry.stamp
            if entry.supports_npu:
                supporting.append(file.relative)
    names = [file.relative for file in files]
    order = {name: index for index, name in enumerate(names)}
    found = survey(everything, traces)
    plan = StylePlan()
    if options.style != "npu" or options.place_on_npu:
        plan = plan_style(options, files, found, torch_requirement(root))
        known = {candidate.relative for candidate in candidates}
        more = [file for file in files if file.relative in (plan.entries | plan.placed) and file.relative not in known]
        candidates += [Candidate(file.relative, file.location, file.kind) for file in more]
        candidates.sort(key=lambda candidate: order[candidate.relative])
    cache.settle([*names, "-", *supporting, plan.digest()], [f"{name} {then}" for name, then in own_cuda.items()])
    modules = [file.relative for file in files if file.kind == "python"]
    project = ProjectIndex(root, modules, list(own_cuda), supporting)
    whole = (
        *(findings_of(operators) if selection.has(NATIVE) else ()),
        *(_third_party(files, options) if options.third_party and selection.has(THIRD_PARTY) else ()),
    )
    return Work(
        root,
        release,
        selection,
        rules,
        project,
        plan,
        soc,
        candidates,
        errors,
        len({*names, *(finding.file for finding in whole)}),
        total,
        cache,
        msgspec.structs.replace(found, operators=operators),
        whole,
        tuple(files),
    )


def _is_data(file: ProjectFile, now: Stamp | None) -> bool:
    return now is not None and now[1] > _LARGEST.get(file.kind, now[1])


def _third_party(files: Sequence[ProjectFile], options: Options) -> list[Finding]:
    """What the project calls of the packages whose source is given, and cannot run on an NPU."""
    packages = []
    for place in options.third_party:
        folder = Path(place)
        if not folder.is_dir():
            raise NpuifyError("is no folder with a package's source", file=place)
        own = msgspec.structs.replace(options, select=(), ignore=(), third_party=(), rules=())
        packages.append(Package(folder, scan([folder], own)))
    return third_party_findings([file for file in files if file.kind == "python"], packages)


def _with_operators(selection: Selection, operators: Sequence[NativeOperator]) -> Selection:
    """The selection, with the project's own operators that the CPU can compute where they are to be put there."""
    if not selection.wishes.cpu_fallback:
        return selection
    names = tuple(
        sorted(
            {
                (one.module, one.name)
                for one in operators
                if one.has_cpu and not one.has_npu and one.difficulty != "host"
            }
        )
    )
    return selection._replace(wishes=msgspec.structs.replace(selection.wishes, cpu_operators=names))


def _files(
    paths: Sequence[Path], options: Options, errors: list[FileError]
) -> tuple[list[ProjectFile], list[ProjectFile]]:
    """All files that say something of the project; and of these the Python files and those that an analyser wants."""
    everything = find_files(paths, exclude=options.exclude, kinds={"python", *kinds(), *KINDS}, errors=errors)
    wanted = [file for file in everything if file.kind == "python" or analysers_for(file.relative, file.kind)]
    return everything, included_requirements(wanted, options.exclude)
