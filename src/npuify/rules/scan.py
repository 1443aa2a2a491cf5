"""A whole scan: find the files, choose the release, show each file to the rules, in as many processes as asked."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.model import FileError, Finding, NpuifyError, Release, ScanResult, Survey
from npuify.options import check_style
from npuify.project import common_root, find_files, torch_requirement
from npuify.project.included import included_requirements
from npuify.project.survey import KINDS, survey
from npuify.project.traces import Trace, trace
from npuify.rules.analyse import RuleSet
from npuify.rules.analysers import analysers_for, kinds
from npuify.rules.base import Selection
from npuify.rules.cache import Entry, Outcome, ScanCache, Stamp, stamp
from npuify.rules.cpu_fallback import may_concern as fallback_may_concern
from npuify.rules.custom import may_concern as custom_may_concern
from npuify.rules.native_survey import RULE as NATIVE
from npuify.rules.native_survey import findings_of, native_operators
from npuify.rules.packages import import_names
from npuify.rules.prepared import supports_npu
from npuify.rules.project_index import ProjectIndex, may_define_cuda
from npuify.rules.stand_ins import may_concern as stand_in_may_concern
from npuify.rules.styles import StylePlan
from npuify.rules.styles.project import plan_style
from npuify.rules.third_party import RULE as THIRD_PARTY
from npuify.rules.third_party import Package, third_party_findings
from npuify.rules.wishes import Wishes
from npuify.rules.worker import Candidate, Worker, each_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.model import NativeOperator
    from npuify.options import Options
    from npuify.project import ProjectFile

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
        work = prepare(paths, options)
        outcomes = _outcomes(work, options.jobs, progress)
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


def _outcomes(work: Work, jobs: int, progress: Progress | None) -> list[Outcome]:
    """What the rules find in each candidate, from the cache where it is known."""
    known = {candidate.relative: work.cache.outcome(candidate.relative) for candidate in work.candidates}
    fresh = [candidate for candidate in work.candidates if known[candidate.relative] is None]
    if fresh:
        worker = Worker(work.release.torch_npu, work.selection, work.project, work.rules)
        lost: list[str] = []

        def lose(error: FileError) -> Outcome:
            lost.append(error.file)
            return Outcome([], [error], [])

        found = each_file(_analyse, worker, fresh, jobs, progress, lost=lose)
        for candidate, outcome in zip(fresh, found, strict=True):
            known[candidate.relative] = outcome
            if candidate.relative not in lost:
                work.cache.learn(candidate.relative, outcome)
    work.cache.save()
    return [outcome for outcome in known.values() if outcome is not None]


def _analyse(worker: Worker, candidate: Candidate) -> Outcome:
    worker.project.looked_at.clear()
    findings, errors = worker.findings(candidate)
    depends = []
    for relative in sorted(worker.project.looked_at - {candidate.relative}):
        depends.append((relative, stamp(str(worker.project.root / relative)) or (0, 0)))
    return Outcome(findings, errors, depends)


def checked_selection(options: Options) -> Selection:
    """The selection that the options ask for.

    Raises:
        NpuifyError: a code or name in it is unknown.
    """
    from npuify.rules.custom_file import check_together, read_rules

    custom = tuple(rule for path in options.rules for rule in read_rules(Path(path)))
    check_together(", ".join(options.rules), custom)
    wishes = Wishes(
        custom=custom,
        cpu_fallback=options.cpu_fallback,
        replace_unsupported=options.replace_unsupported,
    )
    selection = Selection(options.select, options.ignore, wishes)
    unknown = selection.unknown()
    if unknown:
        raise NpuifyError(f"no rule is called {unknown[0]!r}", advice="`npuify rules` lists them all")
    return selection


def prepare(paths: Sequence[Path], options: Options) -> Work:
    """Find and read the files of ``paths``; see :func:`scan`."""
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
    operators = native_operators(everything, cache, stamps)
    selection = _with_operators(selection, operators)
    rules = RuleSet(selection, options.style, placing=options.place_on_npu, soc=soc)
    packages = import_names()
    candidates: list[Candidate] = []
    own_cuda: dict[str, Stamp] = {}
    supporting: list[str] = []
    traces: dict[str, Trace] = {}
    total = 0
    for file in files:
        now = stamps[file.relative]
        if now is not None and now[1] > _LARGEST.get(file.kind, now[1]):
            continue
        entry = cache.entry(file.relative, now) if now is not None else None
        hits = None
        if entry is None:
            try:
                with open(file.location, "rb") as stream:  # noqa: PTH123 - the scan's inner loop
                    raw = stream.read()
            except OSError as error:
                errors.append(FileError(file.relative, f"cannot be read: {error.strerror or error}"))
                continue
            if file.kind == "python" and b"\0" in raw[:1024]:
                errors.append(_not_python(file.relative, raw))
                continue
            lower = raw.lower()
            others = analysers_for(file.relative, file.kind)
            seen = Trace()
            if file.kind in ("python", "notebook"):
                seen = trace(lower, rules.imports, notebook=file.kind == "notebook")
            python = file.kind == "python" and (
                rules.may_concern(lower) or any(name.partition(".")[0] in packages for name, _ in seen.imports)
            )
            asked = file.kind in ("python", "notebook") and _asked_for(selection.wishes, raw)
            hits = rules.words.hits(lower) if python else None
            concerns = python or asked or any(analyser.may_concern(lower) for analyser in others)
            if concerns and b"\0" in raw[:1024] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                errors.append(FileError(file.relative, "is not text; it was not looked at"))
                continue
            entry = Entry(
                now or (0, len(raw)),
                concerns,
                python and may_define_cuda(raw, lower, rules.own_cuda),
                file.kind == "python" and supports_npu(file.relative, raw, lower, rules.support),
                seen,
            )
        cache.remember(file.relative, entry)
        traces[file.relative] = entry.trace
        total += entry.stamp[1]
        if entry.concerns or entry.supports_npu:
            candidates.append(Candidate(file.relative, file.location, file.kind, now, hits))
            if entry.own_cuda:
                own_cuda[file.relative] = entry.stamp
            if entry.supports_npu:
                supporting.append(file.relative)
    names = [file.relative for file in files]
    order = {name: index for index, name in enumerate(names)}
    found = survey(everything, traces)
    plan = StylePlan()
    if options.style != "npu" or options.place_on_npu:
        plan = plan_style(options, files, found, torch_requirement(root), knowledge.load(release.torch_npu))
        known = {candidate.relative for candidate in candidates}
        more = [file for file in files if file.relative in (plan.entries | plan.placed) and file.relative not in known]
        candidates += [Candidate(file.relative, file.location, file.kind) for file in more]
        candidates.sort(key=lambda candidate: order[candidate.relative])
    cache.settle([*names, "-", *supporting, plan.digest()], [f"{name} {then}" for name, then in own_cuda.items()])
    modules = [file.relative for file in files if file.kind == "python"]
    project = ProjectIndex(root, modules, list(own_cuda), supporting, plan, soc)
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
        candidates,
        errors,
        len({*names, *(finding.file for finding in whole)}),
        total,
        cache,
        msgspec.structs.replace(found, operators=operators),
        whole,
        tuple(files),
    )


_WIDE = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def _not_python(relative: str, raw: bytes) -> FileError:
    """What to say of a Python file that holds zero bytes, which Python itself refuses."""
    for mark, encoding in _WIDE:
        if raw.startswith(mark):
            message = f"is {encoding} text, which Python cannot run; it was not looked at"
            return FileError(relative, message, advice="save it as UTF-8")
    return FileError(relative, "is not text; it was not looked at")


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


def _asked_for(wishes: Wishes, raw: bytes) -> bool:
    """Whether a file can hold anything that the user asked for beyond the rules."""
    if wishes.custom and custom_may_concern(wishes.custom, raw):
        return True
    if wishes.cpu_fallback and fallback_may_concern(raw, wishes.cpu_operators):
        return True
    return wishes.replace_unsupported and stand_in_may_concern(raw)


def _files(
    paths: Sequence[Path], options: Options, errors: list[FileError]
) -> tuple[list[ProjectFile], list[ProjectFile]]:
    """All files that say something of the project; and of these the Python files and those that an analyser wants."""
    everything = find_files(paths, exclude=options.exclude, kinds={"python", *kinds(), *KINDS}, errors=errors)
    wanted = [file for file in everything if file.kind == "python" or analysers_for(file.relative, file.kind)]
    return everything, included_requirements(wanted, options.exclude)
