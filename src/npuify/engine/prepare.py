"""Prepare a scan: find the files, choose release and rules, prefilter, gather what rules may ask of the project.

Nothing is parsed here but what the style of the run has to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.analysis.project import ProjectIndex, module_name
from npuify.engine.analysers import analysers_for, kinds
from npuify.engine.catalog import checked_selection
from npuify.engine.extension_survey import survey_extensions
from npuify.engine.kept.cache import ScanCache, stamp
from npuify.engine.kept.files import digest
from npuify.engine.kept.standing import Standing
from npuify.engine.prefilter import FILES_PER_PROCESS, Prefilter, Prefiltered, ToPrefilter
from npuify.engine.prepared import PreparedScan, ToCache, on_tensorflow
from npuify.engine.processes import Processes
from npuify.engine.ruleset import RuleSet, rules_to_run
from npuify.engine.vllm_target import required_vllm
from npuify.engine.worker import Candidate
from npuify.knowledge.frameworks.vllm import VllmAim
from npuify.language import phrase, spoken
from npuify.model import FileError, NpuifyError, Release, Survey
from npuify.options import check_style
from npuify.project import common_root, find_files, torch_requirement
from npuify.project.frameworks.tensorflow import Marks, marks_of, own_requirements, tensorflow_specifier
from npuify.project.included import included_requirements
from npuify.project.programs import Programs
from npuify.project.survey import KINDS, share_of_tensorflow, survey
from npuify.rules.common.own_stack import stack_of_project
from npuify.rules.packages.extensions.replaced import as_replaced, replaced_extensions
from npuify.rules.packages.imports import import_names
from npuify.rules.style_plan import StylePlan
from npuify.styles.project import plan_style

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from npuify.engine.extension_survey import ExtensionSurvey
    from npuify.engine.kept.cache import CachedFile, Stamp
    from npuify.knowledge.tensorflow.lines import AdapterChoice
    from npuify.model import NativeOperator
    from npuify.options import Options
    from npuify.project import ProjectFile
    from npuify.project.traces import Trace
    from npuify.rules.selection import Selection


_OF_LEDGER = frozenset(
    (
        "native",
        "cuda",
        "cython",
        "stub",
        "template",
        "shell",
        "docker",
        "make",
        "just",
        "unit",
        "pbtxt",
        "cmake",
        "yaml",
        "json",
        "toml",
        "ini",
        "env",
    )
)
"""Kinds of files that hold code or settings: what in them concerns CUDA is accounted for, though no rule wants them."""
_LARGEST = {"json": 300_000, **dict.fromkeys(("yaml", "toml", "ini", "env"), 1_000_000)}
"""Bytes, by kind. A longer file of settings is data, and is not read."""


class _Target(NamedTuple):
    """What is aimed at."""

    release: Release
    soc: str
    vllm: VllmAim
    tensorflow: AdapterChoice


class _Files(NamedTuple):
    """The files of a project."""

    everything: Sequence[ProjectFile]
    """All that say something of it."""
    files: Sequence[ProjectFile]
    """Of these the Python files and those that an analyser wants."""
    stamps: Mapping[str, Stamp | None]
    """Of ``files``."""
    errors: Sequence[FileError]
    rests_on: Sequence[str]
    """Locations of the folders that were looked into, and of what says what git ignores."""

    def locations(self) -> list[str]:
        """Of all that a scan rests on."""
        return [*self.rests_on, *(one.location for one in (*self.everything, *self.files))]


class _Facts(NamedTuple):
    """What the prefilter shows of a project."""

    candidates: Sequence[Candidate]
    own_cuda: Sequence[str]
    """Files that may define ``cuda`` in a class of their own."""
    supports_npu: Sequence[str]
    """Files that ask whether they run on an NPU."""
    of_default_type: frozenset[str]
    """Files that may make tensors of the default type, where a file of the project makes that a type of CUDA's."""
    traces: Mapping[str, Trace]
    known: Mapping[str, CachedFile]
    errors: Sequence[FileError]


def prepare(
    paths: Sequence[Path],
    options: Options,
    processes: Processes | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PreparedScan:
    """Find and prefilter the files of ``paths``; see :func:`npuify.engine.scan.scan`.

    Args:
        paths: files and folders.
        options: see :class:`npuify.options.Options`.
        processes: those of the run; without them this one does it all.
        progress: called with the number of files read and of files to read; 0 of 0 while they are sought.
    """
    check_style(options.style)
    for path in paths:
        if not path.exists():
            raise NpuifyError("there is no such file or folder", file=str(path))
    asked = checked_selection(options)
    root = common_root(paths)
    if progress is not None:
        progress(0, 0)
    found = _find(paths, options)
    target = _target(root, found.everything, options)
    aim = f"{target.release.torch_npu} {target.soc} {' '.join(target.vllm)} {target.tensorflow.line}"
    own = _own_packages(found.files)
    style = " ".join((options.style, str(options.place_on_npu), options.device_default, spoken(), *sorted(own)))
    cache = ScanCache(root, asked, aim, enabled=options.cache, style=style)
    to_prefilter = _not_cached(found, cache)
    processes = processes or Processes(1)
    processes.warm_up(Prefilter, len(to_prefilter), files_per_process=FILES_PER_PROCESS)
    extensions = survey_extensions(found.everything, cache, found.stamps)
    selection = _with_operators(asked, extensions.operators, found.everything)
    operators = as_replaced(extensions.operators, selection.opt_ins.extensions)
    rules = RuleSet(rules_to_run(selection), options.style, place_on_npu=options.place_on_npu, soc=target.soc)
    prefiltered = processes.map(
        Prefilter(selection, options.style, options.place_on_npu, target.soc, rules, own),
        to_prefilter,
        files_per_process=FILES_PER_PROCESS,
        on_crash=lambda error: Prefiltered(error=error),
        progress=progress,
    )
    facts = _facts(found, cache, {file.relative: one for file, one in zip(to_prefilter, prefiltered, strict=True)})
    names = [file.relative for file in found.files]
    python = [file.relative for file in found.files if file.kind == "python"]
    programs = Programs(root, python, {name: one.imports for name, one in facts.known.items() if one.imports})
    project_survey = survey(found.everything, facts.traces, programs.graph)
    plan = _plan(root, options, found.files, project_survey)
    supporting = programs.belonging_to_same(facts.supports_npu)
    tensorflow = _tensorflow_of(project_survey, facts.traces, root, found.everything, options)
    # Programs whose TensorFlow is in modules of theirs have no word of it.
    starts = {one.file for one in project_survey.entry_points} if tensorflow[0] else set()
    own_stack = stack_of_project(root) if facts.supports_npu else ""
    to_cache = _to_cache(names, facts, [*supporting, repr(tensorflow), own_stack], extensions, plan)
    standing = Standing(str(root), python, to_cache.files, to_cache.project, cache)
    project = ProjectIndex(
        root,
        python,
        list(facts.own_cuda),
        list(facts.supports_npu),
        supporting,
        *tensorflow,
        searched=standing.searches,
        own_stack=own_stack,
    )
    return PreparedScan(
        root=root,
        release=target.release,
        soc=target.soc,
        vllm=target.vllm,
        tensorflow=target.tensorflow,
        selection=selection,
        rules=rules,
        programs=programs,
        project=project,
        plan=plan,
        candidates=_with_more(facts.candidates, found, plan.entries | plan.placed | facts.of_default_type | starts),
        files=found.files,
        bytes_seen=sum(file.stamp[1] for file in facts.known.values()),
        errors=[*found.errors, *facts.errors],
        data_files=[file.relative for file in found.files if _is_data(file, found.stamps[file.relative])],
        survey=msgspec.structs.replace(project_survey, operators=operators),
        cache=cache,
        to_cache=to_cache,
        standing=standing,
        rests_on=found.locations(),
    )


def _find(paths: Sequence[Path], options: Options) -> _Files:
    errors: list[FileError] = []
    rests_on: list[str] = []
    known = {"python", *kinds(), *KINDS, *_OF_LEDGER}
    everything = find_files(paths, exclude=options.exclude, kinds=known, errors=errors, rests_on=rests_on)
    wanted = [
        file
        for file in everything
        if file.kind == "python" or file.kind in _OF_LEDGER or analysers_for(file.relative, file.kind)
    ]
    files = included_requirements(wanted, options.exclude)
    return _Files(everything, files, {file.relative: stamp(file.location) for file in files}, errors, rests_on)


def _target(root: Path, files: Sequence[ProjectFile], options: Options) -> _Target:
    from npuify import knowledge

    vllm = VllmAim(options.target_vllm or "", required_vllm(files))
    if options.torch_npu is None and any(vllm) and vllm.choice().fits:
        # The plug-in decides which torch and torch_npu there are.
        row = vllm.choice().row
        release = knowledge.choose_release(None, f"=={row.torch}")
        reason = phrase(
            "vllm-ascend {plugin}, for vLLM {vllm}, requires torch {torch}",
            plugin=row.plugin,
            vllm=row.vllm[0],
            torch=row.torch,
        )
        release = msgspec.structs.replace(release, cann=row.cann, reason=reason)
    else:
        requirement = torch_requirement(root) if options.torch_npu is None else None
        release = knowledge.choose_release(options.torch_npu, requirement.specifier if requirement else None)
    tensorflow = _tensorflow(root, options)
    if not options.soc:
        return _Target(release, "", vllm, tensorflow)
    product = knowledge.product(options.soc)
    release = msgspec.structs.replace(
        release, reason=phrase("{reason}; for {product}", reason=release.reason, product=product.title)
    )
    return _Target(release, product.name, vllm, tensorflow)


def _tensorflow(root: Path, options: Options) -> AdapterChoice:
    """The TensorFlow adapter that the project is moved to."""
    from npuify.knowledge.tensorflow.lines import choose_adapter

    return choose_adapter(options.tf_adapter, tensorflow_specifier(root) if options.tf_adapter is None else "")


def _tensorflow_of(
    survey: Survey, traces: Mapping[str, Trace], root: Path, everything: Sequence[ProjectFile], options: Options
) -> tuple[str, Marks]:
    """How much of the project computes with TensorFlow, and which TensorFlow its files are written for."""
    if not on_tensorflow(survey):
        return "", Marks()
    files = [name for name, trace in traces.items() if any(one == "tensorflow" for one, _ in trace.imports)]
    marks = marks_of(root, files)
    if options.tf_adapter is None:
        marks = marks._replace(folders=tuple(_folders_of_their_own(root, files, everything)))
    return share_of_tensorflow(survey), marks


def _folders_of_their_own(
    root: Path, files: Sequence[str], everything: Sequence[ProjectFile]
) -> Iterator[tuple[str, str]]:
    """Folders that ask for a TensorFlow of their own, and its line: the asked one, else what their files are for."""
    from npuify.knowledge.tensorflow.lines import choose_adapter

    for folder, asked in own_requirements(root, (file.relative for file in everything)):
        inside = (name for name in files if name.startswith(f"{folder}/"))
        yield folder, choose_adapter(None, asked).line or marks_of(root, inside).line


def _with_operators(
    selection: Selection, operators: Sequence[NativeOperator], files: Sequence[ProjectFile]
) -> Selection:
    """The selection, with what it asks of the project's own operators.

    Those that the CPU can compute, where they are to be put there; and the extensions that are to be replaced.
    """
    if selection.opt_ins.replace_kernels:
        known = any(one.replacement for one in operators)
        texts = {one.relative: one.path.read_bytes() for one in files if known and one.kind == "python"}
        extensions = replaced_extensions(operators, texts)
        selection = selection._replace(opt_ins=msgspec.structs.replace(selection.opt_ins, extensions=extensions))
    if not selection.opt_ins.cpu_fallback:
        return selection
    computed = [one for one in operators if one.has_cpu and not one.has_npu and one.difficulty != "host"]
    names = tuple(sorted({(one.module, one.name) for one in computed}))
    return selection._replace(opt_ins=msgspec.structs.replace(selection.opt_ins, cpu_operators=names))


# --- the prefilter ---


def _not_cached(found: _Files, cache: ScanCache) -> list[ToPrefilter]:
    """The files of which nothing is known, without those that hold data."""
    return [
        ToPrefilter(file.relative, file.location, file.kind, now)
        for file in found.files
        if not _is_data(file, now := found.stamps[file.relative]) and cache.file(file.relative, now) is None
    ]


def _own_packages(files: Iterable[ProjectFile]) -> frozenset[str]:
    """The packages of npuify's tables that the project itself is, or hides by a folder of that name."""
    own = {module_name(file.relative).partition(".")[0] for file in files if file.kind == "python"}
    return frozenset(own & {name.partition(".")[0] for name in import_names()})


def _is_data(file: ProjectFile, now: Stamp | None) -> bool:
    return now is not None and now[1] > _LARGEST.get(file.kind, now[1])


def _facts(found: _Files, cache: ScanCache, prefiltered: Mapping[str, Prefiltered]) -> _Facts:
    """What is known of the files, by the prefilter or from the cache."""
    candidates: list[Candidate] = []
    errors: list[FileError] = []
    known: dict[str, CachedFile] = {}
    for file in found.files:
        now = found.stamps[file.relative]
        one = prefiltered.get(file.relative) or Prefiltered(cache.file(file.relative, now))
        if one.error is not None:
            errors.append(one.error)
        if one.file is not None and not _is_data(file, now):
            known[file.relative] = one.file
            concerns = one.file.concerns or one.file.supports_npu
            if concerns or one.file.mentions:
                candidates.append(Candidate(file.relative, file.location, file.kind, now, one.matches, concerns))
    has_default = any(file.sets_default_type for file in known.values())
    analysed = {candidate.relative: known[candidate.relative] for candidate in candidates if candidate.concerns}
    return _Facts(
        candidates=candidates,
        own_cuda=[relative for relative, file in analysed.items() if file.own_cuda],
        supports_npu=[relative for relative, file in analysed.items() if file.supports_npu],
        of_default_type=frozenset(name for name, file in known.items() if has_default and file.makes_default_type),
        traces={relative: file.trace for relative, file in known.items()},
        known=known,
        errors=errors,
    )


# --- the style ---


def _plan(root: Path, options: Options, files: Sequence[ProjectFile], found: Survey) -> StylePlan:
    if options.style == "npu" and not options.place_on_npu:
        return StylePlan(device_default=bool(options.device_default))
    return plan_style(options, files, found, torch_requirement(root))


def _with_more(candidates: Sequence[Candidate], found: _Files, more: Collection[str]) -> Sequence[Candidate]:
    """The candidates, with files that the rest of the project makes some: their own words do not."""
    known = {candidate.relative: candidate for candidate in candidates}
    return [
        known[file.relative]._replace(concerns=file.relative in more or known[file.relative].concerns)
        if file.relative in known
        else Candidate(file.relative, file.location, file.kind, found.stamps[file.relative])
        for file in found.files
        if file.relative in known or file.relative in more
    ]


# --- the cache ---


def _to_cache(
    names: Sequence[str], facts: _Facts, supporting: Collection[str], extensions: ExtensionSurvey, plan: StylePlan
) -> ToCache:
    """What is known for the next scan."""
    project = digest(
        [
            *names,
            "-",
            *facts.supports_npu,
            *sorted(supporting),
            plan.digest(),
            "-",
            *facts.own_cuda,
            "-",
            *sorted(facts.of_default_type),
        ]
    )
    python = {
        relative: msgspec.structs.replace(facts.known[relative], extensions=found)
        for relative, found in extensions.python.items()
        if relative in facts.known
    }
    native = {
        relative: msgspec.structs.replace(facts.known[relative], native=file.native, may_bind=file.may_bind)
        if relative in facts.known
        else file
        for relative, file in extensions.native.items()
    }
    return ToCache({**facts.known, **native, **python}, project, extensions.sought)
